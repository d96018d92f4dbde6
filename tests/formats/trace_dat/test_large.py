# Recordings that are larger than what reading them may take: pages and packed chunks stream.

from pathlib import Path

import numpy as np
import pytest

from support.bounded import bounded
from support.perfdata import X86_64
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common
from support.tracedat import Buffer, Contents, Entry, Packing, ring, version6, version7

S = 1_000_000_000
PAGE, EACH = 4096, 255
# Of each CPU; 100 MiB in all, 6.5 million events.
PAGES, CPUS = 12_800, 2


# One full sub-buffer many times over, each a microsecond after the one before.
def pages() -> bytes:
    payload = t.SOFTIRQ_RAISE.payload({"vec": 3}, Common(1, 1, 500), X86_64)
    one = ring([Entry(S + number, payload) for number in range(EACH)], X86_64)
    assert len(one) == PAGE
    rows = np.tile(np.frombuffer(one, np.uint8), (PAGES, 1))
    stamps = S + 1000 * np.arange(PAGES, dtype="<u8")
    rows[:, :8] = stamps.view(np.uint8).reshape(PAGES, 8)
    return rows.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["6", "none", "zstd", "zlib"])
def test_a_large_recording_is_read_in_little_memory(tmp_path: Path, kind: str) -> None:
    top = Buffer("", "mono", dict.fromkeys(range(CPUS), pages()))
    contents = Contents((top,), (t.SOFTIRQ_RAISE,))
    path = tmp_path / "trace.dat"
    whole = version6.write(contents) if kind == "6" else version7.write(contents, Packing(kind))
    path.write_bytes(whole)
    del whole
    counted = f'assert capture().scan()["events"]["irq:softirq_raise"] == {CPUS * PAGES * EACH}'
    assert bounded(path, counted, seconds=10, megabytes=96) == "read"

# Captures larger than any buffer inside a reader: records, and compressed records, cross every
# border.

import random
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata.timeline import Recording
from support.told import NET_RX, OPENSSL

POLLS = 2_000


@pytest.fixture(scope="module")
def told() -> Recording:
    rng = random.Random(1)
    lanes = []
    for number in range(2):
        happenings: list[h.Happening] = []
        now = 1_000_000_000
        for poll in range(POLLS // 2):
            # Names that do not pack, so that more is left than the megabyte that readers like.
            device = f"{rng.getrandbits(5000):01250x}"
            now += rng.randrange(5_000, 50_000)
            happenings += (
                h.SoftirqRaise(now, NET_RX),
                h.SoftirqEntry(now + rng.randrange(900), NET_RX),
                h.NapiPoll(now + 1_000 + rng.randrange(900), device, poll % 65),
                h.SoftirqExit(now + 2_000 + rng.randrange(900), NET_RX),
            )
            if poll % 100 == 99:
                happenings.append(h.Flush(now + 3_000))
        lanes.append(cpu(number, *happenings, task=OPENSSL))
    return recording(*lanes, known=(OPENSSL,))


Contents = tuple[dict[str, pa.Table], Answer]


def contents(path: Path) -> Contents:
    tables = {name: pa.table(table) for name, table in Capture(str(path)).all_events().items()}
    return tables, Answer(path, ["segments", "softirqs", "polls"])


@pytest.fixture(scope="module")
def plain(
    told: Recording, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, pa.Table], Answer]:
    return contents(told.write(tmp_path_factory.mktemp("large") / "perf.data"))


def test_a_large_file_is_read_in_full(plain: Contents) -> None:
    tables, answer = plain
    assert tables["napi:napi_poll"].num_rows == POLLS
    assert len(answer.polls) == len(answer.softirqs) == POLLS
    assert answer.summary["disagreements"] == 0
    assert_conserved(answer)


@pytest.mark.parametrize(
    ("mode", "compressed"), [("pipe", 0), ("file", 1), ("pipe", 1), ("file", 2), ("pipe", 2)]
)
def test_every_container_of_a_large_capture_reads_the_same(
    tmp_path: Path,
    told: Recording,
    plain: Contents,
    mode: str,
    compressed: int,
) -> None:
    path = told.write(tmp_path / "perf.data", mode, compressed)
    assert path.stat().st_size > 1.2 * 2**20
    tables, answer = contents(path)
    for key in ("start_ns", "end_ns", "cpus", "events", "lost_events", "notes"):
        assert answer.scan[key] == plain[1].scan[key], key
    for name, table in plain[0].items():
        assert tables[name].equals(table), name
    assert answer.segments == plain[1].segments
    assert answer.sums == plain[1].sums

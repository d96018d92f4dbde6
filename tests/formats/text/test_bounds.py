# Texts of much of everything, within bounds of time and memory.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.bounded import bounded
from support.text_kinds import lines
from support.text_steps import ENTRY, step


# Every second line of millions on many CPUs: neither time nor memory grows with their product.
def test_many_lines_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    cpus = "".join(step(cpu, 1, ENTRY) for cpu in range(1000))
    path.write_text(cpus + "".join(f"?\n{step(0, at, ENTRY)}" for at in range(2, 100_000)))
    assert bounded(path, "capture().scan()", seconds=5, megabytes=512) == "read"


def test_many_events_and_names(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    with path.open("w") as out:
        for n in range(100_000):
            out.write(f"t{n}-{n} [{n % 4000:03d}] 1.{n:06d}: event_{n % 20_000}: text {n % 100}\n")
    assert bounded(path, "capture().scan()", seconds=5, megabytes=256) == "read"
    [note] = [note for note in Capture(str(path)).scan()["notes"] if "are no events" in note]
    assert int(note.split()[0]) == 100_000 - 16_384 * 5


@pytest.mark.slow
def test_a_long_text_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    whole = ("\n".join(lines("ftrace")) + "\n").encode()
    path.write_bytes(whole * (300_000_000 // len(whole)))
    try:
        assert bounded(path, "capture().scan()", seconds=20, megabytes=100) == "read"
    finally:
        path.unlink()

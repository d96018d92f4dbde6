# Texts come from strangers, by way of terminals, mails and editors: whatever was done to one, it is
# read or refused, and a damaged line takes no other with it.

import ast
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support import text_mutants
from support.bounded import bounded
from support.text_capture import capture, flat, tables
from support.text_mutants import EVENTS, LINES, lines, mutant

COUNT = int(os.environ.get("NETCOST_MUTANTS", "400"))


def test_mutants_are_read_or_refused() -> None:
    done = subprocess.run(
        [sys.executable, text_mutants.__file__, "0", str(COUNT)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    last = done.stderr.splitlines()[-20:]
    assert done.returncode == 0, "\n".join(last)
    tally = ast.literal_eval(done.stdout)
    assert tally["read"] == COUNT
    # It is no test where nothing gets far.
    assert tally["events"] > 0.9 * COUNT
    assert tally["timeline"] > 0.8 * COUNT


@pytest.mark.parametrize("kind", sorted(LINES))
def test_a_damaged_line_takes_no_other_with_it(tmp_path: Path, kind: str) -> None:
    whole = lines(kind)
    all_rows = flat(tables(tmp_path, "\n".join(whole)))
    assert all_rows.total() == EVENTS
    first = next(n for n, one in enumerate(whole) if ": " in one and not one.startswith("#"))
    kept = 0
    # By the line that is missing.
    rest: dict[int, Counter[tuple[Any, ...]]] = {}
    for number in range(sorted(LINES).index(kind), 60 * len(LINES), len(LINES)):
        data, _, places = mutant(number)
        if len(places) != 1 or min(places) < first:
            continue
        [place] = places
        if place not in rest:
            rest[place] = flat(tables(tmp_path, "\n".join(whole[:place] + whole[place + 1 :])))
        found = flat(tables(tmp_path, data))
        assert not rest[place] - found, f"mutant {number}: line {place} of {kind}"
        kept += 1
    assert kept > 15


@pytest.mark.parametrize("kind", sorted(LINES))
def test_what_stands_around_is_passed_over(tmp_path: Path, kind: str) -> None:
    for wrapping in (
        "{}",
        "From: a customer\n\nHere it is:\n\n{}\n-- \nbye\n",
        "\ufeff{}",
        "{}\n" + "x" * 200_000 + "\n",
        "\n\n\n{}",
    ):
        text = "\n".join(lines(kind))
        assert flat(tables(tmp_path, wrapping.format(text))) == flat(tables(tmp_path, text))


def test_other_ends_of_lines(tmp_path: Path) -> None:
    for kind in sorted(LINES):
        whole = lines(kind)
        wanted = flat(tables(tmp_path, "\n".join(whole)))
        assert flat(tables(tmp_path, "\r\n".join(whole))) == wanted
        assert flat(tables(tmp_path, "\n".join(whole) + "\n")) == wanted


# As `dmesg` shows what a kernel that died left in its buffer.
def test_a_kernels_last_words(tmp_path: Path) -> None:
    whole = lines("latency")
    text = "\n".join(f"[   31.{n:06d}] {one}" for n, one in enumerate(whole))
    assert flat(tables(tmp_path, text)) == flat(tables(tmp_path, "\n".join(whole)))


def test_other_texts_are_refused_in_a_line(tmp_path: Path) -> None:
    for text in (
        "hello, world of text\n" * 3,
        "\n" * 50,
        "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:2\n",
        "12:30:01 host kernel: [   12.345678] usb 1-1: new device\n" * 20,
        "import os\nfor x in range(10): print(x)\n",
        '{"traceEvents": [{"name": "a", "ts": 1.5}]}\n',
    ):
        with pytest.raises(CaptureError, match=r"^not a capture: ") as refused:
            capture(tmp_path, text)
        assert str(refused.value).isprintable()


# The first lines say nothing of this for 200 KB.
def test_events_may_come_late(tmp_path: Path) -> None:
    text = "a line of something else\n" * 8000 + "\n".join(lines("perf"))
    found = capture(tmp_path, text).scan()
    assert found["records"]["event"] == EVENTS
    [note] = [note for note in found["notes"] if "are no events" in note]
    assert note.startswith("8000 of ")
    assert "line 1: 'a" in note


def test_many_events_and_names_stay_within_bounds(tmp_path: Path) -> None:
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

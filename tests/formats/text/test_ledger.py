# The ledger of a text: that of the recording it was printed from, as far as the text tells. Drawn
# ones are in native/tests/formats/text/ledger.rs.

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.host import require_tool
from support.native_tables import ALL_TABLES, Answer, assert_conserved, rows

KEY = ("cpu", "context", "id", "cost_class")


def script(recording: Path, path: Path, *options: str) -> Path:
    command = [require_tool("perf"), "script", "-f", "-i", str(recording), *options]
    path.write_bytes(subprocess.run(command, capture_output=True, timeout=120, check=True).stdout)
    return path


OPEN = ("synchronous", "stolen", "stolen_or_synchronous")


# Where no device interrupted, a text leaves open whose raise it was: those classes are one then.
def shares(answer: Answer, interrupted: bool) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in answer.sums:
        *key, cost_class = (row[name] for name in KEY)
        folded = cost_class in OPEN and not interrupted
        found[*key, "open" if folded else cost_class] += row["ns"]
    return found


@pytest.fixture(scope="module")
def recorded(live: Path) -> Answer:
    return Answer(live, ALL_TABLES)


# A device may be silent for the 0.8 s of the recording.
@pytest.fixture(scope="module")
def interrupted(live: Path) -> bool:
    capture = Capture(str(live))
    return all(len(rows(capture.events(f"irq:irq_handler_{edge}"))) for edge in ("entry", "exit"))


# Context flags are what perf's text lacks: where they would have contradicted the stack, and only
# there, answers differ.
def test_a_text_in_nanoseconds_gives_the_recordings_ledger(
    live: Path, recorded: Answer, interrupted: bool, tmp_path: Path
) -> None:
    text = Answer(script(live, tmp_path / "ns.txt", "--ns"), ALL_TABLES)
    assert_conserved(text)
    assert text.window == recorded.window
    ours, theirs = shares(text, interrupted), shares(recorded, interrupted)
    whole = sum(theirs.values())
    assert sum(ours.values()) == whole
    apart = sum(abs(ours[key] - theirs[key]) for key in ours | theirs)
    assert apart < whole / 1000
    names = ("cpu", "entry_ns", "exit_ns", "vec", "tid")
    softirqs = [
        {tuple(row[name] for name in names) for row in one.softirqs} for one in (text, recorded)
    ]
    assert len(softirqs[0] ^ softirqs[1]) <= len(softirqs[1]) / 100


# What took less than a microsecond has no length, and is there all the same.
def test_a_text_in_microseconds_keeps_the_order(
    live: Path, recorded: Answer, interrupted: bool, tmp_path: Path
) -> None:
    text = Answer(script(live, tmp_path / "us.txt"), ALL_TABLES)
    assert_conserved(text)
    assert [bound % 1000 for bound in text.window] == [0, 0]
    assert len(text.softirqs) == pytest.approx(len(recorded.softirqs), rel=0.01)
    assert len(text.polls) == pytest.approx(len(recorded.polls), rel=0.01)
    ours, theirs = shares(text, interrupted), shares(recorded, interrupted)
    # Half a microsecond at each border, on the average, evens out.
    for key, ns in theirs.items():
        assert ours[key] == pytest.approx(ns, rel=0.05, abs=1e6), key

# The ledger of a text: that of the recording it was printed from, as far as the text tells.

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture
from support.host import require_tool
from support.native_tables import ALL_TABLES, Answer, assert_conserved, gaps, rows
from support.text_capture import capture

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


ENTRY = "{task}-{tid} [000] {flags} {at}: softirq_entry: vec=3 [action=NET_RX]\n"
EXIT = ENTRY.replace("entry", "exit")
SWITCH = (
    "{task}-{tid} [000] d..2. {at}: sched_switch: prev_comm={task} prev_pid={tid} prev_prio=120 "
    "prev_state=S ==> next_comm={next} next_pid={to} next_prio=120\n"
)


def timeline(folder: Path, text: str) -> list[tuple[int, int, str, str]]:
    path = folder / "trace.txt"
    path.write_text(text)
    columns = ("context", "comm")
    return [(a // 1000, b // 1000, *rest) for a, b, *rest in Answer(path).lane(0, 0, *columns)]


def test_a_drawn_timeline(tmp_path: Path) -> None:
    text = SWITCH.format(task="a", tid=7, at="1.000000", next="b", to=8)
    text += ENTRY.format(task="b", tid=8, flags="..s1.", at="1.000100")
    text += EXIT.format(task="b", tid=8, flags="..s1.", at="1.000150")
    text += SWITCH.format(task="b", tid=8, at="1.000300", next="a", to=7)
    assert timeline(tmp_path, text) == [
        (1_000_000, 1_000_100, "task", "b"),
        (1_000_100, 1_000_150, "softirq", "b"),
        (1_000_150, 1_000_300, "task", "b"),
    ]


# A loss is unknown time from the CPU's last event before it to its first after it.
@pytest.mark.parametrize("mark", ["CPU:0 [LOST 12 EVENTS]", "CPU:0 [EVENTS DROPPED]"])
def test_time_in_which_events_were_lost_is_unknown(tmp_path: Path, mark: str) -> None:
    text = SWITCH.format(task="a", tid=7, at="1.000000", next="b", to=8)
    text += SWITCH.format(task="b", tid=8, at="1.000100", next="a", to=7)
    text += mark + "\n"
    text += "b-8 [001] d..2. 1.000150: irq_handler_exit: irq=1 ret=handled\n"
    text += SWITCH.format(task="c", tid=9, at="1.000300", next="a", to=7)
    text += SWITCH.format(task="a", tid=7, at="1.000400", next="b", to=8)
    assert [row[:3] for row in timeline(tmp_path, text)] == [
        (1_000_000, 1_000_100, "task"),
        (1_000_100, 1_000_300, "unknown"),
        (1_000_300, 1_000_400, "task"),
    ]
    scan = Capture(str(tmp_path / "trace.txt")).scan()
    known = 12 if "12" in mark else 0
    assert (scan["lost_events"], scan["lost_unknown"]) == (known, int(not known))
    assert gaps(scan) == [(0, 1_000_100_000, 1_000_300_000, known)]


# Tasks that are about to be gone have no number in perf's text: the switches tell who they were.
def test_who_is_gone_is_known_from_the_switches(tmp_path: Path) -> None:
    line = "{} {} [000] {}: {}\n"
    switch = "sched:sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> "
    switch += "next_comm={} next_pid={} next_prio=120"
    text = line.format("sh", 7, "1.000000", switch.format("sh", 7, "S", "cat", 8))
    text += line.format(":-1", -1, "1.000100", "irq:softirq_entry: vec=9 [action=RCU]")
    text += line.format(":-1", -1, "1.000200", switch.format("cat", 8, "X", "sh", 7))
    found = capture(tmp_path, text)
    names = ("irq:softirq_entry", "sched:sched_switch")
    pids = [[row["common_pid"] for row in rows(found.events(name))] for name in names]
    assert pids == [[8], [7, 8]]


# Columns of the context are what tells an interrupt's raise from the task's own; so do irq_vectors
# and irq_handler_*, where both were recorded.
RAISE = "openssl-5 [000] {flags}1.000100: softirq_raise: vec=3 [action=NET_RX]\n"
RAN = (
    "openssl-5 [000] {flags}1.000110: softirq_entry: vec=3 [action=NET_RX]\n"
    "openssl-5 [000] {flags}1.000150: softirq_exit: vec=3 [action=NET_RX]\n"
)
VECTORS = "".join(
    f"openssl-5 [000] {{flags}}1.{at:06}: {name}_{edge}: vector=236\n"
    for at, name in ((10, "local_timer"), (20, "call_function_single"))
    for edge in ("entry", "exit")
)
IRQ = (
    "openssl-5 [000] {flags}1.000030: irq_handler_entry: irq=9 name=acpi\n"
    "openssl-5 [000] {flags}1.000031: irq_handler_exit: irq=9 ret=handled\n"
)


@pytest.mark.parametrize(
    ("text", "flags", "cost_class", "origin"),
    [
        (IRQ + RAISE + RAN, "", "stolen_or_synchronous", "unknown"),
        (RAISE + RAN, "", "stolen_or_synchronous", "unknown"),
        # No device's handler is in the text: nobody knows whether it would be.
        (VECTORS + RAISE + RAN, "", "stolen_or_synchronous", "unknown"),
        (VECTORS + IRQ.splitlines(True)[0] + RAISE + RAN, "", "stolen_or_synchronous", "unknown"),
        (VECTORS + IRQ + RAISE + RAN, "", "synchronous", "task"),
        (VECTORS + RAISE + RAN, "d..2. ", "synchronous", "task"),
        (IRQ + RAISE + RAN, "d..2. ", "synchronous", "task"),
    ],
)
def test_a_raise_of_unknown_context_may_be_an_interrupts(
    tmp_path: Path, text: str, flags: str, cost_class: str, origin: str
) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text.format(flags=flags))
    answer = Answer(path, ALL_TABLES)
    assert_conserved(answer)
    [softirq] = answer.softirqs
    assert (softirq["cost_class"], softirq["origin"]) == (cost_class, origin)
    said = any("both are a range" in note for note in answer.summary["notes"])
    assert said == (origin == "unknown")

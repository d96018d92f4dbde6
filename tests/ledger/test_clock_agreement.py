# Waits and displaced time join the times of two CPUs. Under a clock that may be each CPU's own they
# are told with a note, and not at all where tasks run well before they are being woken, or the host
# mistrusts its TSC. A tie, a microsecond or a single pair is no such proof.

import json
import re
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis
from netcost_analysis._native import Capture
from support.asked import stolen
from support.native_tables import Answer, assert_conserved
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.text_capture import capture
from support.told import NET_RX, OPENSSL, UDPSINK
from support.tracedat import write_trace_dat

KSOFTIRQD = h.Task(21, "ksoftirqd/1")
ROUNDS = 12


# CPU 0  udpsink wakes openssl  |10 us after it went to sleep
# CPU 1  openssl | asleep ........ | ksoftirqd | openssl ...
#        0       1 us              12          14     14 us
# with the clock of CPU 1 ahead by so much, in all rounds or in the last `only` of them. `on`: the
# CPU of openssl, where not 1.
def wakes(
    ahead: int,
    clock: str | None,
    rounds: int = ROUNDS,
    only: int | None = None,
    on: int = 1,
) -> Recording:
    waker, sleeper = [], []
    for number in range(rounds):
        at = 100_000 + number * 20_000
        waker += [h.Waking(at + 10_000, OPENSSL, on)]
        here = at + (ahead if only is None or number >= rounds - only else 0)
        sleeper += [
            h.SoftirqRaise(here + 500, NET_RX),
            h.Switch(here + 1_000, h.idle(on), 1),
            h.Wakeup(here + 11_000, OPENSSL, on),
            h.Switch(here + 12_000, KSOFTIRQD),
            h.SoftirqEntry(here + 12_500, NET_RX),
            h.SoftirqExit(here + 13_500, NET_RX),
            h.Switch(here + 14_000, OPENSSL, 1),
        ]
    return recording(
        cpu(1 - on, *waker, task=UDPSINK), cpu(on, *sleeper, task=OPENSSL), clock=clock
    )


def asked(path: Path, **given: Any) -> Answer:
    answer = Answer(path, ["segments", "slices", "displaced"], **given)
    assert_conserved(answer)
    return answer


def waits(answer: Answer) -> list[int]:
    return [row["wait_ns"] for row in answer.slices if row["wait_ns"] is not None]


def clock_notes(answer: Answer) -> list[str]:
    return [note for note in answer.summary["notes"] if "each CPU's own" in note]


# Of the note: wake-ups that two CPUs recorded, how many came before their cause, and by how much.
def compared(answer: Answer) -> list[int]:
    [note] = clock_notes(answer)
    return [int(number) for number in re.findall(r"\b\d+\b", note)]


def written(folder: Path, told: Recording, door: str) -> Path:
    if door == "perf.data":
        return told.write(folder / "perf.data")
    return write_trace_dat(told, folder / "trace.dat")


doors = pytest.mark.parametrize("door", ["perf.data", "trace.dat"])


@doors
def test_agreeing_clocks_come_with_a_note(tmp_path: Path, door: str) -> None:
    answer = asked(written(tmp_path, wakes(0, None), door))
    assert compared(answer)[:2] == [ROUNDS, 0]
    assert clock_notes(answer)[0].startswith("clock perf is")
    assert answer.summary["missing"]["clocks"] == ""
    assert waits(answer) == [3_000] * ROUNDS
    assert [(row["comm"], row["ns"]) for row in answer.displaced] == [("openssl", ROUNDS * 1_000)]


@doors
def test_effects_before_their_causes_end_it(tmp_path: Path, door: str) -> None:
    answer = asked(written(tmp_path, wakes(-5_000, None), door))
    # The wakeup stands 1 us behind the waking, and its clock 5 us behind the waker's. Until the
    # first waking is seen, a wakeup is the first cause there is.
    assert compared(answer)[1:] == [ROUNDS - 1, 4_000]
    assert answer.summary["missing"]["clocks"] != ""
    assert waits(answer) == []
    assert all(row["wake_ns"] is None for row in answer.slices)
    assert answer.displaced == []


# CPU 0  ... udpsink wakes openssl  the same nanosecond: which came first no such clock can tell
# CPU 1  ...        openssl's wakeup
@doors
@pytest.mark.parametrize("on", [0, 1])
def test_a_tie_is_no_inversion(tmp_path: Path, door: str, on: int) -> None:
    answer = asked(written(tmp_path, wakes(-1_000, None, 92, on=on), door))
    assert compared(answer)[1] == 0
    assert answer.summary["missing"]["clocks"] == ""
    assert len(waits(answer)) == 92
    assert sum(row["ns"] for row in answer.displaced) == 92 * 1_000


# A verdict takes more than one pair, more than one in a hundred of them, and more than 1 us.
@doors
@pytest.mark.parametrize(
    ("ahead", "only", "inverted", "holds"),
    [(-9_000, 1, 1, True), (-9_000, 2, 2, False), (-2_000, 2, 2, True), (-2_001, 2, 2, False)],
)
def test_a_verdict_takes_a_number_and_a_distance(
    tmp_path: Path, door: str, ahead: int, only: int, inverted: int, holds: bool
) -> None:
    answer = asked(written(tmp_path, wakes(ahead, None, 92, only), door))
    assert compared(answer) == [92, inverted, -ahead - 1_000]
    assert (answer.summary["missing"]["clocks"] == "") is holds
    assert bool(waits(answer)) is holds
    assert bool(answer.displaced) is holds


def line(task: h.Task, cpu: int, at: int, event: str) -> tuple[int, str]:
    stamp = f"{at // 10**9}.{at % 10**9:09}"
    return at, f"{task.comm:>16}-{task.tid:<7} [{cpu:03}] d..1. {stamp}: {event}\n"


def switch(task: h.Task, state: str, to: h.Task) -> str:
    left = f"prev_comm={task.comm} prev_pid={task.tid} prev_prio=120 prev_state={state}"
    return f"sched_switch: {left} ==> next_comm={to.comm} next_pid={to.tid} next_prio=120"


# The same timeline as ftrace prints it: it does not say by which clock.
def printed(ahead: int, rounds: int = ROUNDS) -> str:
    found, idle = [], h.Task(0, "swapper/1")
    woken = f"comm={OPENSSL.comm} pid={OPENSSL.tid} prio=120 target_cpu=001"
    for at in range(100_000, 100_000 + rounds * 20_000, 20_000):
        here = at + ahead
        found += [
            line(UDPSINK, 0, at + 10_000, f"sched_waking: {woken}"),
            line(OPENSSL, 1, here + 1_000, switch(OPENSSL, "S", idle)),
            line(idle, 1, here + 11_000, f"sched_wakeup: {woken}"),
            line(idle, 1, here + 12_000, switch(idle, "R", KSOFTIRQD)),
            line(KSOFTIRQD, 1, here + 12_500, "softirq_entry: vec=3 [action=NET_RX]"),
            line(KSOFTIRQD, 1, here + 13_500, "softirq_exit: vec=3 [action=NET_RX]"),
            line(KSOFTIRQD, 1, here + 14_000, switch(KSOFTIRQD, "S", OPENSSL)),
        ]
    return "".join(text for _, text in sorted(found, key=lambda one: one[0]))


@pytest.mark.parametrize(("ahead", "holds"), [(0, True), (-1_000, True), (-5_000, False)])
def test_a_text_without_a_clocks_name_is_checked(tmp_path: Path, ahead: int, holds: bool) -> None:
    path = tmp_path / "trace.txt"
    capture(tmp_path, printed(ahead))
    answer = asked(path)
    assert compared(answer)[1] == (0 if holds else ROUNDS - 1)
    assert (answer.summary["missing"]["clocks"] == "") is holds
    assert bool(waits(answer)) is holds
    assert sum(row["ns"] for row in answer.displaced) == (ROUNDS * 1_000 if holds else 0)


# perf script --header names it.
def test_a_text_with_a_clocks_name_is_believed(tmp_path: Path) -> None:
    capture(tmp_path, "# clockid: monotonic (1)\n" + printed(-5_000))
    assert clock_notes(asked(tmp_path / "trace.txt")) == []


# A clock that the kernel keeps equal is not doubted: what looks inverted then has another reason.
@doors
def test_a_clock_of_all_cpus_is_believed(tmp_path: Path, door: str) -> None:
    answer = asked(written(tmp_path, wakes(-5_000, "monotonic"), door))
    assert clock_notes(answer) == []
    assert answer.summary["missing"]["clocks"] == ""
    assert waits(answer) != []


# One CPU alone cannot disagree with itself, and who asks for no waits compares nothing.
def test_nothing_is_compared_where_nothing_is_joined(tmp_path: Path) -> None:
    path = wakes(-5_000, None).write(tmp_path / "perf.data")
    answer = Answer(path, ["segments"])
    assert clock_notes(answer) == []
    assert "clocks" not in answer.summary["missing"]


# Without sched_waking, sched_wakeup is the cause.
def test_wakeups_are_causes_where_wakings_are_missing(tmp_path: Path) -> None:
    waker = [h.Wakeup(at, OPENSSL, 1) for at in range(10_000, 90_000, 20_000)]
    sleeper = [
        what
        for at in range(5_000, 85_000, 20_000)
        for what in (h.Switch(at, h.idle(1), 1), h.Switch(at + 2_000, OPENSSL))
    ]
    told = recording(cpu(0, *waker, task=UDPSINK), cpu(1, *sleeper, task=OPENSSL), clock=None)
    answer = asked(told.write(tmp_path / "perf.data"))
    assert compared(answer)[:2] == [4, 4]


# A loss may hide the cause that came first.
def test_losses_prove_nothing(tmp_path: Path) -> None:
    told = recording(
        cpu(0, h.Waking(50_000, OPENSSL, 1), h.Waking(90_000, UDPSINK), task=UDPSINK),
        cpu(
            1,
            h.Switch(10_000, h.idle(1), 1),
            h.Lost(20_000, 5),
            h.Wakeup(45_000, OPENSSL, 1),
            h.Waking(90_000, UDPSINK),
            task=OPENSSL,
        ),
        clock=None,
    )
    answer = asked(told.write(tmp_path / "perf.data"))
    assert compared(answer)[0] == 0
    assert answer.summary["missing"]["clocks"] == ""


def test_a_doubted_clock_is_not_compared(tmp_path: Path) -> None:
    path = wakes(0, None).write(tmp_path / "perf.data")
    answer = asked(path, host=("the host's clocksource is hpet", {}, [], []))
    [note] = clock_notes(answer)
    assert "clocksource is hpet" in note
    assert note.endswith("-k CLOCK_MONOTONIC")
    assert (waits(answer), answer.displaced) == ([], [])
    assert Capture(str(path)).header()["clock"] == "perf"


@pytest.mark.parametrize(("clocksource", "known"), [("tsc", True), ("hpet", False)])
def test_a_bundle_tells_of_its_clocksource(
    netcost: Netcost, tmp_path: Path, clocksource: str, known: bool
) -> None:
    wakes(0, None).write(tmp_path / "perf.data")
    manifest = {
        "netcost_bundle": 1,
        "trace": "perf.data",
        "host": {"kernel": "6.12", "clocksource": clocksource},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    timeline = netcost_analysis.open_capture(tmp_path).timeline()
    assert (timeline.missing["clocks"] == "") is known
    # A later pass that follows no waits does not forget what was found.
    timeline.load("polls")
    assert (timeline.missing["clocks"] == "") is known
    lost = stolen(timeline).victims["displaced_ns"]
    assert lost.isna().all() == (not known)
    assert lost.fillna(0).sum() == (ROUNDS * 1_000 if known else 0)
    run = netcost("stolen", str(tmp_path))
    assert ("clocksource is hpet" in run.out) is not known
    victim = netcost("stolen", str(tmp_path), "--victim", "openssl", "--json").json
    assert (victim["victims"][0]["displaced_ns"] is None) is not known

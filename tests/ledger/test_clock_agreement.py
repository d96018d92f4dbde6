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
from support.drawn import happenings, recorded
from support.native_tables import Answer, assert_conserved
from support.perfdata import Recording, cpu
from support.run_cli import Netcost
from support.texts import write_text
from support.told import OPENSSL, UDPSINK
from support.tracedat import write_trace_dat

ROUNDS = 12
WRITERS = {
    "perf.data": lambda told, path: told.write(path),
    "trace.dat": write_trace_dat,
    "text": write_text,
}


# udpsink wakes openssl on another CPU, 10 us after it went to sleep; 2 us of ksoftirqd come first.
# The clock of openssl's CPU (`on`) is ahead by so much, in all rounds or in the last `only`.
def wakes(
    ahead: int, clock: str | None = None, rounds: int = ROUNDS, only: int | None = None, on: int = 1
) -> Recording:
    starts = range(100_000, 100_000 + 20_000 * rounds, 20_000)
    first = 0 if only is None else rounds - only
    here = [at + (ahead if place >= first else 0) for place, at in enumerate(starts)]
    waker = happenings(f"10_000 waking openssl {on}", starts)
    sleeper = happenings(
        f"500 raise NET_RX, 1000 switch idle asleep, 11_000 wakeup openssl {on}, "
        "12_000 switch ksoftirqd/1=21, 12_500 NET_RX, 13_500 end NET_RX, "
        "14_000 switch openssl asleep",
        *(here, on),
    )
    cpus = cpu(1 - on, *waker, task=UDPSINK), cpu(on, *sleeper, task=OPENSSL)
    return recorded(*cpus, clock=clock, known=())


def asked(path: Path, **given: Any) -> Answer:
    answer = Answer(path, ["segments", "slices", "displaced"], **given)
    assert_conserved(answer)
    return answer


def waits(answer: Answer) -> list[int]:
    return [row["wait_ns"] for row in answer.slices if row["wait_ns"] is not None]


def clock_notes(answer: Answer) -> list[str]:
    return [note for note in answer.summary["notes"] if "times of two CPUs" in note]


# Of the note: wake-ups that two CPUs recorded, how many came before their cause, and by how much.
def compared(answer: Answer) -> list[int]:
    [note] = clock_notes(answer)
    inverted, pairs, *worst = (int(number) for number in re.findall(r"\b\d+\b", note))
    return [pairs, inverted, *worst]


# Of each story how many wake-ups come before their cause and by how much, and whether the clocks
# agree all the same.
STORIES = [
    ({"ahead": 0}, [0], True),
    # The wakeup stands 1 us behind the waking, and its clock 5 us behind the waker's.
    ({"ahead": -5_000}, [ROUNDS - 1, 4_000], False),
    # The same nanosecond: which came first no such clock can tell.
    *(({"ahead": -1_000, "rounds": 92, "on": on}, [0], True) for on in (0, 1)),
    # A verdict takes more than one pair, more than one in a hundred, and more than 1 us.
    ({"ahead": -9_000, "rounds": 92, "only": 1}, [1, 8_000], True),
    ({"ahead": -9_000, "rounds": 92, "only": 2}, [2, 8_000], False),
    ({"ahead": -2_000, "rounds": 92, "only": 2}, [2, 1_000], True),
    ({"ahead": -2_001, "rounds": 92, "only": 2}, [2, 1_001], False),
]


# A text is in order of time: a clock that is set back meanwhile would tell another story there.
@pytest.mark.parametrize(
    ("story", "numbers", "holds", "writer"),
    [
        (*one, writer)
        for one in STORIES
        for writer in WRITERS
        if writer != "text" or "only" not in one[0]
    ],
    ids=str,
)
def test_a_verdict_takes_a_number_and_a_distance(
    tmp_path: Path, story: dict[str, int], numbers: list[int], holds: bool, writer: str
) -> None:
    answer = asked(WRITERS[writer](wakes(**story), tmp_path / "trace"))
    rounds, (pairs, *found) = story.get("rounds", ROUNDS), compared(answer)
    assert found == numbers
    # Until the first waking is seen, a wakeup is the first cause there is.
    assert rounds - 1 <= pairs <= rounds
    assert (answer.summary["missing"]["clocks"] == "") is holds
    assert len(waits(answer)) == (rounds if holds else 0)
    assert sum(row["ns"] for row in answer.displaced) == (1_000 * rounds if holds else 0)
    if not holds:
        assert all(row["wake_ns"] is None for row in answer.slices)
    if story["ahead"] == 0:
        assert waits(answer) == [3_000] * rounds
        assert {row["comm"] for row in answer.displaced} == {"openssl"}


# A clock that the kernel keeps equal is not doubted: what looks inverted then has another reason.
# perf script --header names it in texts.
@pytest.mark.parametrize("writer", WRITERS)
def test_a_clock_of_all_cpus_is_believed(tmp_path: Path, writer: str) -> None:
    told = wakes(-5_000, "monotonic")
    head = ("# clockid: monotonic (1)\n",) if writer == "text" else ()
    answer = asked(WRITERS[writer](told, tmp_path / "trace", *head))
    assert clock_notes(answer) == []
    assert answer.summary["missing"]["clocks"] == ""
    assert waits(answer) != []


# One CPU alone cannot disagree with itself, and who asks for no waits compares nothing.
def test_nothing_is_compared_where_nothing_is_joined(tmp_path: Path) -> None:
    answer = Answer(wakes(-5_000).write(tmp_path / "perf.data"), ["segments"])
    assert clock_notes(answer) == []
    assert "clocks" not in answer.summary["missing"]


# Without sched_waking, sched_wakeup is the cause.
def test_wakeups_are_causes_where_wakings_are_missing(tmp_path: Path) -> None:
    starts = range(5_000, 85_000, 20_000)
    waker = happenings("5_000 wakeup openssl 1", starts)
    sleeper = happenings("0 switch idle asleep, 2_000 switch openssl", starts, 1)
    told = recorded(cpu(0, *waker, task=UDPSINK), cpu(1, *sleeper, task=OPENSSL), clock=None)
    assert compared(asked(told.write(tmp_path / "perf.data")))[:2] == [4, 4]


# A loss may hide the cause that came first.
def test_losses_prove_nothing(tmp_path: Path) -> None:
    told = recorded(
        "CPU 0 udpsink: 50_000 waking openssl 1, 90_000 waking udpsink CPU 1 openssl: "
        "10_000 switch idle asleep, 20_000 lost 5, 45_000 wakeup openssl 1, 90_000 waking udpsink",
        clock=None,
    )
    answer = asked(told.write(tmp_path / "perf.data"))
    assert compared(answer)[0] == 0
    assert answer.summary["missing"]["clocks"] == ""


def test_a_doubted_clock_is_not_compared(tmp_path: Path) -> None:
    path = wakes(0).write(tmp_path / "perf.data")
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
    wakes(0).write(tmp_path / "perf.data")
    host = {"kernel": "6.12", "clocksource": clocksource}
    manifest = {"netcost_bundle": 1, "trace": "perf.data", "host": host}
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

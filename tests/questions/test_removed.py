# What is removed from a recording that says so: the new range of every figure contains what the
# figure was, or the figure is absent. Removed in silence: test_thinned.py.

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.completeness.unrecorded import note_of
from netcost_analysis.questions.lifetimes import KNOWN
from netcost_analysis.questions.network_cost import cost_of, network_words
from support import retold, thinned
from support.asked import (
    completeness,
    cost_classes,
    device_time,
    effective_share,
    ledger,
    lifetimes,
    network_cost,
    stolen,
)
from support.host import ROOT
from support.perfdata import Recording, cpu, recording
from support.perfdata import happenings as h
from support.ranged import Ranges, lacking, ranges, untrue
from support.retold import END, ROUND_NS, counted, filtered, lossy, opened, silently, without_events
from support.told import NET_RX, OPENSSL, TIMER

SAMPLE = ROOT / "sample-data" / "nic-guest" / "6.1-nic-1-flows.netcost.tar.zst"
WHOLE = retold.whole()
# Within a softirq, across a wait, of rounds, of nearly all.
SPANS = ((1_276_000, 1_277_000), (1_651_000, 1_671_000), (321_000, 822_500), (100, 2_300_000))
SOFTIRQS = ("irq:softirq_entry", "irq:softirq_exit")
LINES = ("irq:irq_handler_entry", "irq:irq_handler_exit")
RUNS_OF = h.SoftirqEntry | h.SoftirqExit
# The events, the filter, and what it hides: happenings of a kind for which it is not true.
FILTERS: dict[str, tuple[tuple[str, ...], str, Any, Callable[[Any], bool]]] = {
    "softirqs but NET_RX": (SOFTIRQS, "vec == 3", RUNS_OF, lambda one: one.vec == 3),
    "softirqs but TIMER": (SOFTIRQS, "vec == 1", RUNS_OF, lambda one: one.vec == 1),
    "raises": (("irq:softirq_raise",), "vec == 1", h.SoftirqRaise, lambda one: one.vec == 1),
    "lines": (LINES, "irq == 33", h.IrqEntry | h.IrqExit, lambda one: one.irq == 33),
    "entries of lines": (LINES[:1], "irq == 33", h.IrqEntry, lambda one: one.irq == 33),
    "polls": (("napi:napi_poll",), "work > 5", h.NapiPoll, lambda one: one.work > 5),
    "switches": (
        *(("sched:sched_switch",), "next_pid == 500", h.Switch),
        lambda one: one.to.tid == 500,
    ),
}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Ranges:
    return ranges(opened(tmp_path_factory.mktemp("bare"), WHOLE))


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Ranges:
    return ranges(counted(tmp_path_factory.mktemp("beside") / "b", WHOLE))


# But for what may be network nothing of it is a range, so each containment says something.
def test_the_whole_is_known(bare: Ranges, beside: Ranges) -> None:
    for found in (bare, beside):
        wide = {of for of, ends in found.items() if ends and ends[0] != ends[1]}
        assert wide == {("network", "all"), ("network", "0")}
    kinds = ["stolen", "ledger", "share", "life", "network", "device", "price"]
    assert {of[0] for of in beside} == {*kinds}
    assert untrue(beside, beside) == {}


@pytest.mark.parametrize(("number", "place"), [(0, 0), (1, 1), (1, 2), (0, 3)])
def test_what_a_ring_lost(tmp_path: Path, beside: Ranges, number: int, place: int) -> None:
    line = counted(tmp_path, lossy(WHOLE, number, SPANS[place]))
    assert line.recorded < 1
    assert untrue(beside, ranges(line)) == {}


# Losses in many places, each of a few microseconds.
def test_what_rings_lost_again_and_again(tmp_path: Path, bare: Ranges) -> None:
    spans = [[(at, at + 9_000) for at in range(first, END, 47_000)] for first in (10_000, 12_000)]
    told = lossy(lossy(WHOLE, 0, *spans[0]), 1, *spans[1])
    assert untrue(bare, ranges(opened(tmp_path, told))) == {}


# Of a pair the entry: without either the context is left out.
HAPPENED = {event.format.event for event in WHOLE.events()} - {SOFTIRQS[1], LINES[1]}


# CPU 0  idle   |move, openssl, idle (all lost) LOST|idle
# CPU 1  openssl|idle                                     |openssl
# 0             900 1000 1100         1900      2000      2500   4000
def test_a_migration_may_be_among_what_was_lost(tmp_path: Path) -> None:
    ends = [[h.Waking(at, retold.SINK)] for at in (0, 2_000, 4_000)]
    there = (h.MigrateTask(1_000, OPENSSL, 1, 0), h.Switch(1_100, OPENSSL, 0))
    gone = [h.unrecorded(one) for one in (*there, h.Switch(1_900, h.idle(0), 1))]
    told = recording(
        cpu(0, *ends[0], *gone, h.Lost(2_000, 3), *ends[1], *ends[2]),
        cpu(
            1,
            *ends[0],
            h.Switch(900, h.idle(1), 1),
            h.Switch(2_500, OPENSSL),
            *ends[2],
            task=OPENSSL,
        ),
        known=retold.KNOWN,
    )
    row = stolen(opened(tmp_path, told)).victims.loc["openssl"]
    assert row["on_cpu_ns"] == 900 + 1_500
    assert row["unknown_max_ns"] >= 800


@pytest.mark.parametrize("event", sorted(HAPPENED))
def test_an_event_that_was_not_recorded(tmp_path: Path, bare: Ranges, event: str) -> None:
    line = opened(tmp_path, without_events(WHOLE, event))
    if event in lacking(line):
        assert event != "sched:sched_switch" or event in network_cost(line).not_recorded
        said = (event.partition(":")[2], "not recorded")
        assert event == "napi:napi_poll" or any(one in note for note in line.notes for one in said)
    assert untrue(bare, ranges(line)) == {}


# Nobody knows what ksoftirqd did while the others waited for it.
def test_without_softirqs_displaced_is_absent(tmp_path: Path) -> None:
    whole = stolen(opened(tmp_path / "whole", WHOLE)).victims
    assert whole.loc["openssl", "displaced_ns"] > 0
    line = opened(tmp_path / "part", without_events(WHOLE, *SOFTIRQS))
    assert stolen(line).victims["displaced_ns"].isna().all()
    assert "displaced" not in set(cost_classes(line)["cost_class"])


@pytest.mark.parametrize("name", FILTERS)
def test_what_a_filter_hid(tmp_path: Path, bare: Ranges, name: str) -> None:
    events, words, kind, keeps = FILTERS[name]
    told = filtered(WHOLE, events, words, lambda one: isinstance(one, kind) and not keeps(one))
    line = opened(tmp_path, told)
    for event in events:
        assert any(one.startswith(event) and f"'{words}'" in one for one in line.notes)
    assert untrue(bare, ranges(line)) == {}


# Of every so many-th round of a CPU.
def some(kinds: Any, vec: int | None = None, cpu: int = 0, each: int = 4) -> Recording:
    def hidden(number: int, what: h.Happening) -> bool:
        its = vec is None or getattr(what, "vec", NET_RX) == vec
        return number == cpu and isinstance(what, kinds) and its and not what.at // ROUND_NS % each

    return silently(WHOLE, hidden)


RUNS = (h.SoftirqEntry, h.SoftirqExit, h.NapiPoll)
COUNTED = {
    "NET_RX": some(RUNS, NET_RX),
    "NET_RX of the other CPU": some(RUNS, NET_RX, cpu=1),
    "NET_RX and raises": some((*RUNS, h.SoftirqRaise), NET_RX),
    "every NET_RX": some(RUNS, NET_RX, each=1),
    "TIMER": some(RUNS, TIMER),
    # No count is of raises: where one is missing, a softirq's origin is.
    "raises": some(h.SoftirqRaise),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_the_kernel_counted(tmp_path: Path, beside: Ranges, name: str) -> None:
    line = counted(tmp_path, COUNTED[name])
    assert note_of(line) or name == "raises"
    assert untrue(beside, ranges(line)) == {}


def test_device_interrupts_that_the_kernel_counted(tmp_path: Path, beside: Ranges) -> None:
    line = counted(tmp_path, some((h.IrqEntry, h.IrqExit)))
    assert "32" in completeness(line.capture).why
    new = ranges(line)
    assert untrue(beside, new) == {}
    # Six of 24, a microsecond each.
    row = stolen(line).victims.loc["openssl"]
    assert row["stolen_unrecorded_ns"] == 6_000
    assert row["stolen_network_max_ns"] == row["stolen_network_ns"] + 6_000
    # It had the CPU for a part of the time.
    of_time = line.capture.whole.owned_by("tid")
    own = sum(
        one.ns for one in of_time if (one.comm, one.context, one.cpu) == ("openssl", "task", 0)
    )
    assert row["stolen_unrecorded_expected_ns"] == round(6_000 * own / line.duration_ns) > 0
    thief = "irq 32 eth0 (eth0)"
    assert ledger(line).max_ns.loc["openssl", f"{thief}, not recorded"] == 6_000
    assert ledger(line, "device").max_ns.loc["openssl", "eth0, not recorded"] == 6_000
    device = device_time(line).set_index(["thief", "cpu"]).loc[("eth0", 0)]
    assert device["hardirq_max_ns"] == device["hardirq_ns"] + 6_000
    assert new["price", "eth0", "ns_per_packet"] is None
    cost = network_cost(line)
    assert (cost.softirqs_missing, cost.interrupts_missing) == (0, 6)
    assert "or more of" in network_words(cost_of(line))[0]
    for fact in (f"6 {thief}", "CPU 0", "longest 1.00 µs"):
        assert fact in note_of(line)[0]


# No count proves them missing, but the interfaces received more than was polled.
def test_polls_that_nobody_recorded(tmp_path: Path, beside: Ranges) -> None:
    line = counted(tmp_path / "b", some(h.NapiPoll))
    new = ranges(line)
    assert untrue(beside, new) == {}
    assert new["price", "eth0", "ns_per_packet"] is None
    rows = device_time(line).set_index(["thief", "cpu"])
    polled, core = rows.loc[("eth0", 0)], rows.loc[[("NET_RX", 0), ("RPS dispatch", 0)]]
    backlog = rows.loc[("backlog poll (RPS, veth, lo)", 0), "poll_ns"]
    # A poll may be in its softirq's time or in the poll after it, and not elsewhere.
    assert polled["poll_max_ns"] == polled["poll_ns"] + backlog + core["outside_polls_ns"].sum()
    assert polled["max_ns"] == polled["hardirq_ns"] + polled["poll_max_ns"]
    bare = netcost.open_capture(tmp_path / "b" / "trace.perf.data").timeline()
    seen = device_time(bare)
    assert seen["max_ns"].equals(seen["ns"])


# What was charged for and not had is a range the right way round, however much was lost.
def test_the_ends_of_what_was_overcharged(tmp_path: Path) -> None:
    line = counted(tmp_path, lossy(WHOLE, 0, SPANS[-1]))
    rows = effective_share(line)
    assert (rows["overcharged_share"] <= rows["overcharged_max_share"]).all()
    assert rows["overcharged_max_share"].notna().all()


# A recording of a guest, its tasks one by one and by name: as text, for what a text loses it says
# in a line.
def test_what_a_sample_lost(tmp_path: Path) -> None:
    rows = thinned.rows_of(SAMPLE)
    # The middle of it, in which its victim runs.
    rows = rows[len(rows) // 3 : 2 * len(rows) // 3]
    start, end = (int(rows[place]["time_ns"]) for place in (0, -1))
    at = [start + (end - start) * part // 8 for part in range(9)]
    path = thinned.written(SAMPLE, rows, tmp_path / "b")
    whole = _by_task_and_name(netcost.open_capture(path).timeline())
    spans = (at[1], at[2]), (at[5], at[6])
    (path / "trace.txt").write_text(thinned.losing(rows, 1, *spans))
    line = netcost.open_capture(path).timeline()
    assert line.recorded == pytest.approx(7 / 8, abs=0.01)
    assert untrue(whole, _by_task_and_name(line)) == {}


def _by_task_and_name(line: netcost.Timeline) -> Ranges:
    return ranges(line, "tid") | ranges(line, "comm")


# What it ran itself is the range that goes with that of what was stolen: both are of one time.
def test_what_was_not_recorded_is_its_own_or_stolen(tmp_path: Path, beside: Ranges) -> None:
    line = counted(tmp_path, COUNTED["NET_RX"])
    row, losses = (
        lifetimes(line).loc["openssl"],
        stolen(line).victims.loc["openssl"],
    )
    assert row["stolen_unrecorded_ns"] == losses["stolen_unrecorded_ns"] > 0
    assert row["own_ns"] + row["stolen_unrecorded_ns"] == losses["task_ns"]
    low, high = beside["life", "openssl", "own"] or (0, 0)
    assert row["own_ns"] <= low <= high <= row["own_ns"] + row["stolen_unrecorded_ns"]
    assert row[[*KNOWN, "unaccounted_ns"]].sum() == row["lifetime_max_ns"]
    told = line.capture.timeline(victim="openssl").ask.stolen_time.lifetimes()
    assert told["victim"] == "openssl"
    assert "or stolen" in told.words

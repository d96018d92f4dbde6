# Softirqs that only a counter has: how far the figures of time then reach, and who says so.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.display.tables import between
from netcost_analysis.questions.completeness.unrecorded import note_of
from netcost_analysis.timeline.task import ALL
from support.asked import (
    completeness,
    corrected_stolen,
    effective_share,
    ledger,
    stolen,
)
from support.counted_beside import COUNT, LENGTHS, SILENT, beside, named, opened, robbed
from support.device_bundles import bundle
from support.host import SAMPLES
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import OPENSSL, RCU, TIMER, UDPSINK


def test_the_truth_lies_in_the_range(tmp_path: Path) -> None:
    whole = stolen(opened(tmp_path / "whole", robbed(), robbed(1, UDPSINK))).victims
    truth = whole.loc["openssl"]
    assert truth["stolen_ns"] == truth["stolen_max_ns"] == 20 * 200 + sum(LENGTHS)
    line = opened(tmp_path / "part", robbed(silent=SILENT), robbed(1, UDPSINK))
    got = stolen(line).victims
    part = got.loc["openssl"]
    # The figure without a range, which was all there was, is too low.
    for figure in ("stolen", "stolen_network"):
        assert part[f"{figure}_ns"] < truth[f"{figure}_ns"] <= part[f"{figure}_max_ns"]
    assert truth["stolen_unrecorded_ns"] == 0
    # Each of the five for as long as the longest that was seen, which number 14 still is.
    assert part["stolen_unrecorded_ns"] == 5 * 1_400
    assert part["stolen_max_ns"] == part["stolen_ns"] + 5 * 1_400
    assert part["stolen_network_max_ns"] == part["stolen_network_ns"] + 5 * 1_400
    assert part["stolen_max_share"] == part["stolen_max_ns"] / part["on_cpu_ns"]
    # Of CPU 1 nothing is missing, and nothing of whom it has grows.
    assert got.loc["udpsink"].equals(whole.loc["udpsink"])


def test_what_is_missing_on_an_idle_cpu_costs_the_other_nothing(tmp_path: Path) -> None:
    line = opened(tmp_path, robbed(), robbed(1, h.idle(1), SILENT))
    assert named(completeness(line.capture).why) == [("25", "NET_RX", "1")]
    got = stolen(line).victims
    assert not got["stolen_unrecorded_ns"].any()
    (note,) = note_of(line)
    assert "5 NET_RX" in note
    assert "CPU 1" in note
    # In a timeline of the other CPU there is nothing to say.
    assert note_of(line.capture.timeline(cpus=[0])) == []


# 200 are missing: more time than the task had.
def test_no_more_than_the_task_ran(tmp_path: Path) -> None:
    line = opened(tmp_path, robbed(), softirqs={("NET_RX", 0): COUNT + 200})
    row = stolen(line).victims.loc["openssl"]
    assert row["stolen_unrecorded_ns"] == row["task_ns"]
    assert row["stolen_max_ns"] == row["on_cpu_ns"]
    assert row["stolen_max_share"] == 1


def test_what_it_ran_itself_is_the_range_that_goes_with_it(tmp_path: Path) -> None:
    line = opened(tmp_path, robbed(silent=SILENT), robbed(1, UDPSINK))
    matrix = ledger(line)
    low, high = matrix.task_min_ns["openssl"], matrix.task_ns["openssl"]
    assert high - low == len(SILENT) * 1_400
    told = between(low, high)
    assert " – " in told
    assert told in line.ask.stolen_time.ledger()._repr_html_()
    row = stolen(line).victims.loc["openssl"]
    assert (row["task_min_ns"], row["task_ns"]) == (low, high)
    assert told in line.ask.stolen_time.headline(victim="openssl").words


def test_of_two_vectors_the_networks_comes_first(tmp_path: Path) -> None:
    counted = {("NET_RX", 0): COUNT + 2, ("RCU", 0): 200}
    rcu = cpu(1, h.SoftirqEntry(100, RCU), h.SoftirqExit(1_100, RCU), h.Waking(95_000, UDPSINK))
    line = opened(tmp_path, robbed(), rcu, softirqs=counted)
    row = stolen(line).victims.loc["openssl"]
    assert row["stolen_network_max_ns"] == row["stolen_network_ns"] + 2 * 1_400
    assert row["stolen_max_ns"] == row["on_cpu_ns"]
    lost = ledger(line).max_ns.loc["openssl"]
    assert lost["NET_RX, not recorded"] == 2 * 1_400
    # 200 RCU of a microsecond each, and there is no more.
    assert lost["RCU, not recorded"] == row["task_ns"] - 2 * 1_400


# Where none of the vector was seen on the CPU: the longest of it elsewhere, else of any.
@pytest.mark.parametrize(("elsewhere", "each"), [(TIMER, 700), (RCU, 1_400)])
def test_how_long_what_nobody_saw_may_have_been(tmp_path: Path, elsewhere: int, each: int) -> None:
    other = cpu(
        1, h.SoftirqEntry(100, elsewhere), h.SoftirqExit(800, elsewhere), h.Waking(95_000, UDPSINK)
    )
    line = opened(tmp_path, robbed(), other, softirqs={("NET_RX", 0): COUNT, ("TIMER", 0): 3})
    assert stolen(line).victims.loc["openssl", "stolen_unrecorded_ns"] == 3 * each


def test_a_part_of_the_recording_knows_the_longest_of_all(tmp_path: Path) -> None:
    line = opened(tmp_path, robbed(silent=SILENT))
    # Of 10 to 14 us: one softirq, of 1.1 us, and the task has 2.6 us.
    part = line.capture.timeline(start_s=10e-6, end_s=14e-6)
    row = stolen(part).victims.loc["openssl"]
    assert row["stolen_unrecorded_ns"] == row["task_ns"] < 5 * 1_400


def test_without_switches_all_the_time_is_the_limit(tmp_path: Path) -> None:
    # The last event is before the counters were read: the recorder knows that it went on.
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data"}
    manifest |= {"window": {"start_ns": 0, "end_ns": 95_000}}
    files = beside(2, softirqs={("NET_RX", 0): COUNT + 3}) | {"manifest.json": manifest}
    made = bundle(tmp_path, files, robbed(), formats=t.IRQ_FORMATS)
    row = stolen(netcost.open_capture(made.path).timeline()).victims.loc["openssl"]
    assert row["stolen_unrecorded_ns"] == 3 * 1_400


@pytest.mark.parametrize("by", ["comm", "tid", "cpu"])
@pytest.mark.parametrize("sample", ["veth-stolen-time", "stolen-time-top.netcost.tar.zst"])
def test_every_answer_has_the_same_range(sample: str, by: Any) -> None:
    line = kept(sample).timeline()
    losses = stolen(line, by).victims
    assert losses["stolen_unrecorded_ns"].any()
    parts = ["stolen_ns", "stolen_or_synchronous_ns", "stolen_unrecorded_ns"]
    assert losses["stolen_max_ns"].equals(losses[parts].sum(axis=1))
    grown = losses["stolen_unrecorded_ns"] <= losses["task_ns"].fillna(0)
    assert grown.all()
    matrix = ledger(line, by)
    sums = matrix.max_ns.sum(axis=1)
    assert sums.equals(losses["stolen_max_ns"].reindex(sums.index).astype("int64"))
    corrected = corrected_stolen(line, by, ALL)
    some = corrected[corrected["figure"] == "stolen_network_max_ns"]
    known = losses.loc[losses["stolen_network_max_ns"] > 0, "stolen_network_max_ns"]
    assert sorted(some["ns"]) == sorted(known)
    shares = effective_share(line, by)
    assert (shares["effective_share"] <= shares["effective_max_share"] + 1e-12).all()


# Each figure that has no range of its own says what it lacks.
@pytest.mark.parametrize("question", ["thieves", "softirq_time", "device_time", "poll_sizes"])
def test_what_has_no_range_says_that_it_is_a_lower_end(
    question: str, tmp_path: Path, netcost: Netcost
) -> None:
    files = beside(2, softirqs={("NET_RX", 0): COUNT + 3})
    sample = bundle(tmp_path, files, robbed()).path
    if question in ("device_time", "poll_sizes"):
        sample = SAMPLES / "stolen-time-tcp.netcost.tar.zst"
    assert netcost("ask", question, str(sample)).out.count("an upper end") == 1
    whole = beside(2, softirqs={("NET_RX", 0): COUNT})
    path = str(bundle(tmp_path / "w", whole, robbed()).path)
    assert "upper end" not in netcost("ask", "thieves", path).out


# Two of five timers are seen; of interrupts whose events were not recorded no count says anything.
@pytest.mark.parametrize("recorded", [True, False])
def test_vectors_are_missing_only_where_they_were_recorded(tmp_path: Path, recorded: bool) -> None:
    timers = [h.VectorEntry(4_000), h.VectorExit(4_700), h.VectorEntry(8_000), h.VectorExit(8_600)]
    told = cpu(0, h.Waking(0, UDPSINK), *timers, h.Waking(95_000, UDPSINK), task=OPENSSL)
    counters = beside(2, softirqs={("RCU", 0): 0}, interrupts={("LOC", 0): 5})
    formats = tuple(one for one in t.FORMATS if recorded or one not in t.VECTOR_FORMATS)
    made = bundle(tmp_path, counters, told, formats=formats)
    line = netcost.open_capture(made.path).timeline()
    row = stolen(line).victims.loc["openssl"]
    assert row["stolen_unrecorded_ns"] == (3 * 700 if recorded else 0)
    assert row["stolen_network_max_ns"] == 0
    lost = ledger(line).max_ns.loc["openssl"]
    assert ("local_timer, not recorded" in lost.index) == recorded
    assert bool(note_of(line)) == recorded


def test_commands_and_pages_say_so(tmp_path: Path, netcost: Netcost) -> None:
    line = opened(tmp_path / "b", robbed(silent=SILENT), robbed(1, UDPSINK), switches=7)
    path, missed = str(tmp_path / "b"), ("25", "NET_RX", "0")
    (said,) = (one for one in netcost("info", path).out.splitlines() if one.startswith("verdict"))
    assert named(said) == [("100", "switches", ""), missed]
    known = netcost("info", path, "--json").json["completeness"]
    assert (known["state"], known["lost_events"]) == ("incomplete", 0)
    for command in ("stolen", "ledger"):
        out, answer = netcost(command, path).out, netcost(command, path, "--json").json
        (note,) = (one for one in answer["notes"] if "5 NET_RX" in one)
        assert named(answer["verdict"]) == [missed]
        assert f"\nverdict    {answer['verdict']}\n" in out
        assert f"note: {note}" in out
    assert "not recorded" in netcost("stolen", path, "--victim", "openssl").out
    assert ("100", "switches", "") in named(line.ask.completeness.recording().words)
    caveats = line.ask.completeness.caveats()
    assert "lower bounds" in caveats.words
    assert any("5 NET_RX" in one for one in caveats.notes)


def test_what_is_complete_or_bare_is_not_dwelt_on(tmp_path: Path, netcost: Netcost) -> None:
    line = opened(tmp_path / "b", robbed(), robbed(1, UDPSINK))
    assert "verdict    complete" in netcost("info", str(tmp_path / "b")).out
    assert "is missing" in netcost("stolen", str(tmp_path / "b")).out
    caveats = line.ask.completeness.caveats()
    assert caveats["state"] == "complete"
    assert "lower bounds" not in caveats.words
    bare = str(tmp_path / "b" / "trace.perf.data")
    assert "verdict" not in netcost("info", bare).out + netcost("stolen", bare).out
    assert netcost("info", bare, "--json").json["completeness"] is None
    assert netcost("ledger", bare, "--json").json["verdict"] is None


def test_the_recorders_own_verdict_needs_no_pass(tmp_path: Path, netcost: Netcost) -> None:
    record = {"verdict": "complete", "state": "complete", "lost_events": 0, "rows": []}
    manifest = {"netcost_bundle": 1, "trace": "trace.perf.data", "completeness": record}
    bundle(tmp_path / "b", {"manifest.json": manifest}, robbed())
    for command in ("info", "stolen", "ledger"):
        assert "verdict    complete\n" in netcost(command, str(tmp_path / "b")).out


# What the pass keeps of each interrupt and softirq is the longest of its rows.
@pytest.mark.parametrize("sample", ["nic-stolen-time", "veth-stolen-time"])
def test_the_longest_is_that_of_the_tables(sample: str) -> None:
    line = kept(sample).timeline().load("softirqs", "hardirqs")

    def rows(table: str, *names: str) -> list[tuple[Any, ...]]:
        columns = line.columns(table)
        return list(zip(*(columns[name] for name in names), strict=True))

    wanted: dict[tuple[Any, ...], int] = {}
    every = [
        (cpu, "softirq", *of) for cpu, *of in rows("softirqs", "cpu", "vec", "action", "self_ns")
    ]
    every += rows("hardirqs", "cpu", "context", "irq", "name", "self_ns")
    for *key, ns in every:
        wanted[tuple(key)] = max(ns, wanted.get(tuple(key), 0))
    # The table of interrupts has no numbers of vectors.
    found = {
        (cpu, context, None if context == "vector" else number, name): ns
        for cpu, context, number, name, ns in rows(
            "longest", "cpu", "context", "id", "name", "self_ns"
        )
    }
    assert found == wanted
    assert {context for _, context, *_ in found} >= {"softirq", "hardirq"}

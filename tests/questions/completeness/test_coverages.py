# Three coverages, each with its word, and what networking cost in all: what a headline begins with.

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis
from netcost_analysis.questions.network_cost import cost_of, network_words
from netcost_analysis.timeline.task import ALL
from support.asked import (
    coverages,
    device_cost,
    device_time,
    network_cost,
    rolling_stolen,
)
from support.counted_beside import SILENT, opened, robbed
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.run_cli import Netcost
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK

Drawn = Callable[..., netcost_analysis.Timeline]


@pytest.fixture
def drawn(tmp_path: Path) -> Drawn:
    def opened_one(*cpus: Cpu, **settings: Any) -> netcost_analysis.Timeline:
        made = recording(*cpus, known=(OPENSSL, UDPSINK), **settings)
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.data"
        return netcost_analysis.open_capture(made.write(path)).timeline()

    return opened_one


# CPU 0: openssl |irq 32 100..150 raises NET_RX|150..400 NET_RX, 1 poll| TIMER 500..600 |     1000
# CPU 1: idle    |                  waking 450 |   (9 lost) LOST 850    | waking           1000
def two() -> tuple[Cpu, Cpu]:
    return (
        cpu(
            0,
            h.Waking(0, UDPSINK),
            h.IrqEntry(100, 32),
            h.SoftirqRaise(120, NET_RX),
            h.IrqExit(150, 32),
            h.SoftirqEntry(150, NET_RX),
            h.NapiPoll(350, "eth0", 3),
            h.SoftirqExit(400, NET_RX),
            h.SoftirqRaise(490, TIMER),
            h.SoftirqEntry(500, TIMER),
            h.SoftirqExit(600, TIMER),
            h.Waking(1_000, UDPSINK),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.Waking(0, UDPSINK),
            h.Waking(450, UDPSINK),
            h.Lost(850, 9),
            h.Waking(1_000, UDPSINK),
            task=h.idle(1),
        ),
    )


def test_coverages_by_hand(drawn: Drawn) -> None:
    line = drawn(*two())
    got = coverages(line)
    assert got.recorded_share == pytest.approx(1 - 400 / 2_000)
    # What was lost is in no doubt beside that: all that was recorded is owned.
    assert got.owned_share == pytest.approx(1)
    assert got.timed_share == 1
    assert got.of_cpus["lost_ns"].tolist() == [0, 400]
    assert got.of_cpus["unowned_ns"].tolist() == [0, 400]
    assert got.of_cpus["packets"].tolist() == [3, 0]
    assert (line.recorded, line.owned) == (got.recorded_share, got.owned_share)
    without = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    assert coverages(drawn(*two(), formats=without)).timed_share is None


# A busy poll has no begin, so its three packets of four have no time.
def test_packets_whose_time_is_not_known(drawn: Drawn) -> None:
    told = (
        h.Waking(0, UDPSINK),
        h.NapiPoll(50, "eth0", 3),
        h.SoftirqRaise(90, NET_RX),
        h.SoftirqEntry(100, NET_RX),
        h.NapiPoll(200, "eth0", 1),
        h.SoftirqExit(210, NET_RX),
        h.Waking(400, UDPSINK),
    )
    assert coverages(drawn(cpu(0, *told, task=OPENSSL))).timed_share == 0.25


@pytest.mark.parametrize("window", [(None, None), (0, 700e-9), (500e-9, None)])
def test_coverages_multiply(drawn: Drawn, window: tuple[float | None, float | None]) -> None:
    line = drawn(*two()).capture.timeline(*window)
    got = coverages(line)
    assert got.recorded_share * got.owned_share == pytest.approx(1 - line.unknown_cpu_share)


# 400 of 2 x 1,000; the second half of CPU 1 has 350 of them.
def test_every_table_has_the_same_time_without_an_owner(drawn: Drawn, netcost: Netcost) -> None:
    line = drawn(*two())
    assert line.unknown_cpu_share == network_cost(line).unknown_cpu_share == 0.2
    halves = rolling_stolen(line, 500, 500, victim=ALL)
    assert halves["unknown_cpu_share"].tolist() == pytest.approx([0.05, 0.35])
    devices = device_time(line)
    assert devices["cpu"].unique().tolist() == [0]
    assert devices["unknown_share"].unique().tolist() == [0]
    # A device's own row is of all CPUs.
    assert device_cost(line)["unknown_cpu_share"].tolist() == [0.2]
    told = [
        netcost(name, line.capture.path, "--json").json for name in ("info", "stolen", "ledger")
    ]
    assert [one["recorded"] for one in told] == pytest.approx([0.8] * 3)
    assert told[1]["owned"] == pytest.approx(1)


def test_what_networking_cost(drawn: Drawn) -> None:
    line = drawn(*two())
    got = network_cost(line)
    # The line's handler and its NET_RX; not TIMER.
    assert (got.network_cpu_ns, got.network_cpu_max_ns, got.cpu_ns) == (300, 300, 2_000)
    assert got.network_cpu_share == pytest.approx(0.15)
    assert got.unknown_cpu_share == pytest.approx(0.2)
    assert got.of_cpus["network_cpu_ns"].to_dict() == {0: 300, 1: 0}
    unknown, used = network_words(cost_of(line))
    assert "20.0 %" in unknown
    assert_said(used, "used 15.0 %", "300 ns", "2.00 µs", "80.0 % recorded", "100 % of")
    assert "30.0 % of" in used.partition("2.00 µs")[2]


def assert_said(words: str, *facts: str) -> None:
    assert [fact for fact in facts if fact not in words] == []


def test_nothing_seen_is_not_nothing_used(drawn: Drawn) -> None:
    formats = tuple(one for one in t.FORMATS if "softirq" not in one.name)
    words = network_words(cost_of(drawn(*two(), formats=formats)))[-1]
    assert_said(words, "irq:softirq_entry and irq:softirq_exit", "not recorded")
    assert "%" not in words


# A tunnel encrypts in kworkers, as they do much else: 300 ns of networking, and 600 or 10 of those.
@pytest.mark.parametrize(("until", "is_open"), [(700, True), (110, False)])
def test_what_kworkers_did_of_it_nobody_knows(drawn: Drawn, until: int, is_open: bool) -> None:
    one, _ = two()
    idle, end = h.idle(1), h.Waking(1_000, UDPSINK)
    kworker = h.Switch(100, h.Task(90, "kworker/1:2"))
    cost = cost_of(drawn(one, cpu(1, kworker, h.Switch(until, idle), end, task=idle)))
    assert (cost.kworkers_ns, cost.is_open) == (until - 100, is_open)
    words = " ".join(network_words(cost))
    assert ("or more" in words) == ("kworkers ran" in words) == is_open


# Nothing was taken from udpsink, and the CPUs were busy with packets all the same: that is said
# next, and before either of how much nobody knows.
def test_a_headline_has_its_context(netcost: Netcost, drawn: Drawn) -> None:
    one, other = two()
    line = drawn(one, cpu(1, *other.happenings, task=UDPSINK))
    told = line.ask.stolen_time.headline(victim="udpsink").words
    told += line.ask.stolen_time.network_cost().words
    places = [told.index(one) for one in ("20.0 %", "none of udpsink", "15.0 %")]
    assert places == sorted(places)
    assert "20.0 %" in netcost("stolen", line.capture.path).out.splitlines()[0]


# Of CPU 1 nothing was recorded from 450 to 850: what its networking used there is not nothing.
def test_nothing_recorded_is_not_nothing_used(netcost: Netcost, drawn: Drawn) -> None:
    capture = drawn(*two()).capture
    got = cost_of(capture.timeline(5e-7, 8e-7, cpus=[1]))
    assert (got.recorded_share, got.network_cpu_ns, got.network_cpu_max_ns) == (0, 0, None)
    assert pd.isna(got.network_cpu_max_share)
    (words,) = network_words(got)
    assert_said(words, "CPU 1", "is unknown", "was recorded", "0.0 % recorded", "unknown part")
    window = ("--start", "5e-7", "--end", "8e-7", "--cpu", "1")
    told = netcost("ask", "network_cost", capture.path, *window, "--json").json
    assert (told["network_cpu_max_ns"], told["network_cpu_max_share"]) == (None, None)
    assert told["of_cpus"][0]["network_cpu_max_ns"] is None
    # CPU 0 was recorded, and had no network then: of CPU 1 that is not said.
    both = cost_of(capture.timeline(5e-7, 8e-7))
    assert both.network_cpu_max_ns == 0
    assert [cpu.network_cpu_max_ns is None for cpu in both.by_cpu.values()] == [False, True]
    assert_said(network_words(both)[-1], "used 0 %", "known owner (50.0")


# Before an exit without its entry nobody knows what ran.
def test_nothing_owned_is_not_nothing_used(drawn: Drawn) -> None:
    told = (h.Waking(0, UDPSINK), h.SoftirqExit(500, NET_RX), h.Waking(1_000, UDPSINK))
    got = cost_of(drawn(cpu(0, *told, task=OPENSSL)).capture.timeline(1e-7, 4e-7))
    assert (got.recorded_share, got.owned_share, got.network_cpu_max_ns) == (1, 0, None)
    (words,) = network_words(got)
    assert_said(words, "CPU 0", "is unknown", "has a known", "100 % recorded", "0.0 % of")


# The fourth NET_RX was counted and no event tells of it: around it, there is no figure.
def test_counted_and_not_recorded_is_not_at_least_nothing(tmp_path: Path) -> None:
    line = opened(tmp_path, robbed(silent=SILENT)).capture.timeline(16.25e-6, 19.5e-6)
    got = cost_of(line)
    assert (got.network_cpu_max_ns, got.softirqs_missing) == (0, 5)
    facts = ("CPU 0", "is unknown", "5 network softirqs", "100 % recorded", "100 % of")
    assert_said(network_words(got)[-1], *facts)


# CPU 0: openssl |irq 33 100 |irq 32 150 |irq 32 200 |NET_RX 300..400 |          no exit before 300
# What is in doubt adds up to 250 ns, and makes up 200.
def test_the_page_counts_gaps_that_overlap_once(drawn: Drawn) -> None:
    told = (
        h.Waking(0, UDPSINK),
        h.IrqEntry(100, 33),
        h.IrqEntry(150, 32),
        h.IrqEntry(200, 32),
        h.SoftirqEntry(300, NET_RX),
        h.SoftirqExit(400, NET_RX),
        h.Waking(1_000, UDPSINK),
    )
    line = drawn(cpu(0, *told, task=OPENSSL)).load("coverage")
    sums, gaps = line.sums(), line.coverage
    unknown = int(sums.loc[sums["context"] == "unknown", "ns"].sum())
    assert int((gaps["end_ns"] - gaps["start_ns"]).sum()) > unknown
    over_time = line.ask.stolen_time.over_time()
    assert (over_time["cpus"], over_time["lost_ns"]) == ([0], unknown)

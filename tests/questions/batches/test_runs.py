# Delays, gaps, runs of rounds and outliers on timelines drawn by hand.

from pathlib import Path

import pandas as pd
import pytest

from support.asked import (
    irq_gaps,
    long_softirqs,
    raise_delays,
    rps_dispatch,
    softirq_chains,
    softirq_runs,
    softirq_sizes,
)
from support.chains import CHAIN, drawn
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.timelines import timeline
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK


def test_the_gap_is_that_of_the_line_on_its_cpu(tmp_path: Path) -> None:
    def interrupt(at: int, irq: int, name: str) -> tuple[h.Happening, ...]:
        return (
            h.IrqEntry(at, irq, name),
            h.SoftirqRaise(at + 10, NET_RX),
            h.IrqExit(at + 20, irq),
            h.SoftirqEntry(at + 30, NET_RX),
            h.SoftirqExit(at + 40, NET_RX),
        )

    told_of = drawn(
        tmp_path, *interrupt(1_000, 32, "a"), *interrupt(3_000, 33, "b"), *interrupt(8_000, 32, "a")
    )
    assert softirq_chains(told_of)["irq_gap_ns"].tolist() == [pd.NA, pd.NA, 7_000]
    gaps = irq_gaps(told_of).set_index("name")
    row = gaps.loc["a", ["interrupts", "gaps", "median_ns", "longest_ns"]]
    assert row.tolist() == [2, 1, 7_000, 7_000]
    assert gaps.loc["b", "gaps"] == 0
    assert pd.isna(gaps.loc["b", "median_ns"])
    # The window: from the first event, 1_000, to the waking at 900_000.
    assert gaps.loc["a", "interrupts_per_s"] == pytest.approx(2 / 899_000e-9)


def test_the_delay_by_vector_origin_and_thread(tmp_path: Path) -> None:
    happenings = (
        *CHAIN,
        h.IrqEntry(3_000, 32),
        h.SoftirqRaise(3_000, NET_RX),
        h.IrqExit(3_000, 32),
        h.SoftirqEntry(3_000, NET_RX),
        h.SoftirqExit(3_100, NET_RX),
        h.SoftirqRaise(4_000, RCU),
        h.SoftirqEntry(4_400, RCU),
        h.SoftirqExit(4_500, RCU),
    )
    rows = raise_delays(drawn(tmp_path, *happenings)).set_index("action")
    net_rx = rows.loc["NET_RX"]
    # 150 ns, and one that stands where it entered.
    assert net_rx[["softirqs", "raises_known", "clamped"]].tolist() == [2, 2, 1]
    assert net_rx[["mean_ns", "median_ns", "longest_ns"]].tolist() == [75, 75, 150]
    assert rows.loc["RCU", "longest_ns"] == 400
    # It ends before the exits.
    formats = tuple(one for one in t.FORMATS if one.event != "irq:softirq_exit")
    half = drawn(tmp_path, *happenings, formats=formats)
    assert raise_delays(half).set_index("action").equals(rows)
    assert not half.sums()["context"].isin(["softirq", "poll"]).any()


# |irq: raise TIMER, NET_RX|TIMER|NET_RX: raises NET_RX|NET_RX|RCU, raised in the second NET_RX|
#  round 1: TIMER NET_RX, round 2: NET_RX, round 3: RCU, which was not pending when 2 began
def test_rounds_of_a_run(tmp_path: Path) -> None:
    happenings = (
        h.IrqEntry(900, 32),
        h.SoftirqRaise(950, TIMER),
        h.SoftirqRaise(960, NET_RX),
        h.IrqExit(980, 32),
        h.SoftirqEntry(1_000, TIMER),
        h.SoftirqExit(1_100, TIMER),
        h.SoftirqEntry(1_110, NET_RX),
        h.SoftirqRaise(1_150, NET_RX),
        h.SoftirqExit(1_200, NET_RX),
        h.SoftirqEntry(1_210, NET_RX),
        h.SoftirqRaise(1_250, RCU),
        h.SoftirqExit(1_300, NET_RX),
        h.SoftirqEntry(1_310, RCU),
        h.SoftirqExit(1_400, RCU),
    )
    told_of = drawn(tmp_path, *happenings)
    (run,) = softirq_runs(told_of).to_dict("records")
    assert (run["rounds_made"], run["softirqs"], run["net_rx"]) == (3, 4, 2)
    assert (run["start_ns"], run["end_ns"], run["wall_ns"]) == (1_000, 1_400, 400)
    assert (run["still_pending"], run["end_reason"]) == (False, "nothing pending")
    assert list(softirq_chains(told_of)["round"]) == [1, 2]


def rounds(first: int, number: int) -> list[h.Happening]:
    # NET_RX that raises itself again and again.
    raised = [first - 60, *(first + 110 * place + 50 for place in range(number - 1))]
    story: list[h.Happening] = [h.IrqEntry(first - 100, 32), h.IrqExit(first - 50, 32)]
    story += [h.SoftirqRaise(at, NET_RX) for at in raised]
    for at in range(first, first + number * 110, 110):
        story += [h.SoftirqEntry(at, NET_RX), h.SoftirqExit(at + 100, NET_RX)]
    return sorted(story, key=lambda one: one.at)


def test_the_eleventh_round_is_of_the_next_run(tmp_path: Path) -> None:
    runs = softirq_runs(drawn(tmp_path, *rounds(10_000, 13)))
    assert list(runs["rounds_made"]) == [10, 3]
    assert list(runs["still_pending"]) == [True, False]
    assert list(runs["end_reason"]) == ["rounds", "nothing pending"]


@pytest.mark.parametrize(
    ("hz", "length", "ended"),
    [
        # Any rate from 100 to 1000 Hz.
        (None, 10_000_000, "time"),
        (None, 9_999_999, "time or need_resched"),
        (250, 4_000_000, "time"),
        (250, 3_999_999, "time or need_resched"),
        # msecs_to_jiffies(2) is two ticks of 1 ms: between one and two of them.
        (1000, 1_000_001, "time or need_resched"),
        (1000, 1_000_000, "need_resched"),
    ],
)
def test_what_ended_a_run(tmp_path: Path, hz: int | None, length: int, ended: str) -> None:
    # What was raised during the run waits for ksoftirqd.
    happenings = (
        h.IrqEntry(900, 32),
        h.SoftirqRaise(950, NET_RX),
        h.IrqExit(980, 32),
        h.SoftirqEntry(1_000, NET_RX),
        h.SoftirqRaise(1_500, NET_RX),
        h.SoftirqExit(1_000 + length, NET_RX),
        h.Switch(6_000_000, KSOFTIRQD, 0),
        h.SoftirqEntry(6_001_000, NET_RX),
        h.SoftirqExit(6_002_000, NET_RX),
        h.Switch(6_003_000, OPENSSL, 1),
    )
    told_of = timeline(tmp_path, cpu(0, *happenings, task=OPENSSL))
    runs = softirq_runs(told_of, hz=hz)
    assert list(runs["end_reason"]) == [ended, "nothing pending"]
    assert list(runs["in_kthread"]) == [False, True]


def test_another_interrupt_or_a_pause_begins_a_run(tmp_path: Path) -> None:
    assert list(softirq_runs(drawn(tmp_path, *CHAIN, *rounds(5_000, 1)))["softirqs"]) == [1, 1]
    # Raised in the first, but begun only long after: another call.
    late = [*rounds(10_000, 3), *rounds(20_000, 3), h.SoftirqRaise(20_250, TIMER)]
    late = sorted(late, key=lambda one: one.at)
    late += [h.SoftirqEntry(60_000, TIMER), h.SoftirqExit(60_100, TIMER)]
    runs = softirq_runs(drawn(tmp_path, *late))
    assert list(runs["rounds_made"]) == [3, 3, 1]
    assert list(runs["still_pending"]) == [False, True, False]


def test_long_for_few_packets(tmp_path: Path) -> None:
    def net_rx(at: int, length: int, packets: int) -> tuple[h.Happening, ...]:
        return (
            h.SoftirqEntry(at, NET_RX),
            h.NapiPoll(at + length - 10, "eth0", packets),
            h.SoftirqExit(at + length, NET_RX),
        )

    happenings = (
        *net_rx(1_000, 20_000_000, 63),
        *net_rx(30_000_000, 25_000_000, 64),
        *net_rx(60_000_000, 19_999_999, 1),
        *net_rx(90_000_000, 1_000, 1),
    )
    told_of = timeline(tmp_path, cpu(0, *happenings, task=OPENSSL))
    answer = told_of.ask.batches.long_softirqs(longest=1)
    rows = [[25_000_000, "longest"], [20_000_000, "few packets"]]
    assert answer.frame[["wall_ns", "picked"]].values.tolist() == rows
    assert (answer["few_softirqs"], answer["longer_ns"]) == (1, 20_000_000)
    rows = long_softirqs(told_of, longer_ns=1_000, fewer_packets=2, longest=0)
    assert list(rows["wall_ns"]) == [19_999_999, 1_000]


def test_net_rx_without_a_poll_is_apart(tmp_path: Path) -> None:
    dispatch = (
        h.SoftirqRaise(5_000, NET_RX),
        h.SoftirqEntry(5_100, NET_RX),
        h.SoftirqExit(5_130, NET_RX),
    )
    told_of = drawn(tmp_path, *CHAIN, *dispatch)
    (row,) = rps_dispatch(told_of).to_dict("records")
    assert (row["net_rx"], row["dispatches"], row["dispatch_share"]) == (2, 1, 0.5)
    assert (row["ns"], row["median_ns"], row["longest_ns"]) == (30, 30, 30)
    assert pd.isna(row["received_rps"])
    assert softirq_sizes(told_of)["softirqs"].sum() == 1


def test_what_a_window_holds_of_each_adds_up(tmp_path: Path) -> None:
    capture = drawn(tmp_path, *CHAIN, *rounds(50_000, 4), *rounds(500_000, 5)).capture
    whole = len(softirq_chains(capture.timeline()))
    parts = [capture.timeline(end_s=3e-4), capture.timeline(start_s=3e-4)]
    assert sum(len(softirq_chains(part)) for part in parts) == whole == 10


def test_a_capture_without_anything_has_empty_tables(tmp_path: Path) -> None:
    told_of = timeline(tmp_path, cpu(0, h.Waking(5, UDPSINK), h.Waking(9, UDPSINK), task=OPENSSL))
    names = "softirq_chains poll_sizes softirq_sizes squeezes irq_gaps raise_delays softirq_runs"
    for name in (*names.split(), "long_softirqs", "rps_dispatch", "poll_costs", "packet_costs"):
        assert isinstance(told_of.ask(name).frame, pd.DataFrame)


def test_what_was_not_recorded_is_named(tmp_path: Path) -> None:
    told_of = drawn(tmp_path, *CHAIN, formats=t.SCHED_FORMATS)
    for question, lacking in {
        "poll_sizes": "napi:napi_poll",
        "raise_delays": "irq:softirq_raise",
        "softirq_runs": "irq:softirq_exit",
    }.items():
        refusal = str(told_of.ask(question).refusal)
        assert question in refusal
        assert lacking in refusal

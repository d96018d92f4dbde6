# Delays, runs of rounds and unusual softirqs on timelines drawn by hand.

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.stats.histogram import bins
from support.asked import long_softirqs, raise_delays, rps_dispatch, softirq_runs, softirq_sizes
from support.host import examples
from support.kept import kept
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import (
    CHAIN,
    KSOFTIRQD,
    NET_RX,
    OPENSSL,
    RCU,
    TIMER,
    UDPSINK,
    Happenings,
    drawn,
    irq,
    raised,
    softirq,
    timeline,
)


def test_the_delay_by_vector_origin_and_thread(tmp_path: Path) -> None:
    at_once = *irq(3_000, 3_000, h.SoftirqRaise(3_000, NET_RX)), *softirq(3_000, 3_100)
    happenings = *CHAIN, *at_once, *raised(4_000, 4_400, 4_500, vec=RCU)
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
    interrupt = irq(900, 980, h.SoftirqRaise(950, TIMER), h.SoftirqRaise(960, NET_RX))
    first = softirq(1_110, 1_200, h.SoftirqRaise(1_150, NET_RX))
    second = softirq(1_210, 1_300, h.SoftirqRaise(1_250, RCU))
    others = softirq(1_000, 1_100, vec=TIMER), softirq(1_310, 1_400, vec=RCU)
    told_of = drawn(tmp_path, *interrupt, *others[0], *first, *second, *others[1])
    (run,) = softirq_runs(told_of).to_dict("records")
    assert (run["rounds_made"], run["softirqs"], run["net_rx"]) == (3, 4, 2)
    assert (run["start_ns"], run["end_ns"], run["wall_ns"]) == (1_000, 1_400, 400)
    assert (run["still_pending"], run["end_reason"]) == (False, "nothing pending")


def rounds(first: int, number: int) -> list[h.Happening]:
    # NET_RX that raises itself again and again.
    raises = [first - 60, *(first + 110 * place + 50 for place in range(number - 1))]
    begins = range(first, first + number * 110, 110)
    story = [one for at in begins for one in softirq(at, at + 100)]
    story += [*irq(first - 100, first - 50), *(h.SoftirqRaise(at, NET_RX) for at in raises)]
    return sorted(story, key=lambda one: one.at)


# The kernel makes ten rounds in a run. An interrupt, or a long pause, begins another; the softirq
# that was raised in the first is begun only there.
LATE = sorted([*rounds(20_000, 3), h.SoftirqRaise(20_250, TIMER)], key=lambda one: one.at)


@pytest.mark.parametrize(
    ("story", "made", "pending", "reason"),
    [
        (rounds(10_000, 13), [10, 3], [True, False], "rounds"),
        ([*CHAIN, *rounds(5_000, 1)], [1, 1], [False, False], "nothing pending"),
        ([*LATE, *softirq(60_000, 60_100, vec=TIMER)], [3, 1], [True, False], "need_resched"),
    ],
    ids=["eleventh", "interrupt", "pause"],
)
def test_what_begins_another_run(
    tmp_path: Path,
    story: list[h.Happening],
    made: list[int],
    pending: list[bool],
    reason: str,
) -> None:
    runs = softirq_runs(drawn(tmp_path, *story), hz=1000)
    assert list(runs["rounds_made"]) == made
    assert list(runs["still_pending"]) == pending
    assert list(runs["end_reason"]) == [reason, "nothing pending"]


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
    first = softirq(1_000, 1_000 + length, h.SoftirqRaise(1_500, NET_RX))
    thread = h.Switch(16_000_000, KSOFTIRQD, 0), *softirq(16_001_000, 16_002_000)
    interrupt = irq(900, 980, h.SoftirqRaise(950, NET_RX))
    happenings = *interrupt, *first, *thread, h.Switch(16_003_000, OPENSSL, 1)
    runs = softirq_runs(timeline(tmp_path, cpu(0, *happenings, task=OPENSSL)), hz=hz)
    assert list(runs["end_reason"]) == [ended, "nothing pending"]
    assert list(runs["in_kthread"]) == [False, True]


def test_long_for_few_packets(tmp_path: Path) -> None:
    def net_rx(at: int, length: int, packets: int) -> Happenings:
        return softirq(at, at + length, h.NapiPoll(at + length - 10, "eth0", packets))

    first = *net_rx(1_000, 20_000_000, 63), *net_rx(30_000_000, 25_000_000, 64)
    second = *net_rx(60_000_000, 19_999_999, 1), *net_rx(90_000_000, 1_000, 1)
    told_of = timeline(tmp_path, cpu(0, *first, *second, task=OPENSSL))
    answer = told_of.ask.batches.long_softirqs(longest=1)
    rows = [[25_000_000, "longest"], [20_000_000, "few packets"]]
    assert answer.frame[["wall_ns", "picked"]].values.tolist() == rows
    assert (answer["few_softirqs"], answer["longer_ns"]) == (1, 20_000_000)
    rows = long_softirqs(told_of, longer_ns=1_000, fewer_packets=2, longest=0)
    assert list(rows["wall_ns"]) == [19_999_999, 1_000]


def test_net_rx_without_a_poll_is_apart(tmp_path: Path) -> None:
    told_of = drawn(tmp_path, *CHAIN, *raised(5_000, 5_100, 5_130))
    (row,) = rps_dispatch(told_of).to_dict("records")
    assert (row["net_rx"], row["dispatches"], row["dispatch_share"]) == (2, 1, 0.5)
    assert (row["ns"], row["median_ns"], row["longest_ns"]) == (30, 30, 30)
    assert pd.isna(row["received_rps"])
    assert softirq_sizes(told_of)["softirqs"].sum() == 1


def test_a_capture_without_anything_has_empty_tables(tmp_path: Path) -> None:
    told_of = timeline(tmp_path, cpu(0, h.Waking(5, UDPSINK), h.Waking(9, UDPSINK), task=OPENSSL))
    names = "softirq_chains poll_sizes softirq_sizes squeezes irq_gaps raise_delays softirq_runs"
    for name in (*names.split(), "long_softirqs", "rps_dispatch", "poll_costs", "packet_costs"):
        assert isinstance(told_of.ask(name).frame, pd.DataFrame)


# Bins that are the same in every recording: histograms of several merge by adding their counts.

NANOSECONDS = st.lists(st.integers(0, 2**62), min_size=1, max_size=50)


@examples(40)
@given(NANOSECONDS)
def test_a_value_lies_in_its_bin(values: list[int]) -> None:
    low, high = bins(np.array(values, dtype="int64"))
    for value, least, most in zip(values, low.tolist(), high.tolist(), strict=True):
        assert least <= value <= most
        # Of an eighth of its lower end at most.
        assert most - least + 1 <= max(1, least // 8)
        ends, _ = bins(np.array([least, most]))
        assert ends.tolist() == [least, least]
        assert bins(np.array([most + 1]))[0][0] == most + 1


def test_counts_and_times_are_those_of_the_softirqs() -> None:
    timeline = kept("nic-stolen-time").timeline()
    answer = timeline.ask.batches.softirq_lengths()
    softirqs = timeline.softirqs
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    for action, rows in answer.frame.groupby("action"):
        own = whole.loc[(whole["action"] == action), "self_ns"].dropna()
        assert rows["softirqs"].sum() == len(own)
        assert rows["ns"].sum() == own.sum()
        half = answer.tables["by_action"].set_index("action").loc[action, "half_within_ns"]
        assert (own <= half).mean() >= 0.5

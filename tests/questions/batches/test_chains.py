# Chains, waits, runs and outliers on timelines drawn by hand, from bytes that perf would write.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.ask import questions
from netcost_analysis.questions.batches import (
    irq_gaps,
    long_softirqs,
    poll_costs,
    raise_delays,
    rps_dispatch,
    softirq_chains,
    softirq_runs,
    softirq_sizes,
)
from netcost_analysis.questions.batches.chain_sums import mean_parts
from netcost_analysis.timeline.timeline import Timeline
from support.pairs import paired_of
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK


def told(path: Path, *cpus: Cpu, **settings: object) -> Timeline:
    known = tuple(one.first_task for one in cpus)
    written = recording(*cpus, known=known, **settings).write(path / "perf.data")
    return netcost.open_capture(written).timeline()


def drawn(
    path: Path, *happenings: h.Happening, task: h.Task = OPENSSL, **settings: object
) -> Timeline:
    return told(path, cpu(0, *happenings, h.Waking(900_000, UDPSINK), task=task), **settings)


# openssl |irq 32: raise at 1_050|      |NET_RX: poll eth0 4, irq 33 inside, poll eth1 0|
#         1_000             1_100       1_200        1_500 1_600    2_000   2_300  2_400
CHAIN = (
    h.IrqEntry(1_000, 32, "eth0-rx-0"),
    h.SoftirqRaise(1_050, NET_RX),
    h.IrqExit(1_100, 32),
    h.SoftirqEntry(1_200, NET_RX),
    h.IrqEntry(1_500, 33, "ahci"),
    h.IrqExit(1_600, 33),
    h.NapiPoll(2_000, "eth0", 4),
    h.NapiPoll(2_300, "eth1", 0),
    h.SoftirqExit(2_400, NET_RX),
)


def test_a_chain_from_the_interrupt_to_its_polls(tmp_path: Path) -> None:
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN)).to_dict("records")
    assert (row["irq"], row["name"], row["irq_context"], row["irq_ns"]) == (
        32,
        "eth0-rx-0",
        "hardirq",
        100,
    )
    assert (row["raise_delay_ns"], row["wall_ns"], row["nested_ns"]) == (150, 1_200, 100)
    assert (row["poll_ns"], row["outside_polls_ns"]) == (1_000, 100)
    assert (row["device"], row["devices"], row["polls"], row["packets"]) == ("eth0", 2, 2, 4)
    assert (row["origin"], row["in_kthread"], row["round"]) == ("irq", False, 1)
    assert row["comm"] == "openssl"
    assert pd.isna(row["irq_gap_ns"])


def test_parts_add_up_to_the_chain(tmp_path: Path) -> None:
    chains = softirq_chains(drawn(tmp_path, *CHAIN))
    assert (
        chains["poll_ns"] + chains["outside_polls_ns"] + chains["nested_ns"] == chains["wall_ns"]
    ).all()


def test_the_raise_may_stand_in_an_interrupt_within_an_interrupt(tmp_path: Path) -> None:
    nested = (
        h.IrqEntry(1_000, 32, "outer"),
        h.IrqEntry(1_010, 33, "inner"),
        h.IrqExit(1_020, 33),
        h.SoftirqRaise(1_050, NET_RX),
        h.IrqExit(1_100, 32),
        h.SoftirqEntry(1_200, NET_RX),
        h.SoftirqExit(1_300, NET_RX),
    )
    (row,) = softirq_chains(drawn(tmp_path, *nested)).to_dict("records")
    assert (row["irq"], row["name"], row["irq_ns"]) == (32, "outer", 90)


def test_who_raised_its_own_has_no_interrupt(tmp_path: Path) -> None:
    own = (
        h.IrqEntry(500, 32),
        h.IrqExit(600, 32),
        h.BhDisable(1_000),
        h.SoftirqRaise(1_050, NET_RX),
        h.BhEnable(1_100),
        h.SoftirqEntry(1_200, NET_RX),
        h.SoftirqExit(1_300, NET_RX),
    )
    (row,) = softirq_chains(drawn(tmp_path, *own)).to_dict("records")
    assert row["origin"] == "task"
    assert pd.isna(row["irq"])
    assert pd.isna(row["irq_ns"])


# Document 000 recorded neither raises nor switches.
DOCUMENT_000 = (
    t.IRQ_HANDLER_ENTRY,
    t.IRQ_HANDLER_EXIT,
    t.SOFTIRQ_ENTRY,
    t.SOFTIRQ_EXIT,
    t.NAPI_POLL,
)


def test_without_raises_the_interrupt_at_whose_exit_it_ran(tmp_path: Path) -> None:
    chains = softirq_chains(drawn(tmp_path, *CHAIN, formats=DOCUMENT_000))
    assert list(chains["irq"]) == [32]
    assert chains["raise_delay_ns"].isna().all()


def net_rx_at(at: int) -> tuple[h.Happening, ...]:
    return (
        h.IrqEntry(at, 32),
        h.IrqExit(at + 100, 32),
        h.SoftirqEntry(at + 150, NET_RX),
        h.NapiPoll(at + 300, "eth0", 4),
        h.SoftirqExit(at + 400, NET_RX),
    )


# The second runs at the exit of an interrupt that is not in the recording, 498 us after the first.
def test_without_raises_a_long_gone_interrupt_raised_nothing(tmp_path: Path) -> None:
    unseen = net_rx_at(500_000)[2:]
    chains = softirq_chains(drawn(tmp_path, *net_rx_at(1_000), *unseen, formats=DOCUMENT_000))
    assert chains["irq"].tolist() == [32, pd.NA]
    assert chains["irq_ns"].tolist() == [100, pd.NA]
    assert chains["round"].tolist() == [1, 1]


# Each of six interrupts begins a run, however near or far the softirq before it was.
@pytest.mark.parametrize("apart", [5_000, 100_000])
def test_without_raises_each_interrupt_begins_a_run(tmp_path: Path, apart: int) -> None:
    six = [one for number in range(6) for one in net_rx_at(1_000 + apart * number)]
    told_of = drawn(tmp_path, *six, formats=DOCUMENT_000)
    assert list(softirq_runs(told_of)["rounds_made"]) == [1] * 6
    assert list(softirq_chains(told_of)["irq"]) == [32] * 6


# Document 000's own: the second follows the first within a microsecond.
def test_without_raises_what_follows_at_once_is_another_round(tmp_path: Path) -> None:
    again = (
        h.SoftirqEntry(1_401, NET_RX),
        h.NapiPoll(1_600, "eth0", 27),
        h.SoftirqExit(1_601, NET_RX),
    )
    told_of = drawn(tmp_path, *net_rx_at(1_000), *again, formats=DOCUMENT_000)
    (run,) = softirq_runs(told_of).to_dict("records")
    assert (run["rounds_made"], run["net_rx"], run["packets"]) == (2, 2, 31)
    assert (pd.isna(run["still_pending"]), run["end_reason"]) == (True, "unknown")
    # The interrupt raised the first; what was left of it is the second's cause.
    assert softirq_chains(told_of)["irq"].tolist() == [32, pd.NA]


# As document 000 prints it: no flags, no raises, but an idle CPU, which runs softirqs at an
# interrupt's exit alone.
LISTING = """\
 swapper 0 [005] 176146.491879: irq:irq_handler_entry: irq=152 name=mlx5_comp2@pci:0000:d8:00.0
 swapper 0 [005] 176146.491880: irq:irq_handler_exit: irq=152 ret=handled
 swapper 0 [005] 176146.491880: irq:softirq_entry: vec=3 [action=NET_RX]
 swapper 0 [005] 176146.491942: napi:napi_poll: napi poll on napi struct 0xffff9d3d53863e88 \
for device eth0 work 64 budget 64
 swapper 0 [005] 176146.491943: irq:softirq_exit: vec=3 [action=NET_RX]
 swapper 0 [005] 176146.491943: irq:softirq_entry: vec=3 [action=NET_RX]
 swapper 0 [005] 176146.491971: napi:napi_poll: napi poll on napi struct 0xffff9d3d53863e88 \
for device eth0 work 27 budget 64
 swapper 0 [005] 176146.491971: irq:softirq_exit: vec=3 [action=NET_RX]
 swapper 0 [005] 176146.492200: irq:irq_handler_entry: irq=152 name=mlx5_comp2@pci:0000:d8:00.0
 swapper 0 [005] 176146.492201: irq:irq_handler_exit: irq=152 ret=handled
"""


def test_document_000_looped_twice_and_was_interrupted_229_us_later(tmp_path: Path) -> None:
    path = tmp_path / "listing.txt"
    path.write_text(LISTING)
    timeline = netcost.open_capture(path).timeline()
    chains = softirq_chains(timeline)
    assert chains["round"].tolist() == [1, 2]
    assert chains["packets"].tolist() == [64, 27]
    assert chains["irq"].tolist() == [152, pd.NA]
    (run,) = softirq_runs(timeline).to_dict("records")
    assert (run["rounds_made"], run["packets"], run["wall_ns"]) == (2, 91, 91_000)
    (gap,) = irq_gaps(timeline).to_dict("records")
    # 229 us after the softirq's exit, which is 321 after the interrupt before.
    assert gap["longest_ns"] == 321_000


def test_a_chain_that_the_window_cuts_has_no_parts(tmp_path: Path) -> None:
    capture = drawn(tmp_path, *CHAIN).capture
    # The recording begins at 1_000: from 1_700 on 700 of the softirq's 1_200 ns are left.
    for window in ({"start_s": 700e-9}, {"end_s": 700e-9}):
        (row,) = softirq_chains(capture.timeline(**window)).to_dict("records")
        assert (row["wall_ns"], row["polls"], row["packets"]) == (1_200, 2, 4)
        assert all(pd.isna(row[name]) for name in ("poll_ns", "outside_polls_ns", "nested_ns"))
        cost = poll_costs(capture.timeline(**window)).iloc[0]
        # The poll of 4 is cut, and a part of a poll's time is not what it took.
        assert pd.isna(cost["poll_mean_ns"])
    assert poll_costs(capture.timeline())["poll_mean_ns"].iloc[0] == 700


def test_a_chains_gap_across_a_loss_is_unknown(tmp_path: Path) -> None:
    def chain(at: int) -> tuple[h.Happening, ...]:
        raised = h.SoftirqRaise(at + 50, NET_RX)
        return (net_rx_at(at)[0], raised, *net_rx_at(at)[1:])

    lossy = (*chain(1_000), h.Lost(5_000, 3), *chain(8_000), *chain(10_000))
    assert softirq_chains(drawn(tmp_path, *lossy))["irq_gap_ns"].tolist() == [
        pd.NA,
        pd.NA,
        2_000,
    ]


def test_the_mean_of_a_part_is_of_the_chains_that_have_it() -> None:
    own = {"self_ns": 80, "outside_polls_ns": 10, "polls": 1, "packets": 2}
    # Raised in an interrupt, by a task, and two of whom nobody knows; the last one is cut.
    softirqs = [
        {"raise_ns": 60, "entry_ns": 100, "exit_ns": 190, "origin": "irq", **own},
        {"raise_ns": 30_000, "entry_ns": 30_020, "exit_ns": 30_100, "origin": "task", **own},
        {"entry_ns": 60_000, "exit_ns": 60_085, "origin": "unknown", **own},
        {"entry_ns": 90_000, "exit_ns": 2**62 + 1, "origin": "unknown", **own},
    ]
    polls = pd.DataFrame({"cpu": 0, "device": "eth0", "softirq_ordinal": range(4), "end_ns": 0})
    polls = polls.assign(start_ns=0, work=2, self_ns=70)
    irqs = [{"entry_ns": 50, "exit_ns": 70, "self_ns": 100}]
    (row,) = mean_parts(paired_of(softirqs, irqs, polls).chain_sums.by_device).to_dict("records")
    assert (row["irq_ns"], row["raise_delay_ns"], row["outside_polls_ns"]) == (50, 30, 10)
    assert (row["poll_ns"], row["nested_ns"], row["softirqs"]) == (70, 5, 4)


def test_without_polls_what_was_polled_is_unknown(tmp_path: Path) -> None:
    formats = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN, formats=formats)).to_dict("records")
    assert row["wall_ns"] == 1_200
    assert all(
        pd.isna(row[name]) for name in ("polls", "packets", "poll_ns", "outside_polls_ns", "device")
    )


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
    assert gaps.loc["a", ["interrupts", "gaps", "median_ns", "longest_ns"]].tolist() == [
        2,
        1,
        7_000,
        7_000,
    ]
    assert gaps.loc["b", "gaps"] == 0
    assert pd.isna(gaps.loc["b", "median_ns"])
    # The window: from the first event, 1_000, to the waking at 900_000.
    assert gaps.loc["a", "interrupts_per_s"] == pytest.approx(2 / 899_000e-9)


def test_a_gap_across_a_loss_is_none(tmp_path: Path) -> None:
    lossy = (
        h.IrqEntry(1_000, 32),
        h.IrqExit(1_100, 32),
        h.Lost(5_000, 3),
        h.IrqEntry(8_000, 32),
        h.IrqExit(8_100, 32),
        h.IrqEntry(9_000, 32),
        h.IrqExit(9_100, 32),
    )
    (row,) = irq_gaps(drawn(tmp_path, *lossy)).to_dict("records")
    assert (row["interrupts"], row["gaps"], row["longest_ns"]) == (3, 1, 1_000)


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


def rounds(first: int, number: int, apart: int = 10) -> list[h.Happening]:
    # NET_RX that raises itself again and again.
    told_of: list[h.Happening] = [
        h.IrqEntry(first - 100, 32),
        h.SoftirqRaise(first - 60, NET_RX),
        h.IrqExit(first - 50, 32),
    ]
    for at in range(first, first + number * (100 + apart), 100 + apart):
        told_of += [h.SoftirqEntry(at, NET_RX)]
        told_of += (
            [h.SoftirqRaise(at + 50, NET_RX)] if at < first + (number - 1) * (100 + apart) else []
        )
        told_of += [h.SoftirqExit(at + 100, NET_RX)]
    return told_of


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
    told_of = told(tmp_path, cpu(0, *happenings, task=OPENSSL))
    runs = softirq_runs(told_of, hz=hz)
    assert list(runs["end_reason"]) == [ended, "nothing pending"]
    assert list(runs["in_kthread"]) == [False, True]


def test_another_interrupt_or_a_pause_begins_a_run(tmp_path: Path) -> None:
    assert list(softirq_runs(drawn(tmp_path, *CHAIN, *rounds(5_000, 1)))["softirqs"]) == [
        1,
        1,
    ]
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

    told_of = told(
        tmp_path,
        cpu(
            0,
            *net_rx(1_000, 20_000_000, 63),
            *net_rx(30_000_000, 25_000_000, 64),
            *net_rx(60_000_000, 19_999_999, 1),
            *net_rx(90_000_000, 1_000, 1),
            task=OPENSSL,
        ),
    )
    rows = long_softirqs(told_of, longest=1)
    assert rows[["wall_ns", "picked"]].values.tolist() == [
        [25_000_000, "longest"],
        [20_000_000, "few packets"],
    ]
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


@pytest.mark.parametrize(
    "question",
    [
        "softirq_chains",
        "poll_sizes",
        "softirq_sizes",
        "squeezes",
        "irq_gaps",
        "raise_delays",
        "softirq_runs",
        "long_softirqs",
        "rps_dispatch",
        "poll_costs",
        "packet_costs",
    ],
)
def test_a_capture_without_anything_has_empty_tables(tmp_path: Path, question: str) -> None:
    told_of = told(tmp_path, cpu(0, h.Waking(5, UDPSINK), h.Waking(9, UDPSINK), task=OPENSSL))
    answer = questions()[question](told_of)
    for table in answer[1:] if isinstance(answer, tuple) else [answer]:
        assert isinstance(table, pd.DataFrame)


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("poll_sizes", "napi:napi_poll"),
        ("raise_delays", "irq:softirq_raise"),
        ("softirq_runs", "irq:softirq_exit"),
    ],
)
def test_what_was_not_recorded_is_named(tmp_path: Path, question: str, lacking: str) -> None:
    told_of = drawn(tmp_path, *CHAIN, formats=t.SCHED_FORMATS)
    with pytest.raises(netcost.CaptureError, match=f"{question} needs .*{lacking}"):
        questions()[question](told_of)

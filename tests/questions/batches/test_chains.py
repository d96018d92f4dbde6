# Chains, waits, runs and outliers on timelines drawn by hand, from bytes that perf would write.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from support.asked import irq_gaps, poll_costs, softirq_chains, softirq_runs
from support.chains import CHAIN, drawn
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import NET_RX, OPENSSL


def test_a_chain_from_the_interrupt_to_its_polls(tmp_path: Path) -> None:
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN)).to_dict("records")
    parts = row["poll_ns"] + row["outside_polls_ns"] + row["nested_ns"]
    assert parts == row["wall_ns"]
    assert (row["irq"], row["name"]) == (32, "eth0-rx-0")
    assert (row["irq_context"], row["irq_ns"]) == ("hardirq", 100)
    assert (row["raise_delay_ns"], row["wall_ns"], row["nested_ns"]) == (150, 1_200, 100)
    assert (row["poll_ns"], row["outside_polls_ns"]) == (1_000, 100)
    assert (row["device"], row["devices"], row["polls"], row["packets"]) == ("eth0", 2, 2, 4)
    assert (row["origin"], row["in_kthread"], row["round"]) == ("irq", False, 1)
    assert row["comm"] == "openssl"
    assert pd.isna(row["irq_gap_ns"])


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


# As document 000, without raises; a switch shows how perf counts preemption.
SEEN = h.Switch(10, OPENSSL)
DOCUMENT_000 = (
    *(t.SCHED_SWITCH, t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT),
    *(t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.NAPI_POLL),
)


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
    chains = softirq_chains(drawn(tmp_path, SEEN, *net_rx_at(1_000), *unseen, formats=DOCUMENT_000))
    assert chains["irq"].tolist() == [32, pd.NA]
    assert chains["irq_ns"].tolist() == [100, pd.NA]
    assert chains["round"].tolist() == [1, 1]


# Each of six interrupts begins a run, however near or far the softirq before it was.
@pytest.mark.parametrize("apart", [5_000, 100_000])
def test_without_raises_each_interrupt_begins_a_run(tmp_path: Path, apart: int) -> None:
    six = [one for number in range(6) for one in net_rx_at(1_000 + apart * number)]
    told_of = drawn(tmp_path, SEEN, *six, formats=DOCUMENT_000)
    assert list(softirq_runs(told_of)["rounds_made"]) == [1] * 6
    chains = softirq_chains(told_of)
    assert list(chains["irq"]) == [32] * 6
    assert chains["raise_delay_ns"].isna().all()


# Document 000's own: the second follows the first within a microsecond.
def test_without_raises_what_follows_at_once_is_another_round(tmp_path: Path) -> None:
    again = (
        h.SoftirqEntry(1_401, NET_RX),
        h.NapiPoll(1_600, "eth0", 27),
        h.SoftirqExit(1_601, NET_RX),
    )
    told_of = drawn(tmp_path, SEEN, *net_rx_at(1_000), *again, formats=DOCUMENT_000)
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


def test_a_gap_across_a_loss_is_unknown(tmp_path: Path) -> None:
    def chain(at: int) -> tuple[h.Happening, ...]:
        raised = h.SoftirqRaise(at + 50, NET_RX)
        return (net_rx_at(at)[0], raised, *net_rx_at(at)[1:])

    lossy = (*chain(1_000), h.Lost(5_000, 3), *chain(8_000), *chain(10_000))
    timeline = drawn(tmp_path, *lossy)
    assert softirq_chains(timeline)["irq_gap_ns"].tolist() == [pd.NA, pd.NA, 2_000]
    (row,) = irq_gaps(timeline).to_dict("records")
    assert (row["interrupts"], row["gaps"], row["longest_ns"]) == (3, 1, 2_000)


# Raised in an interrupt, by a task, by nobody knows whom, and one that the window cuts.
def test_the_mean_of_a_part_is_of_the_chains_that_have_it(tmp_path: Path) -> None:
    def net_rx(at: int, nested_ns: int) -> tuple[h.Happening, ...]:
        return (
            h.SoftirqEntry(at, NET_RX),
            h.NapiPoll(at + 70, "eth0", 2),
            *((h.IrqEntry(at + 71, 33), h.IrqExit(at + 71 + nested_ns, 33)) if nested_ns else ()),
            h.SoftirqExit(at + 80 + nested_ns, NET_RX),
        )

    happenings = (
        h.IrqEntry(1_000, 32),
        h.SoftirqRaise(1_060, NET_RX),
        h.IrqExit(1_100, 32),
        *net_rx(1_100, 10),
        h.BhDisable(30_000),
        h.SoftirqRaise(30_000, NET_RX),
        h.BhEnable(30_010),
        *net_rx(30_020, 0),
        *net_rx(60_000, 5),
        *net_rx(90_000, 0),
    )
    capture = drawn(tmp_path, *happenings).capture
    answer = capture.timeline(end_s=89_040e-9).ask("softirq_chains")
    (row,) = answer.tables["by_device"].to_dict("records")
    assert answer.frame["origin"].tolist() == ["irq", "task", "unknown", "unknown"]
    assert (row["irq_ns"], row["raise_delay_ns"], row["outside_polls_ns"]) == (50, 30, 10)
    assert (row["poll_ns"], row["nested_ns"], row["softirqs"]) == (70, 5, 4)


def test_without_polls_what_was_polled_is_unknown(tmp_path: Path) -> None:
    formats = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN, formats=formats)).to_dict("records")
    assert row["wall_ns"] == 1_200
    assert all(
        pd.isna(row[name]) for name in ("polls", "packets", "poll_ns", "outside_polls_ns", "device")
    )

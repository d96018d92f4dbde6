# Chains of interrupt, softirq and polls on timelines drawn by hand, from bytes that perf would
# write.

from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from support.asked import irq_gaps, poll_costs, softirq_chains, softirq_runs
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import CHAIN, NET_RX, OPENSSL, Happenings, drawn, irq, raised, softirq

PARTS = ["poll_ns", "outside_polls_ns", "nested_ns"]


def test_a_chain_from_the_interrupt_to_its_polls(tmp_path: Path) -> None:
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN)).to_dict("records")
    expected = {
        "irq": 32,
        "name": "eth0-rx-0",
        "irq_context": "hardirq",
        "irq_ns": 100,
        "raise_delay_ns": 150,
        "wall_ns": 1_200,
        "nested_ns": 100,
        "poll_ns": 1_000,
        "outside_polls_ns": 100,
        "polls": 2,
        "packets": 4,
        "device": "eth0",
        "devices": 2,
        "origin": "irq",
        "in_kthread": False,
        "round": 1,
        "comm": "openssl",
    }
    assert {name: row[name] for name in expected} == expected
    assert sum(row[name] for name in PARTS) == row["wall_ns"]
    assert pd.isna(row["irq_gap_ns"])
    formats = tuple(one for one in t.FORMATS if one is not t.NAPI_POLL)
    (row,) = softirq_chains(drawn(tmp_path, *CHAIN, formats=formats)).to_dict("records")
    assert row["wall_ns"] == 1_200
    assert all(pd.isna(row[name]) for name in ("polls", "packets", "device", *PARTS[:2]))


def test_the_interrupt_is_the_one_whose_handler_raised(tmp_path: Path) -> None:
    inner = *irq(1_010, 1_020, line=33, name="inner"), h.SoftirqRaise(1_050, NET_RX)
    nested = *irq(1_000, 1_100, *inner, name="outer"), *softirq(1_200, 1_300)
    (row,) = softirq_chains(drawn(tmp_path, *nested)).to_dict("records")
    assert (row["irq"], row["name"], row["irq_ns"]) == (32, "outer", 90)
    own = h.BhDisable(1_000), h.SoftirqRaise(1_050, NET_RX), h.BhEnable(1_100)
    happenings = *irq(500, 600), *own, *softirq(1_200, 1_300)
    (row,) = softirq_chains(drawn(tmp_path, *happenings)).to_dict("records")
    assert row["origin"] == "task"
    assert pd.isna(row["irq"])
    assert pd.isna(row["irq_ns"])


# A recording without raises; a switch shows how perf counts preemption.
SWITCH = h.Switch(10, OPENSSL)
WITHOUT_RAISES = (
    *(t.SCHED_SWITCH, t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT),
    *(t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT, t.NAPI_POLL),
)


def net_rx_at(at: int) -> Happenings:
    return *irq(at, at + 100), *softirq(at + 150, at + 400, h.NapiPoll(at + 300, "eth0", 4))


# By the interrupts before, and the rounds of each run. A softirq at the exit of an interrupt that
# is not in the recording, 498 us later; six interrupts near or far apart; another round at once.
@pytest.mark.parametrize(
    ("happenings", "irqs", "rounds"),
    [
        ((*net_rx_at(1_000), *net_rx_at(500_000)[2:]), [32, None], [1, 1]),
        ([one for at in range(6) for one in net_rx_at(1_000 + 5_000 * at)], [32] * 6, [1] * 6),
        ([one for at in range(6) for one in net_rx_at(1_000 + 10**5 * at)], [32] * 6, [1] * 6),
        ((*net_rx_at(1_000), *softirq(1_401, 1_601)), [32, None], [2]),
    ],
    ids=["unseen", "near", "far", "again"],
)
def test_without_raises_the_interrupt_before_begins_a_run(
    tmp_path: Path, happenings: Happenings, irqs: list[int | None], rounds: list[int]
) -> None:
    timeline = drawn(tmp_path, SWITCH, *happenings, formats=WITHOUT_RAISES)
    chains, runs = softirq_chains(timeline), softirq_runs(timeline)
    assert chains["irq"].astype(object).where(chains["irq"].notna(), None).tolist() == irqs
    assert chains["raise_delay_ns"].isna().all()
    assert runs["rounds_made"].tolist() == rounds
    assert runs["still_pending"].isna().all()
    assert set(runs["end_reason"]) == {"unknown"}


# As The CPU Cost of Networking on a Host (David Ahern) prints it: no flags, no raises, but an idle
# CPU, which runs softirqs at an interrupt's exit alone.
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


def test_a_published_listing_looped_twice_and_was_interrupted_229_us_later(tmp_path: Path) -> None:
    path = tmp_path / "listing.txt"
    path.write_text(LISTING)
    timeline = netcost.open_capture(path).timeline()
    chains = softirq_chains(timeline)
    assert chains["round"].tolist() == [1, 2]
    assert chains["packets"].tolist() == [64, 27]
    assert chains["irq"].tolist() == [152, pd.NA]
    (run,) = softirq_runs(timeline).to_dict("records")
    assert (run["rounds_made"], run["packets"], run["wall_ns"]) == (2, 91, 91_000)
    # 229 us after the softirq's exit, which is 321 after the interrupt before.
    assert irq_gaps(timeline)["longest_ns"].tolist() == [321_000]


def test_a_chain_that_the_window_cuts_has_no_parts(tmp_path: Path) -> None:
    capture = drawn(tmp_path, *CHAIN).capture
    # The recording begins at 1_000: from 1_700 on 700 of the softirq's 1_200 ns are left.
    for window in ({"start_s": 700e-9}, {"end_s": 700e-9}):
        timeline = capture.timeline(**window)
        (row,) = softirq_chains(timeline).to_dict("records")
        assert (row["wall_ns"], row["polls"], row["packets"]) == (1_200, 2, 4)
        assert all(pd.isna(row[name]) for name in PARTS)
        # The poll of 4 is cut, and a part of a poll's time is not what it took.
        assert pd.isna(poll_costs(timeline)["poll_mean_ns"].iloc[0])
    assert poll_costs(capture.timeline())["poll_mean_ns"].iloc[0] == 700


# The gap is that of the line, not of any interrupt, and unknown across a loss.
def test_gaps_between_interrupts_of_a_line(tmp_path: Path) -> None:
    def chain(at: int, line: int = 32) -> Happenings:
        interrupt = irq(at, at + 20, h.SoftirqRaise(at + 10, NET_RX), line=line, name=f"irq{line}")
        return *interrupt, *softirq(at + 30, at + 40)

    timeline = drawn(tmp_path, *chain(1_000), *chain(3_000, 33), *chain(8_000))
    assert softirq_chains(timeline)["irq_gap_ns"].tolist() == [pd.NA, pd.NA, 7_000]
    gaps = irq_gaps(timeline).set_index("name")
    columns = ["interrupts", "gaps", "median_ns", "longest_ns"]
    assert gaps.loc["irq32", columns].tolist() == [2, 1, 7_000, 7_000]
    assert gaps.loc["irq33", "gaps"] == 0
    assert pd.isna(gaps.loc["irq33", "median_ns"])
    # The window: from the first event, 1_000, to the waking at 900_000.
    assert gaps.loc["irq32", "interrupts_per_s"] == pytest.approx(2 / 899_000e-9)
    timeline = drawn(tmp_path, *chain(1_000), h.Lost(5_000, 3), *chain(8_000), *chain(10_000))
    assert softirq_chains(timeline)["irq_gap_ns"].tolist() == [pd.NA, pd.NA, 2_000]
    assert irq_gaps(timeline)[columns[:2]].values.tolist() == [[3, 1]]


# Raised in an interrupt, by a task, by nobody knows whom, and one that the window cuts.
def test_the_mean_of_a_part_is_of_the_chains_that_have_it(tmp_path: Path) -> None:
    def net_rx(at: int, nested_ns: int) -> Happenings:
        nested = irq(at + 71, at + 71 + nested_ns, line=33) if nested_ns else ()
        return softirq(at, at + 80 + nested_ns, h.NapiPoll(at + 70, "eth0", 2), *nested)

    of_task = h.BhDisable(30_000), h.SoftirqRaise(30_000, NET_RX), h.BhEnable(30_010)
    interrupt = irq(1_000, 1_100, h.SoftirqRaise(1_060, NET_RX))
    chains = *net_rx(1_100, 10), *of_task, *net_rx(30_020, 0), *net_rx(60_000, 5)
    capture = drawn(tmp_path, *interrupt, *chains, *net_rx(90_000, 0)).capture
    answer = capture.timeline(end_s=89_040e-9).ask("softirq_chains")
    (row,) = answer.tables["by_device"].to_dict("records")
    assert answer.frame["origin"].tolist() == ["irq", "task", "unknown", "unknown"]
    assert (row["irq_ns"], row["raise_delay_ns"], row["outside_polls_ns"]) == (50, 30, 10)
    assert (row["poll_ns"], row["nested_ns"], row["softirqs"]) == (70, 5, 4)


def test_what_windows_hold_adds_up(tmp_path: Path) -> None:
    begins = range(50_000, 500_000, 50_000)
    several = [one for at in begins for one in raised(at, at + 100, at + 200)]
    capture = drawn(tmp_path, *CHAIN, *several).capture
    parts = [capture.timeline(end_s=3e-4), capture.timeline(start_s=3e-4)]
    whole = len(softirq_chains(capture.timeline()))
    assert sum(len(softirq_chains(part)) for part in parts) == whole == 10

# The longest stretches without running: on drawn timelines, and on samples against a plain walk
# over what perf script prints.

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.timeline.task import ALL, Group
from support.asked import episodes, stolen
from support.host import SAMPLES
from support.kept import kept
from support.large import take_in_parts
from support.oracle import printed
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, RCU, UDPSINK


def found(path: Path, *cpus: Cpu, **options: object) -> Any:
    known = tuple(one.first_task for one in cpus)
    file = recording(*cpus, known=known).write(path / "perf.data")
    line = netcost.open_capture(file).timeline()
    return episodes(line, **{"victim": ALL, **options})  # type: ignore[arg-type]


# openssl | irq 32 |  | NET_RX: poll eth0 | NET_RX |  | RCU | openssl ......... | irq 32 | openssl
#        1000    1500 1600           3600  3700  3750 3800                  20000    20500
#                    ^ pending since 1200              ^ pending since 1300
INTERRUPT = (
    h.IrqEntry(1_000, 32),
    h.SoftirqRaise(1_200, NET_RX),
    h.SoftirqRaise(1_300, RCU),
    h.IrqExit(1_500, 32),
    h.SoftirqEntry(1_600, NET_RX),
    h.NapiPoll(3_600, "eth0", 7),
    h.SoftirqExit(3_700, NET_RX),
    h.SoftirqEntry(3_750, RCU),
    h.SoftirqExit(3_800, RCU),
    h.IrqEntry(20_000, 32),
    h.IrqExit(20_500, 32),
)


def told(*more: h.Happening) -> Cpu:
    first = (h.Waking(0, UDPSINK),)
    rows = sorted((*first, *INTERRUPT, *more, h.Waking(50_000, UDPSINK)), key=lambda one: one.at)
    return cpu(0, *rows, task=OPENSSL)


def test_one_interrupt_is_one_stretch(tmp_path: Path) -> None:
    got = found(tmp_path, told())
    assert got.total == 2
    first, second = (got.episodes.iloc[place] for place in (0, 1))
    assert (first["start_ns"] % 100_000, first["wall_ns"]) == (1_000, 2_800)
    assert first["end_ns"] - first["start_ns"] == first["wall_ns"]
    # 100 ns from the irq's exit to NET_RX and 50 ns to RCU are nobody's but the task's.
    assert first["stolen_ns"] == first["stolen_max_ns"] == 2_650
    kinds = ("hardirq", "poll", "network_outside_polls", "other_softirq", "vector", "nmi")
    assert first[[f"{kind}_ns" for kind in kinds]].tolist() == [500, 2_000, 100, 50, 0, 0]
    assert (first["polls"], first["packets"]) == (1, 7)
    line = "irq 32 eth0 (eth0)"
    assert first["began_with"] == line
    assert (first["ran_before_ns"], second["ran_before_ns"]) == (1_000, 16_200)
    assert (second["wall_ns"], second["packets"], second["cut"]) == (500, 0, False)
    of_first = got.parts[got.parts["episode"] == 0].set_index("thief")["ns"]
    assert of_first.to_dict() == {"eth0 poll": 2_000, line: 500, "NET_RX": 100, "RCU": 50}


def test_without_a_gap_each_context_is_its_own(tmp_path: Path) -> None:
    got = found(tmp_path, told(), gap_ns=0)
    assert sorted(got.episodes["wall_ns"]) == [50, 500, 500, 2_100]


# The second irq comes 100 ns after the softirqs' end, but no softirq was pending: the task ran.
def test_an_interrupt_soon_after_is_another_stretch(tmp_path: Path) -> None:
    got = found(tmp_path, told(h.IrqEntry(3_900, 32), h.IrqExit(4_000, 32)))
    assert sorted(got.episodes["wall_ns"]) == [100, 500, 2_800]


# What was raised in between, by the task itself, is its own work: no stretch goes on over it.
def test_a_softirq_of_its_own_ends_it(tmp_path: Path) -> None:
    own = (h.BhDisable(3_850), h.SoftirqRaise(3_860, NET_RX), h.BhEnable(3_870))
    got = found(tmp_path, told(*own, h.SoftirqEntry(3_880, NET_RX), h.SoftirqExit(3_990, NET_RX)))
    assert sorted(got.episodes["wall_ns"]) == [500, 2_800]


def test_a_loss_cuts_it(tmp_path: Path) -> None:
    lost = cpu(0, *INTERRUPT[:6], h.Lost(4_000, 3), h.Waking(9_000, UDPSINK), task=OPENSSL)
    got = found(tmp_path, lost)
    assert got.episodes["cut"].tolist() == [True]
    assert got.episodes["end_ns"].iloc[0] <= got.episodes["start_ns"].iloc[0] + 2_600


def test_of_one_victim_and_of_nobody(tmp_path: Path) -> None:
    assert found(tmp_path, told(), victim="openssl", most=1).total == 2
    assert len(found(tmp_path, told(), victim="openssl", most=1).episodes) == 1
    # Of a task that did not run nothing is known, not that nothing happened to it.
    with pytest.raises(ArgumentError, match="no task 'cat'"):
        found(tmp_path, told(), victim="cat")
    with pytest.raises(ArgumentError, match="gap_ns"):
        found(tmp_path, told(), gap_ns=-1)


@pytest.mark.parametrize(
    ("sample", "most"),
    [
        ("nic-stolen-time", 10**6),
        ("stolen-time-top.netcost.tar.zst", 20),
    ],
)
def test_in_pieces_it_is_the_same(sample: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    line = kept(sample).timeline()
    both = Group("two", frozenset(sorted(known_tids(line))[:2]), "two")
    for victim in (ALL, "openssl", both, max(known_tids(line))):
        whole = episodes(line, victim, most)
        with monkeypatch.context() as small:
            take_in_parts(small, 500)
            pieces = episodes(netcost.open_capture(SAMPLES / sample).timeline(), victim, most)
        pd.testing.assert_frame_equal(whole.episodes, pieces.episodes)
        pd.testing.assert_frame_equal(whole.parts, pieces.parts)
        assert whole.total == pieces.total
        assert len(whole.episodes) == min(most, whole.total)


def known_tids(line: netcost.Timeline) -> set[int]:
    return {row.tid for row in line.owned_by() if row.tid}


# The longest first; of equals by CPU and time, whatever is asked for.
@pytest.mark.parametrize("sample", ["nic-stolen-time", "veth-stolen-time"])
def test_fewer_are_the_first_of_more(sample: str) -> None:
    line = kept(sample).timeline()
    every = episodes(line, ALL, most=10**6)
    order = every.episodes.assign(shorter=-every.episodes["wall_ns"])
    keys = ["shorter", "cpu", "start_ns"]
    assert order[keys].equals(
        order[keys].sort_values(keys, ignore_index=True).rename_axis("episode")
    )
    # Some are as long as others.
    assert order["wall_ns"].duplicated().any()
    for most in (0, 1, 2, 7, 64, 65):
        some = episodes(line, ALL, most)
        pd.testing.assert_frame_equal(some.episodes, every.episodes.head(most))
        parts = every.parts[every.parts["episode"] < most]
        pd.testing.assert_frame_equal(
            some.parts, parts, check_dtype=bool(most), check_index_type=False
        )
        assert some.total == every.total


@pytest.mark.parametrize("gap_ns", [10_000, 10**30])
def test_episodes_of_tasks_are_those_of_all(gap_ns: int) -> None:
    line = kept("nic-stolen-time").timeline(3.5, 3.6)
    of_all = episodes(line, ALL, most=10**30, gap_ns=gap_ns)
    each = [episodes(line, tid, most=10**30, gap_ns=gap_ns) for tid in known_tids(line)]
    assert of_all.total == sum(one.total for one in each)
    together = episodes(line, Group("all", frozenset(known_tids(line)), "all"), 10**30, gap_ns)
    pd.testing.assert_frame_equal(of_all.episodes, together.episodes)
    assert of_all.parts["ns"].sum() == sum(one.parts["ns"].sum() for one in each)


def test_polls_are_those_that_ended_in_it() -> None:
    line = kept("veth-stolen-time").timeline()
    rows = episodes(line, ALL, most=300).episodes
    for _, row in rows.iterrows():
        polls = line.polls[line.polls["cpu"] == row["cpu"]]
        inside = polls[(polls["end_ns"] > row["start_ns"]) & (polls["end_ns"] <= row["end_ns"])]
        assert (row["polls"], row["packets"]) == (len(inside), inside["work"].sum())
    assert rows["packets"].sum() > 0


@pytest.mark.parametrize("sample", ["nic-stolen-time", "veth-stolen-time"])
def test_parts_add_up(sample: str) -> None:
    timeline = kept(sample).timeline()
    got = episodes(timeline, "openssl", most=10**6)
    assert got.total == len(got.episodes)
    losses = stolen(timeline).victims.loc["openssl"]
    assert got.episodes["stolen_ns"].sum() == losses["stolen_ns"]
    # What was not recorded is in no episode.
    seen = losses["stolen_max_ns"] - losses["stolen_unrecorded_ns"]
    assert got.episodes["stolen_max_ns"].sum() == seen == got.parts["ns"].sum()
    assert (got.episodes["stolen_max_ns"] <= got.episodes["wall_ns"]).all()


ENTRY = re.compile(r"^irq:(?:softirq|irq_handler)_entry$|^irq_vectors:\w+_entry$")
EXIT = re.compile(r"^irq:(?:softirq|irq_handler)_exit$|^irq_vectors:\w+_exit$")


# Interrupt contexts stacked per CPU, by these lines' rules and nothing else.
def walked(sample: str, wanted: int) -> set[tuple[int, int, int]]:
    stretches: list[list[int]] = []
    stack: dict[int, int] = {}
    raised: dict[tuple[int, str], int] = {}
    open_: dict[int, list[int]] = {}
    for number, time, tid, event, text in printed(sample):
        vec = text.split()[0]
        if event == "irq:softirq_raise":
            raised.setdefault((number, vec), time)
        elif event == "sched:sched_switch" or tid != wanted:
            stack[number] = 0
            open_.pop(number, None)
        if tid != wanted:
            if event == "irq:softirq_entry":
                raised.pop((number, vec), None)
            continue
        if ENTRY.match(event):
            # A raise that was not seen may have been before.
            since = raised.pop((number, vec), 0) if "softirq" in event else time
            last = open_.get(number)
            joins = last and time - last[2] <= 10_000 and since <= last[2]
            if not stack.get(number) and not joins:
                open_[number] = [number, time, time]
                stretches.append(open_[number])
            stack[number] = stack.get(number, 0) + 1
        elif EXIT.match(event) and stack.get(number):
            stack[number] -= 1
            open_[number][2] = time
    return {(one[0], one[1], one[2]) for one in stretches if one[2] > one[1]}


@pytest.mark.parametrize("sample", ["nic-stolen-time", "stolen-time-top.netcost.tar.zst"])
def test_a_walk_over_perf_script_finds_the_same(sample: str) -> None:
    timeline = kept(sample).timeline()
    got = episodes(timeline, "openssl", most=10**6).episodes
    got = got[~got["cut"]]
    [tid] = got["tid"].unique()
    mine = set(zip(got["cpu"], got["start_ns"], got["end_ns"], strict=True))
    # Before the first its task had another name: the shell's that became openssl.
    begun = got["start_ns"].min()
    theirs = {one for one in walked(sample, int(tid)) if one[1] >= begun}
    assert len(mine) > 200
    assert mine <= theirs
    # What the ledger calls unknown, where it lost the thread of a context, is in none of mine.
    assert len(theirs - mine) <= 0.02 * len(theirs)

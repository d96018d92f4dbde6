# Losses that lie in each other are one gap: what was lost counts once (native/src/gaps.rs), and
# `info` and the ledger say the same of one recording.

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcost_analysis
from netcost_analysis._native import Capture
from netcost_analysis.coverage import recorded_share
from support.host import Fresh, examples
from support.narrator import BASE, recordings
from support.native_tables import SUM_KEY, Answer, Row, by, gaps
from support.perfdata import Cpu, Recording, cpu, recording
from support.perfdata import happenings as h
from support.texts import capture
from support.told import NET_RX, OPENSSL, UDPSINK

RANGES = ((0, 100, 400), (0, 200, 300), (0, 350, 500), (1, 450, 2_000), (1, 450, 460))
NEIGHBOUR = cpu(1, h.Waking(100, OPENSSL), h.Waking(1_100, OPENSSL), task=UDPSINK)


def assert_known(path: Path, share: float) -> None:
    opened = netcost_analysis.open_capture(path)
    unknown = opened.timeline().unknown_cpu_share
    assert (opened.info["recorded"], 1 - unknown) == (pytest.approx(share), pytest.approx(share))


# 100        200        300        400        500      1000
# |softirq    (5 lost)  LOST (7 lost) LOST (2) LOST    |hardirq
#            |<----------- one gap of 14 ----->|
# 100 ........ LOST 600 |waking 700 ... 1100     the beginning may have been lost as well
# 100 waking |150 LOST 200 ............ 1100     nothing tells when it ended
@pytest.mark.parametrize(
    ("told", "gap"),
    [
        (
            (
                *(h.SoftirqEntry(100, NET_RX), h.SoftirqExit(200, NET_RX)),
                *(h.Lost(300, 5), h.Lost(400, 7), h.Lost(500, 2), h.Waking(501, UDPSINK)),
                *(h.IrqEntry(1_000, 32), h.IrqExit(1_100, 32)),
            ),
            (0, 200, 500, 14),
        ),
        ((h.Lost(600, 7), h.Waking(700, UDPSINK)), (0, 100, 600, 7)),
        ((h.Waking(150, UDPSINK), h.Lost(200, 7)), (0, 150, 1_100, 7)),
    ],
    ids=["between", "before all events", "behind all events"],
)
def test_losses_with_no_event_in_between_are_one_gap(
    tmp_path: Path, told: tuple[h.Happening, ...], gap: tuple[int, int, int, int]
) -> None:
    path = recording(cpu(0, *told, task=OPENSSL), NEIGHBOUR).write(tmp_path / "perf.data")
    assert gaps(Capture(str(path)).scan()) == [gap]
    assert_known(path, 1 - (gap[2] - gap[1]) / 2_000)


# A text's last loss has no event behind it that would say when it ended.
def test_a_texts_loss_at_its_end_is_a_gap(tmp_path: Path) -> None:
    line = "{0}-{1} [00{2}] d..2. 0.{3:06}: softirq_{4}: vec=3 [action=NET_RX]\n"
    text = "".join(
        line.format("sh", 8, number, at, kind)
        for number, at, kind in ((0, 100, "entry"), (0, 200, "exit"), (1, 100, "entry"))
    )
    lost = "CPU:0 [LOST 9 EVENTS]\n" + line.format("sh", 8, 1, 1_100, "exit")
    assert gaps(capture(tmp_path, text + lost).scan()) == [(0, 200_000, 1_100_000, 9)]
    assert_known(tmp_path / "trace.txt", 0.55)


# Whoever hands over gaps that overlap: each nanosecond is missing once, in the window only.
def test_what_several_gaps_cover_is_missing_once() -> None:
    overlapping = [{"cpu": cpu, "start_ns": start, "end_ns": end} for cpu, start, end in RANGES]
    share = recorded_share([0, 1], overlapping, (0, 1_000))
    assert share == pytest.approx(1 - (400 + 550) / 2_000)
    assert recorded_share([0, 1], [], (0, 1_000)) == 1


# When perf wrote its rings out is nothing that happened on the machine: the same story, written in
# rounds as short or long as chance has it, gives the same answer.


# perf reads one CPU's ring after the other, and no ring a second time before the round is over: the
# places lie between two rounds' times, and each CPU has its own among them.
def flushed(one: Cpu, rounds: list[int]) -> Cpu:
    told = [what for what in one.happenings if not isinstance(what, h.Flush)]
    places = [(early + (late - early) * one.number // 3) for early, late in pairwise(rounds)]
    result: list[h.Happening] = told[:1]
    for before, after in pairwise(told):
        # Equal records on either side of a flush could not be told from a repeat.
        while places and places[0] < after.at and before.at < after.at:
            result.append(h.Flush(places.pop(0)))
        result.append(after)
    return replace(one, happenings=tuple(result + [h.Flush(at) for at in places]))


# Each CPU wakes the tasks of the next, at times that no other CPU has: between CPUs, the order of
# what happened at the same time is anyone's guess.
def crossed(one: Cpu, cpus: int) -> Cpu:
    def told(what: h.Happening) -> h.Happening:
        if isinstance(what, h.Wakeup):
            target = (one.number + 1) % cpus
            task = replace(what.task, tid=what.task.tid + 100 * (target - one.number), pid=None)
            what = replace(what, task=task, target_cpu=target)
        return replace(what, at=BASE + 4 * (what.at - BASE) + one.number)

    return replace(one, happenings=tuple(map(told, one.happenings)))


def in_rounds(told: Recording, rounds: list[int]) -> Recording:
    return replace(told, cpus=tuple(flushed(one, rounds) for one in told.cpus))


def same(one: Answer, other: Answer) -> None:
    assert one.displaced == other.displaced
    assert one.tables == other.tables
    assert one.irqs == other.irqs
    columns = (*SUM_KEY, "comm", "name", "segments")
    assert by(one.sums, columns, ns) == by(other.sums, columns, ns)


def ns(row: Row) -> int:
    return int(row["ns"])


@pytest.mark.parametrize("realtime", [False, True])
@examples(15)
@given(data=st.data(), steps=st.lists(st.integers(1, 800), max_size=40))
def test_rounds_change_nothing(
    fresh: Fresh,
    realtime: bool,
    data: st.DataObject,
    steps: list[int],
) -> None:
    alone = data.draw(recordings(realtime))
    told = replace(alone, cpus=tuple(crossed(one, len(alone.cpus)) for one in alone.cpus))
    rounds = [BASE]
    for step in steps:
        rounds.append(rounds[-1] + step)
    folder = fresh()
    whole = Answer(in_rounds(told, []).write(folder / "whole"))
    same(Answer(in_rounds(told, rounds).write(folder / "rounds")), whole)
    # A folder of `perf record --threads`: each ring whole, in a file of its own, without rounds.
    same(Answer(in_rounds(told, []).write(folder / "threads", "directory")), whole)

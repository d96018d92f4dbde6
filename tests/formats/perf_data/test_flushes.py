# When perf wrote its rings out is nothing that happened on the machine: the same story, written in
# rounds as short or long as chance has it, gives the same answer.

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.host import Fresh, examples
from support.narrator import BASE, recordings
from support.native_tables import SUM_KEY, Answer, Row, by
from support.perfdata import Cpu, Recording
from support.perfdata import happenings as h


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

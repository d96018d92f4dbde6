# The victim that is chosen where none was given.

from pathlib import Path

import pytest

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IDLE, OPENSSL, timeline

KIT, PERF = h.Task(70, "netcost-record"), h.Task(80, "perf")
SLEEP = h.Task(90, "date")


# Each task runs 1 us and loses so much of it to an interrupt.
def told(*tasks: tuple[h.Task, int]) -> tuple[h.Happening, ...]:
    story: list[h.Happening] = [h.Fork(5, SLEEP)]
    for at, (task, lost) in enumerate(tasks, 1):
        begin = at * 1_000
        story += [
            *(h.Switch(begin, task), h.IrqEntry(begin + 100, 25)),
            h.IrqExit(begin + 100 + lost, 25),
        ]
    return *story, h.Switch((len(tasks) + 1) * 1_000, IDLE)


@pytest.mark.parametrize(
    ("tasks", "victim"),
    [
        (((PERF, 800), (OPENSSL, 50)), "openssl"),
        (((KIT, 800), (SLEEP, 700), (OPENSSL, 50)), "openssl"),
        # Without the kit it is a program like any other.
        (((SLEEP, 700), (OPENSSL, 50)), "date"),
        (((PERF, 800),), "perf"),
    ],
)
def test_a_recorder_is_no_victim(
    tasks: tuple[tuple[h.Task, int], ...], victim: str, tmp_path: Path
) -> None:
    # Who runs first forks date.
    assert timeline(tmp_path, cpu(0, *told(*tasks), task=tasks[0][0])).victim == victim

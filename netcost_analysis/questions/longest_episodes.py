"""Native's aggregate of the longest episodes, in which a task did not run: without pandas."""

from typing import NamedTuple

from ..timeline.aggregates import Aggregate
from ..timeline.task import Group, Task
from ..timeline.timeline import Timeline
from .victim import asked_or_chosen

# From an interrupt's exit to the entry of the softirq it raised, or from one softirq to the next:
# 0.6 to 8 us in the samples, the slowest emulated.
GAP_NS = 10_000
# The largest number that native takes.
_LARGEST = 2**63 - 1


class Longest(NamedTuple):
    """The longest episodes of a task, of several tasks, or of all (None).

    bridge_ns: how much of the task's own time an episode may bridge.
    """

    victim: str | tuple[int, ...] | None
    most: int
    bridge_ns: int


def longest(
    timeline: Timeline, victim: Task | None = None, most: int = 20, gap_ns: int = GAP_NS
) -> Longest:
    """What native is asked for."""
    task = asked_or_chosen(timeline, victim)
    most, gap_ns = (int(min(number, _LARGEST)) for number in (most, gap_ns))
    if isinstance(task, Group):
        return Longest(tuple(sorted(task.tids)), most, gap_ns)
    return Longest(task if isinstance(task, str | None) else (int(task),), most, gap_ns)


LONGEST = Aggregate(longest, is_later=True)

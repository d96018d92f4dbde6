# How long tasks had run, and softirqs on top of them, before given moments: for whoever asks about
# few moments of a task need not keep its segments.

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...spans import Ints, Spans, columns
from ..moments import passed_at

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

CONTEXTS = {"own": ("task",), "softirq": ("softirq", "poll")}


@dataclass(frozen=True, eq=False)
class Passed:
    # In place of spans, for stretches between moments: by tid and time, ns before each.
    moments: Spans
    ns: Ints

    def within(self, groups: Ints, starts: Ints, ends: Ints) -> Ints:
        # As Spans has it.
        after, until = (self.ns[self.moments.last_begun(groups, at)] for at in (ends, starts))
        length: Ints = after - until
        return length


def passed(timeline: "Timeline", tids: Ints, times: Ints) -> tuple[Passed, Passed]:
    # Of the task itself, and of softirqs on top of it.
    moments = Spans(tids, times, times)
    found = passed_at(timeline, moments.groups, moments.starts)
    own, softirq = columns(found, "own_ns", "softirq_ns")
    return Passed(moments, own), Passed(moments, softirq)

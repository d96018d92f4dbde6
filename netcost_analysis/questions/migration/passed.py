# How long tasks had run, and softirqs on top of them, before given moments: summed batch by batch,
# for whoever asks about few moments of a task need not keep its segments.
#
#   segments in order of their ends    |   a batch   |
#   moments in order of time      0 0  | . their part . |  all of it, by task

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...spans import Ints, Spans, columns
from ..folds import content_of, fold

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

CONTEXTS = {"own": ("task",), "softirq": ("softirq", "poll")}


@dataclass(frozen=True)
class Moments:
    # Each different one once, by time.
    tids: Ints = field(compare=False)
    times: Ints = field(compare=False)
    content: bytes


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


def moments_of(tids: Ints, times: Ints) -> Moments:
    both = pd.DataFrame({"tid": tids, "time_ns": times}).drop_duplicates()
    tids, times = columns(both.sort_values("time_ns", kind="stable"), "tid", "time_ns")
    return Moments(tids, times, content_of(tids, times))


def passed(timeline: "Timeline", moments: Moments) -> tuple[Passed, Passed]:
    # Of the task itself, and of softirqs on top of it.
    own, softirq = _summed(timeline, moments=moments)
    places = Spans(moments.tids, moments.times, moments.times)
    order = np.lexsort((moments.times, moments.tids))
    return Passed(places, own[order]), Passed(places, softirq[order])


@fold("segments")
def _summed(before: list[Ints] | None, segments: pd.DataFrame, moments: Moments) -> list[Ints]:
    known, task = np.unique(moments.tids, return_inverse=True)
    sums = before or [np.zeros(len(task), dtype="int64") for _ in CONTEXTS]
    rows = segments[segments["tid"].isin(known).to_numpy(dtype=bool)]
    for total, contexts in zip(sums, CONTEXTS.values(), strict=True):
        of = rows[rows["context"].isin(contexts).to_numpy(dtype=bool)]
        if not len(of):
            continue
        tids, starts, ends = columns(of, "tid", "start_ns", "end_ns")
        first = np.searchsorted(moments.times, starts.min(), side="right")
        last = np.searchsorted(moments.times, ends.max(), side="left")
        within = slice(first, last)
        total[within] += Spans(tids, starts, ends).until(
            moments.tids[within], moments.times[within]
        )
        each = np.zeros(len(known), dtype="int64")
        np.add.at(each, np.searchsorted(known, tids), ends - starts)
        total[last:] += each[task[last:]]
    return sums

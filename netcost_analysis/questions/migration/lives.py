# What tasks did over time: ran, waited, were interrupted; and when each was there at all.

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...coverage import joined
from ...frames import to_frame
from ...spans import Flags, Floats, Ints, Spans, columns, spans_of
from ...timeline.aggregates import Aggregate
from ...timeline.lives import StaysOf
from ...timeline.owners import of_tasks
from ...timeline.reading import rows
from ..moments import passed_at
from .migrations import migrations

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

# EXIT_ZOMBIE and EXIT_DEAD, in either order; TASK_DEAD of kernels before 4.14. That bit is of later
# ones TASK_PARKED: such a thread is as good as gone, too.
_DEAD = 0x70
MEASURES = ("run", "wait", "softirq")
_NO_SEGMENTS = pd.DataFrame(columns=["tid", "context", "start_ns", "end_ns"], dtype="int64")


@dataclass(frozen=True, eq=False)
class Passed:
    # In place of spans, for stretches between few moments: by tid and time, ns before each. Whoever
    # asks about few moments of a task need not keep its segments.
    moments: Spans
    ns: Ints

    def within(self, groups: Ints, starts: Ints, ends: Ints) -> Ints:
        # As Spans has it.
        after, until = (self.ns[self.moments.last_begun(groups, at)] for at in (ends, starts))
        length: Ints = after - until
        return length


@dataclass(frozen=True)
class Lives:
    """What tasks did over time.

    own: spans in which a task itself ran. on_cpu: it was current. waiting: runnable without a CPU.
    softirq: softirqs on top of it. gaps: of any CPU's record, of group 0. window: from when to
    when. born, died: spans of no length where tasks did so. instructions, cycles: by task and
    time of a sample, None without counters.
    """

    own: Spans | Passed
    on_cpu: Spans
    waiting: Spans
    softirq: Spans | Passed
    gaps: Spans
    window: tuple[int, int]
    born: Spans
    died: Spans
    instructions: "Counts | None" = None
    cycles: "Counts | None" = None

    def alive(self, tids: Ints, starts: Ints, ends: Ints) -> Flags:
        """Whether each task was there, and recorded, for all of a stretch.

        A number may be given to another task after its end.
        """
        inside = (starts >= self.window[0]) & (ends <= self.window[1])
        born = self.born.last_begun(tids, ends) != self.born.last_begun(tids, starts)
        died = self.died.last_begun(tids, ends - 1) != self.died.last_begun(tids, starts - 1)
        alive: Flags = inside & ~born & ~died
        return alive

    def measured(self, measure: str, tids: Ints, starts: Ints, ends: Ints) -> Floats:
        """A measure of each stretch: run, wait (shares of it), softirq (share of time on CPU), ipc.

        NaN where there is none: no time on CPU, no cycles.
        """
        if measure == "ipc":
            assert self.instructions is not None
            assert self.cycles is not None
            counted = self.cycles.within(tids, starts, ends)
            done = self.instructions.within(tids, starts, ends)
            return _ratio(done, counted)
        if measure == "softirq":
            whole = self.on_cpu.within(tids, starts, ends)
            part = self.softirq.within(tids, starts, ends)
        else:
            whole = ends - starts
            part = (self.own if measure == "run" else self.waiting).within(tids, starts, ends)
        return _ratio(part, whole)


def _ratio(part: Floats | Ints, whole: Floats | Ints) -> Floats:
    ratio: Floats = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


class Counts:
    """Events that samples stand for: tids, times (ns) and how many each."""

    def __init__(self, tids: Ints, times: Ints, counts: Ints) -> None:
        # A sample is a span of no length: how many lie before a time is what is summed.
        self.places = Spans(tids, times, times)
        order = np.lexsort((times, tids))
        self.sums = np.concatenate(([0.0], np.cumsum(counts[order], dtype="float64")))

    def within(self, tids: Ints, starts: Ints, ends: Ints) -> Floats:
        """Events of each task in each stretch, its end excluded."""
        after, until = (self.places.begun(tids, times - 1)[1] for times in (ends, starts))
        return self.sums[after] - self.sums[until]


def _of_moved(timeline: "Timeline") -> StaysOf:
    return StaysOf(
        tids=tuple(sorted(int(tid) for tid in migrations(timeline).frame["tid"].unique()))
    )


# The stays of all that were moved.
MOVED = Aggregate(_of_moved, is_later=True)


def stays(timeline: "Timeline", tids: "pd.Index[int] | None" = None) -> pd.DataFrame:
    """The stays on CPUs of some tasks, or of all but the idle one."""
    wanted = None if tids is None else tuple(sorted(int(tid) for tid in tids))
    return to_frame(MOVED(timeline, StaysOf(tids=wanted))["stays"])


def wakes_of(slices: pd.DataFrame) -> Spans:
    woken = slices[(slices["wake_ns"].notna() & slices["tid"].fillna(0).ne(0)).to_numpy(dtype=bool)]
    return spans_of(woken, "wake_ns", "wake_ns")


def lives_of(timeline: "Timeline", tids: "pd.Index[int] | None" = None) -> Lives:
    """The lives of some tasks, or of all but the idle one; without own and softirq: with_passed().

    What a task did itself is summed between moments, when these are known.
    """
    capture = timeline.capture
    forked = None
    if capture.info["events"].get("sched:sched_process_fork"):
        forked = capture.events("sched:sched_process_fork")
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    (coverage,) = rows(timeline, "coverage")
    return lives_from(_NO_SEGMENTS, stays(timeline, tids), coverage, window, forked, tids)


def with_passed(lives: Lives, timeline: "Timeline", tids: Ints, times: Ints) -> Lives:
    """Lives with own and softirq, for stretches between these moments of these tasks."""
    moments = Spans(tids, times, times)
    before = passed_at(timeline, moments.groups, moments.starts)
    own, softirq = (Passed(moments, ns) for ns in columns(before, "own_ns", "softirq_ns"))
    return replace(lives, own=own, softirq=softirq)


def lives_from(
    segments: pd.DataFrame,
    slices: pd.DataFrame,
    coverage: pd.DataFrame,
    window: tuple[int, int],
    forked: pd.DataFrame | None = None,
    tids: "pd.Index[int] | None" = None,
) -> Lives:
    # lives_of() on the tables; forked: the events sched_process_fork.
    owned, own_stays = (
        rows if tids is None else rows[rows["tid"].isin(tids).to_numpy(dtype=bool)]
        for rows in (of_tasks(segments), of_tasks(slices))
    )
    context = owned["context"].astype(object)
    waits = own_stays[own_stays["wait_ns"].notna().to_numpy()]
    waits = waits.assign(from_ns=waits["in_ns"] - waits["wait_ns"])
    dead = own_stays[((own_stays["prev_state"].fillna(0).astype("int64") & _DEAD) != 0).to_numpy()]
    born = Spans(*(np.empty(0, "int64") for _ in range(3)))
    if forked is not None and "child_pid" in forked:
        known = forked[forked["time_ns"].notna().to_numpy()]
        born = spans_of(known, "time_ns", "time_ns", "child_pid")
    gaps = np.array(joined(zip(*columns(coverage, "start_ns", "end_ns"), strict=True)), "int64")
    gaps = gaps.reshape(-1, 2)
    return Lives(
        own=spans_of(owned[(context == "task").to_numpy()]),
        on_cpu=spans_of(own_stays, "in_ns", "out_ns"),
        waiting=spans_of(waits, "from_ns", "in_ns"),
        softirq=spans_of(owned[context.isin(["softirq", "poll"]).to_numpy()]),
        gaps=Spans(np.zeros(len(gaps), dtype="int64"), *gaps.T),
        window=window,
        born=born,
        died=spans_of(dead, "out_ns", "out_ns"),
    )

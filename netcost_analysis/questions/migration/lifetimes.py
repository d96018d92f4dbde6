# What tasks did over time: ran, waited, were woken, and when each was there at all; and their
# instructions and cycles, where a recording sampled them.

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...capture.capture import Capture
from ...coverage import joined
from ...frames import to_frame
from ...snapshots.perf_stat import plain_event
from ...spans import Flags, Floats, Ints, Spans, columns, spans_of
from ...timeline.aggregates import Aggregate
from ...timeline.lives import StaysOf
from ...timeline.owners import of_tasks
from ...timeline.reading import rows
from ...timeline.task_groups import forks
from ...timeline.timeline import Timeline
from ..moments import passed_at
from .migrations import moved_tasks

# EXIT_ZOMBIE and EXIT_DEAD, in either order, and TASK_DEAD before 4.14. Later kernels have
# TASK_PARKED there: a parked thread is as good as gone, too.
_DEAD = 0x70


class RunningTotal:
    """What each task had had by some moments, by tid and time: its time in ns, or events."""

    def __init__(self, tids: Ints, times: Ints, totals: Ints | Floats) -> None:
        self._moments = Spans(tids, times, times)
        self._totals = np.append(0, totals)

    def within(self, tids: Ints, starts: Ints, ends: Ints) -> Ints | Floats:
        """How much that grew in each stretch, as Spans has it."""
        after, before = (self._totals[self._moments.begun(tids, at)[1]] for at in (ends, starts))
        growth: Ints | Floats = after - before
        return growth


# By name; of Lifetimes too.
Amounts = dict[str, Spans | RunningTotal]
# What each measure is a part of: an amount of another, or, for None, of all the time.
MEASURES = {
    "run": ("own", None),
    "wait": ("waiting", None),
    "softirq": ("softirq", "on_cpu"),
    "ipc": ("instructions", "cycles"),
}


@dataclass(frozen=True)
class Lifetimes:
    """What tasks did over time.

    on_cpu: spans in which a task was current. waiting: runnable without a CPU. gaps: of any CPU's
    record, of group 0. window: from when to when. woken, born, died: spans of no length where tasks
    were, or did so.
    """

    on_cpu: Spans
    waiting: Spans
    gaps: Spans
    window: tuple[int, int]
    woken: Spans
    born: Spans
    died: Spans

    def alive(self, tids: Ints, starts: Ints, ends: Ints) -> Flags:
        """Whether each task was there, and recorded, for all of a stretch.

        A number may be given to another task after its end.
        """
        inside = (starts >= self.window[0]) & (ends <= self.window[1])
        born = self.born.last_begun(tids, ends) != self.born.last_begun(tids, starts)
        died = self.died.last_begun(tids, ends - 1) != self.died.last_begun(tids, starts - 1)
        alive: Flags = inside & ~born & ~died
        return alive


def measured(amounts: Amounts, measure: str, tids: Ints, starts: Ints, ends: Ints) -> Floats:
    """One of MEASURES in each stretch; NaN where there is none: no time on CPU, no cycles."""
    part, whole = MEASURES[measure]
    of = amounts[whole].within(tids, starts, ends) if whole else ends - starts
    ratio: Floats = np.full(len(of), np.nan)
    np.divide(amounts[part].within(tids, starts, ends), of, out=ratio, where=of > 0)
    return ratio


# The slices of all tasks that were moved.
MOVED = Aggregate(lambda timeline: _slices_of(moved_tasks(timeline)["tid"]))


def _slices_of(tids: "pd.Series[int]") -> StaysOf:
    return StaysOf(tids=tuple(sorted({int(tid) for tid in tids})))


def lifetimes_of(timeline: Timeline, tids: "pd.Series[int]") -> Lifetimes:
    """The lifetimes of some tasks."""
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    (coverage,) = rows(timeline, "coverage")
    slices = to_frame(MOVED(timeline, _slices_of(tids))["stays"])
    forked = forks(timeline.capture)
    return lifetimes_from(slices, coverage, window, None if forked is None else to_frame(forked))


def lifetimes_from(
    slices: pd.DataFrame,
    coverage: pd.DataFrame,
    window: tuple[int, int],
    forked: pd.DataFrame | None = None,
) -> Lifetimes:
    # forked: the events sched_process_fork.
    slices = of_tasks(slices)
    waits = slices[slices["wait_ns"].notna()]
    waits = waits.assign(from_ns=waits["in_ns"] - waits["wait_ns"])
    woken = slices[slices["wake_ns"].notna()]
    dead = slices[(slices["prev_state"].fillna(0).astype("int64") & _DEAD) != 0]
    born = Spans(*(np.empty(0, "int64") for _ in range(3)))
    if forked is not None and "child_pid" in forked:
        known = forked[forked["time_ns"].notna()]
        born = spans_of(known, "time_ns", "time_ns", "child_pid")
    gaps = np.array(joined(zip(*columns(coverage, "start_ns", "end_ns"), strict=True)), "int64")
    gaps = gaps.reshape(-1, 2)
    return Lifetimes(
        on_cpu=spans_of(slices, "in_ns", "out_ns"),
        waiting=spans_of(waits, "from_ns", "in_ns"),
        gaps=Spans(np.zeros(len(gaps), dtype="int64"), *gaps.T),
        window=window,
        woken=spans_of(woken, "wake_ns", "wake_ns"),
        born=born,
        died=spans_of(dead, "out_ns", "out_ns"),
    )


def own_and_softirq(timeline: Timeline, tids: Ints, times: Ints) -> Amounts:
    """What tasks ran themselves, and softirqs on top of them, between these moments of theirs."""
    moments = Spans(tids, times, times)
    passed = passed_at(timeline, moments.groups, moments.starts)
    own, softirq = columns(passed, "own_ns", "softirq_ns")
    return {
        name: RunningTotal(moments.groups, moments.starts, totals)
        for name, totals in (("own", own), ("softirq", softirq))
    }


_NAMES = ("instructions", "cycles")
_COLUMNS = ["tid", "time_ns", "count"]


def instructions_and_cycles(capture: Capture) -> Amounts:
    """Instructions and cycles of every task over time; nothing where one was not sampled.

    From samples of both events, each of which stands for `period` occurrences in the task that it
    hit; or from a group's samples (`{cycles,instructions}:S`), which hold the counts of all its
    events on that CPU, so what grew since the CPU's sample before is this sample's task's.
    Modifiers (`cycles:u`) do not matter, as long as both have the same.
    """
    events = {event["name"]: event for event in capture.header.get("events") or ()}
    counts: dict[str, list[pd.DataFrame]] = {name: [] for name in _NAMES}
    for name, event in events.items():
        bare = plain_event(name)
        if bare not in counts or event.get("tracepoint") or not capture.info["events"].get(name):
            continue
        samples = capture.samples(name)
        columns_read = [str(column) for column in samples if str(column).startswith("read:")]
        read = {plain_event(column.removeprefix("read:")): column for column in columns_read}
        if set(_NAMES) <= set(read):
            for counter in _NAMES:
                counts[counter].append(_grown(samples.assign(count=samples[read[counter]])))
        elif "period" in samples:
            counts[bare].append(samples.assign(count=samples["period"])[_COLUMNS].dropna())
    rows = {name: pd.concat(frames) for name, frames in counts.items() if frames}
    rows = {name: frame for name, frame in rows.items() if len(frame)}
    return {name: _running_total(rows[name]) for name in rows} if len(rows) == 2 else {}


def _grown(samples: pd.DataFrame) -> pd.DataFrame:
    rows = samples.dropna(subset=["time_ns", "tid", "cpu", "count"])
    rows = rows.sort_values("time_ns", kind="stable")
    grown = rows.groupby("cpu", observed=True)["count"].diff()
    known = (grown.notna() & (grown >= 0)).to_numpy(dtype=bool)
    return rows[known].assign(count=grown[known])[_COLUMNS]


def _running_total(rows: pd.DataFrame) -> RunningTotal:
    rows = rows.astype("int64").sort_values(["tid", "time_ns"], kind="stable")
    tids, times = columns(rows, "tid", "time_ns")
    # The end of a stretch is not in it.
    return RunningTotal(tids, times + 1, rows["count"].cumsum().to_numpy("float64"))

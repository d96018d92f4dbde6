# How many events happened while whom had a CPU. A segment's events are those from its start on:
# what an event costs comes after its time was taken, for the most part.

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...frames import to_frame
from ...progress import progress
from ...spans import columns
from ...stats.grouped import sums_by
from ..carried import appended
from ..folds import fold
from ..inputs import once

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

COSTS = ("cost_low_ns", "cost_ns", "cost_high_ns")
_OWNER = ["cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network"]


def event_times(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> pd.DataFrame:
    # A row per event of a tracepoint in the window, ends included: cpu, time_ns (int64), by these.
    with progress("decoding") as advance:
        return to_frame(capture.native.event_times(start_ns, end_ns, cpus, advance))


def counted(timeline: "Timeline", cost: "pd.Series[Any]") -> pd.DataFrame:
    # The segments' owners, as in the sums, with events and what they cost (COSTS), float64. cost: a
    # row of event_cost. Of a large capture a stretch from its middle, scaled up to all of it.
    each = (cost[f"event_{one.removeprefix('cost_')}"] for one in COSTS)
    # One that is not known is no NaN, which is like none.
    return _counted_at(timeline, tuple(None if pd.isna(ns) else ns for ns in each))


@once
def _counted_at(timeline: "Timeline", costs: tuple[Any, ...]) -> pd.DataFrame:
    # What an event costs, by COSTS. Each answer about tracing asks for the same.
    detail = timeline.excerpt
    events = _events(detail, costs)
    found = _counted(detail, events=events)
    frame = _summed(found.sums, _owned(found.rest, events.within(found.rest))).reset_index()
    # The fold is kept with the timeline.
    events.times.clear()
    if detail is not timeline and detail.duration_ns:
        frame[["events", *COSTS]] *= timeline.duration_ns / detail.duration_ns
    return frame


@once
def _events(detail: "Timeline", costs: tuple[Any, ...]) -> "Events":
    start_ns, end_ns = (int(detail.summary[name]) for name in ("start_ns", "end_ns"))
    times = event_times(detail.capture, start_ns, end_ns, detail.summary["cpus"])
    # Times in steps leave open how much later the next event was.
    slack = int(detail.summary["resolution_ns"] or 1) - 1
    return Events(by_cpu(times), dict(zip(COSTS, costs, strict=True)), end_ns, slack)


class _Counted(NamedTuple):
    # By _OWNER; and the last segment of each CPU: which events are in it the next one's start says.
    sums: pd.DataFrame | None
    rest: pd.DataFrame


@fold("segments", columns={"segments": [*_OWNER, "start_ns", "end_ns"]})
def _counted(before: _Counted | None, segments: pd.DataFrame, events: "Events") -> _Counted:
    rows = appended(before and before.rest, segments[[*_OWNER, "start_ns", "end_ns"]])
    is_last = ~rows["cpu"].duplicated(keep="last").to_numpy()
    cpus, at = columns(rows[is_last], "cpu", "start_ns")
    starts = dict(zip(cpus.tolist(), at.tolist(), strict=True))
    part = _owned(rows[~is_last], events.within(rows[~is_last], starts))
    return _Counted(_summed(before and before.sums, part), rows[is_last])


def _owned(segments: pd.DataFrame, found: dict[str, npt.NDArray[np.float64]]) -> pd.DataFrame:
    start_ns, end_ns = columns(segments, "start_ns", "end_ns")
    values = {"ns": end_ns - start_ns, "segments": np.zeros_like(start_ns), **found}
    return sums_by(segments[_OWNER], values)


def _summed(sums: pd.DataFrame | None, more: pd.DataFrame) -> pd.DataFrame:
    if sums is None:
        return more
    both = pd.concat([sums, more])
    return both.groupby(level=list(range(len(_OWNER))), dropna=False).sum(min_count=1)


def by_cpu(times: pd.DataFrame) -> dict[int, npt.NDArray[np.int64]]:
    # The times of event_times(), which are by CPU.
    cpus, at = columns(times, "cpu", "time_ns")
    begins = np.flatnonzero(np.diff(cpus, prepend=-1))
    parts = zip(cpus[begins].tolist(), np.split(at, begins)[1:], strict=True)
    return dict(parts)


@dataclass(eq=False)
class Events:
    # times: of by_cpu(). each: what one is said to cost, by COSTS. taken: how many of each CPU were
    # in segments before.
    times: dict[int, npt.NDArray[np.int64]]
    each: dict[str, Any]
    end_ns: int
    slack: int
    taken: dict[int, int] = field(default_factory=dict)

    def within(
        self, segments: pd.DataFrame, until: dict[int, int] | None = None
    ) -> dict[str, npt.NDArray[np.float64]]:
        # Of each segment (by CPU and time) how many events it holds, and what they cost: each of
        # them what it is said to, or the time to that CPU's next event where that is less. NaN
        # where no cost is said. until: by CPU, when the next segment starts; None for the last.
        size = len(segments)
        result = {name: np.zeros(size) for name in ("events", *COSTS)}
        for name, ns in self.each.items():
            if pd.isna(ns):
                result[name][:] = np.nan
        cpus, starts = segments["cpu"].to_numpy(), segments["start_ns"].to_numpy("int64")
        for cpu, every in self.times.items():
            places = np.flatnonzero(cpus == cpu)
            if not len(places):
                continue
            first, last = self.taken.get(cpu, 0), len(every)
            if until is not None:
                last = int(np.searchsorted(every, until[cpu]))
            self.taken[cpu] = max(first, last)
            at = every[first:last]
            following = np.append(every[first + 1 : last + 1], max(self.end_ns, int(every[-1])))
            within = np.maximum(np.searchsorted(starts[places], at, side="right") - 1, 0)
            result["events"][places] = np.bincount(within, minlength=len(places))
            gap = following[: len(at)] - at + self.slack
            for name, ns in self.each.items():
                if not pd.isna(ns):
                    costs = np.minimum(gap, int(ns))
                    result[name][places] = np.bincount(within, costs, minlength=len(places))
        return result

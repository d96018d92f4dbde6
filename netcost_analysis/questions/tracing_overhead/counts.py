# How many events happened while whom had a CPU. A segment's events are those from its start on:
# what an event costs comes after its time was taken, for the most part.

from dataclasses import dataclass
from itertools import pairwise
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
# Events.
_AT_ONCE = 250_000
_OWNER = ["cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network"]


def event_times(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> pd.DataFrame:
    # A row per event of a tracepoint in the window, ends included: cpu, time_ns (int64), by these.
    with progress("decoding") as advance:
        return to_frame(capture.native.event_times(start_ns, end_ns, cpus, advance))


def event_count(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> int:
    # How many rows event_times() has.
    headers = capture.header.get("events") or ()
    named = {one["name"] for one in headers if one["has_payload"] and one["has_format"]}
    names = tuple(name for name in capture.info["events"] if name in named)
    (found,) = capture.ahead.counts(
        [(names, None, None, ((start_ns, end_ns),))], capture.native.counts
    )
    own = set(cpus)
    return sum(many for (cpu, _), many in found[0].items() if cpu in own) if found else 0


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
    last = events.within(found.rest, found.taken)
    frame = _summed(found.sums, _owned(found.rest, last)).reset_index()
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
    # taken: how many of each CPU's events were in segments before.
    sums: pd.DataFrame | None
    rest: pd.DataFrame
    taken: dict[int, int]


@fold("segments", columns={"segments": [*_OWNER, "start_ns", "end_ns"]})
def _counted(before: _Counted | None, segments: pd.DataFrame, events: "Events") -> _Counted:
    rows = appended(before and before.rest, segments[[*_OWNER, "start_ns", "end_ns"]])
    is_last = ~rows["cpu"].duplicated(keep="last").to_numpy()
    cpus, at = columns(rows[is_last], "cpu", "start_ns")
    until = {
        cpu: int(np.searchsorted(events.times[cpu], start))
        for cpu, start in zip(cpus.tolist(), at.tolist(), strict=True)
        if cpu in events.times
    }
    taken = before.taken if before else {}
    part = _owned(rows[~is_last], events.within(rows[~is_last], taken, until))
    return _Counted(_summed(before and before.sums, part), rows[is_last], taken | until)


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


@dataclass(frozen=True, eq=False)
class Events:
    # times: of by_cpu(). each: what one is said to cost, by COSTS.
    times: dict[int, npt.NDArray[np.int64]]
    each: dict[str, Any]
    end_ns: int
    slack: int

    def within(
        self, segments: pd.DataFrame, since: dict[int, int], until: dict[int, int] | None = None
    ) -> dict[str, npt.NDArray[np.float64]]:
        # Of each segment (by CPU and time) how many events it holds, and what they cost: each of
        # them what it is said to, or the time to that CPU's next event where that is less. NaN
        # where no cost is said. since, until: by CPU, the place of its first event, and that after
        # its last.
        of_none = {name: np.nan for name, ns in self.each.items() if ns is None}
        result = {
            name: np.full(len(segments), of_none.get(name, 0.0)) for name in ("events", *COSTS)
        }
        cpus, starts = columns(segments, "cpu", "start_ns")
        begins = np.flatnonzero(np.diff(cpus, prepend=-1))
        for begin, end in pairwise([*begins.tolist(), len(cpus)]):
            cpu = int(cpus[begin])
            every = self.times.get(cpu, starts[:0])
            last = len(every) if until is None else until.get(cpu, 0)
            own = {name: values[begin:end] for name, values in result.items()}
            for first in range(since.get(cpu, 0), last, _AT_ONCE):
                self._add(own, starts[begin:end], every, first, min(first + _AT_ONCE, last))
        return result

    def _add(
        self,
        result: dict[str, npt.NDArray[np.float64]],
        starts: npt.NDArray[np.int64],
        every: npt.NDArray[np.int64],
        first: int,
        last: int,
    ) -> None:
        # Adds some of a CPU's events to those of its segments.
        at, following = every[first:last], every[first + 1 : last + 1]
        if last == len(every):
            following = np.append(following, max(self.end_ns, int(every[-1])))
        place = np.maximum(np.searchsorted(starts, at, side="right") - 1, 0)
        low = int(place[0])
        part = slice(low, int(place[-1]) + 1)
        result["events"][part] += np.bincount(place - low)
        for name, ns in self.each.items():
            if ns is not None:
                costs = np.minimum(following - at + self.slack, int(ns))
                result[name][part] += np.bincount(place - low, costs)

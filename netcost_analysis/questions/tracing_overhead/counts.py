# How many events happened while whom had a CPU. A segment's events are those from its start on:
# what an event costs comes after its time was taken, for the most part.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...frames import to_frame
from ...progress import progress
from ...spans import Floats, Ints, columns
from ...timeline.reading import once
from ..moments import owners_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

COSTS = ("cost_low_ns", "cost_ns", "cost_high_ns")
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
    (found,) = capture.event_counts.counts(
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
    start_ns, end_ns = (int(detail.summary[name]) for name in ("start_ns", "end_ns"))
    times = event_times(detail.capture, start_ns, end_ns, detail.summary["cpus"])
    cpus, at = columns(times, "cpu", "time_ns")
    # Those at the very end are of the last segment.
    owners, owner = owners_at(detail, cpus, np.minimum(at, end_ns - 1))
    # Times in steps leave open how much later the next event was.
    slack = int(detail.summary["resolution_ns"] or 1) - 1
    left = until_next(cpus, at, end_ns) + slack
    has_owner = owner >= 0
    sums = priced(
        owner[has_owner], left[has_owner], dict(zip(COSTS, costs, strict=True)), len(owners)
    )
    keys = owners[_OWNER].astype(dict.fromkeys(owners.select_dtypes("category"), object))
    frame = keys.assign(ns=owners["ns"], segments=0, **sums)
    frame = frame.groupby(_OWNER, dropna=False).sum(min_count=1).reset_index()
    if detail is not timeline and detail.duration_ns:
        frame[["events", *COSTS]] *= timeline.duration_ns / detail.duration_ns
    return frame


def until_next(cpus: Ints, times: Ints, end_ns: int) -> Ints:
    # How long after each event its CPU had the next, or the end came. By CPU and time.
    left: Ints = np.diff(times, append=end_ns)
    is_last = np.diff(cpus, append=-1) != 0
    left[is_last] = np.maximum(end_ns - times[is_last], 0)
    return left


def priced(
    owner: Ints, left: Ints, costs: "Mapping[str, int | None]", owners: int
) -> dict[str, Floats]:
    # Of each owner, of so many, how many events it has, and what they cost: each of them what it is
    # said to, or the time that is left where that is less. NaN where no cost is said.
    sums = {"events": np.bincount(owner, minlength=owners).astype("float64")}
    for name, ns in costs.items():
        none = np.full(owners, np.nan)
        sums[name] = none if ns is None else np.bincount(owner, np.minimum(left, float(ns)), owners)
    return sums

# How many events happened in whose time. An event at the start of a segment belongs to it: most of
# the cost comes after the timestamp.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...frames import to_frame
from ...progress import progress
from ...spans import Ints, columns
from ...timeline.reading import once
from ..moments import owners_at

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

COSTS = ("cost_low_ns", "cost_ns", "cost_high_ns")
_OWNER = ["cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network"]


def event_times(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> pd.DataFrame:
    # A row per event of a tracepoint in the window, both ends included, by cpu and time_ns.
    with progress("decoding") as advance:
        return to_frame(capture.native.event_times(start_ns, end_ns, cpus, advance))


def event_count(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> int:
    # The number of rows of event_times().
    headers = capture.header.get("events") or ()
    named = {one["name"] for one in headers if one["has_payload"] and one["has_format"]}
    names = tuple(name for name in capture.info["events"] if name in named)
    (found,) = capture.event_counts.counts(
        [(names, None, None, ((start_ns, end_ns),))], capture.native.counts
    )
    own = set(cpus)
    return sum(many for (cpu, _), many in found[0].items() if cpu in own) if found else 0


def events_by_owner(timeline: "Timeline", cost: "pd.Series[Any]") -> pd.DataFrame:
    # The owners of time, as in the sums, with their events and what these cost (COSTS), float64.
    # cost: a row of event_cost. A large capture is counted in a part from its middle and scaled up.
    each = (cost[f"event_{one.removeprefix('cost_')}"] for one in COSTS)
    # NaN does not equal itself, so it cannot be a key.
    return _events_at(timeline, tuple(None if pd.isna(ns) else ns for ns in each))


@once
def _events_at(timeline: "Timeline", costs: "tuple[int | None, ...]") -> pd.DataFrame:
    # costs: of an event, by COSTS. All answers about tracing share this.
    detail = timeline.excerpt
    start_ns, end_ns = (int(detail.summary[name]) for name in ("start_ns", "end_ns"))
    times = event_times(detail.capture, start_ns, end_ns, detail.summary["cpus"])
    cpus, at = columns(times, "cpu", "time_ns")
    # Events at the very end belong to the last segment.
    owners, owner = owners_at(detail, cpus, np.minimum(at, end_ns - 1))
    has_owner = owner >= 0
    owner, number = owner[has_owner], len(owners)
    # An event costs no more than the time to the next event on its CPU. Coarse timestamps may hide
    # up to a step of that time.
    left: Ints = np.diff(at, append=end_ns)
    is_last = np.diff(cpus, append=-1) != 0
    left[is_last] = np.maximum(end_ns - at[is_last], 0)
    left = (left + int(detail.summary["resolution_ns"] or 1) - 1)[has_owner]
    sums = {"events": np.bincount(owner, minlength=number).astype("float64")}
    for name, ns in zip(COSTS, costs, strict=True):
        if ns is None:
            sums[name] = np.full(number, np.nan)
        else:
            sums[name] = np.bincount(owner, np.minimum(left, float(ns)), number)
    keys = owners[_OWNER].astype(dict.fromkeys(owners.select_dtypes("category"), object))
    frame = keys.assign(ns=owners["ns"], segments=0, **sums)
    frame = frame.groupby(_OWNER, dropna=False).sum(min_count=1).reset_index()
    if detail is not timeline and detail.duration_ns:
        frame[["events", *COSTS]] *= timeline.duration_ns / detail.duration_ns
    return frame

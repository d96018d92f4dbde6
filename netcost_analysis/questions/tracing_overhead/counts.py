# How many events happened while whom had a CPU. A segment's events are those from its start on:
# what an event costs comes after its time was taken, for the most part.

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ..._native import CaptureError
from ...capture.event_names import require_event
from ...capture.recorder import is_perf
from ...progress import progress
from ..inputs import rows

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

# More at once would take too much memory: then one tracepoint at a time.
_MOST_EVENTS = 5_000_000
COSTS = ("cost_low_ns", "cost_ns", "cost_high_ns")
_OWNER = ["cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network"]


def event_times(capture: "Capture", start_ns: int, end_ns: int, cpus: list[int]) -> pd.DataFrame:
    # A row per event of a tracepoint in the window, ends included: cpu, time_ns (int64).
    parts: list[npt.NDArray[np.int64]] = [np.empty((0, 2), dtype="int64")]
    for table in _tables(capture):
        if "time_ns" not in table.column_names:
            continue
        # Only these columns: names and flags as pandas has them take longer than decoding.
        table = table.select(["common_cpu", "time_ns"]).drop_null()
        on, at = (column.to_numpy().astype("int64", copy=False) for column in table.columns)
        inside = (at >= start_ns) & (at <= end_ns) & np.isin(on, cpus)
        parts.append(np.column_stack((on[inside], at[inside])))
    return pd.DataFrame(np.concatenate(parts), columns=["cpu", "time_ns"])


def _tables(capture: "Capture") -> Iterator[pa.Table]:
    counts = capture.info["events"]
    if sum(counts.values()) <= _MOST_EVENTS:
        with progress("decoding") as advance:
            tables = capture.native.all_events(advance)
        yield from map(pa.table, tables.values())
        return
    for name, number in counts.items():
        if number and (table := _events(capture, name)) is not None:
            yield table


def _events(capture: "Capture", name: str) -> "pa.Table | None":
    # Without fields, so no tracepoint: what it costs is not an event's.
    try:
        require_event(name, capture.header.get("events", ()), fields=is_perf(capture.header))
        with progress(f"decoding {name}") as advance:
            return pa.table(capture.native.events(name, None, advance))
    except CaptureError:
        return None


def counted(timeline: "Timeline", cost: "pd.Series[Any]") -> pd.DataFrame:
    # The segments' owners, as in the sums, with events and what they cost (COSTS), float64. cost: a
    # row of event_cost. Of a large capture a stretch from its middle, scaled up to all of it.
    detail = timeline.excerpt
    (segments,) = rows(detail, "segments")
    start_ns, end_ns = (int(detail.summary[name]) for name in ("start_ns", "end_ns"))
    times = event_times(timeline.capture, start_ns, end_ns, detail.summary["cpus"])
    each = {name: cost[f"event_{name.removeprefix('cost_')}"] for name in COSTS}
    # Times in steps leave open how much later the next event was.
    slack = int(detail.summary["resolution_ns"] or 1) - 1
    found = events_in(segments, times, each, end_ns, slack)
    owned = segments[_OWNER].assign(ns=segments["end_ns"] - segments["start_ns"], **found)
    owned["segments"] = 0
    totals = ["ns", "segments", "events", *COSTS]
    group = owned.groupby(_OWNER, dropna=False, observed=True)[totals]
    frame = group.sum(min_count=1).reset_index()
    if detail is not timeline and detail.duration_ns:
        frame[["events", *COSTS]] *= timeline.duration_ns / detail.duration_ns
    return frame


def events_in(
    segments: pd.DataFrame, times: pd.DataFrame, each: dict[str, Any], end_ns: int, slack: int
) -> dict[str, npt.NDArray[np.float64]]:
    # Of each segment (by CPU and time) how many events it holds, and what they cost: each of them
    # what it is said to, or the time to that CPU's next event where that is less. NaN where no cost
    # is said.
    size = len(segments)
    result = {name: np.zeros(size) for name in ("events", *COSTS)}
    for name, ns in each.items():
        if pd.isna(ns):
            result[name][:] = np.nan
    cpus, starts = segments["cpu"].to_numpy(), segments["start_ns"].to_numpy("int64")
    for cpu, some in times.groupby("cpu"):
        places = np.flatnonzero(cpus == cpu)
        if not len(places):
            continue
        at = np.sort(some["time_ns"].to_numpy("int64"))
        within = np.searchsorted(starts[places], at, side="right") - 1
        within = np.maximum(within, 0)
        result["events"][places] = np.bincount(within, minlength=len(places))
        gap = np.diff(at, append=max(end_ns, int(at[-1]))) + slack
        for name, ns in each.items():
            if not pd.isna(ns):
                costs = np.minimum(gap, int(ns))
                result[name][places] = np.bincount(within, weights=costs, minlength=len(places))
    return result

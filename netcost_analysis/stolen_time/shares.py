"""What a victim effectively had, beside what a monitor shows of it."""

import pandas as pd

from ..by import By, victim_keys
from ..losses import stolen
from ..requires import unrecorded
from ..tally import known_if
from ..timeline import Timeline
from .chunks import chunks

_TICK = "irq_vectors:local_timer_entry"


def effective_share(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """The share of a CPU that each victim effectively had, against what a monitor shows.

    by: "comm", "tid" or "cpu" ("device" is as "comm"). Returns a row per victim, indexed as
    stolen() is and in its order; times are ns, shares are of the window, one CPU being 1:

    - on_cpu_ns, task_ns, monitor_ns (Int64): as in stolen(). monitor_share: what `top` shows as
      %CPU over this window; effective_share: what the task itself ran; hidden_share: the first
      minus the second, what a monitor claims for it and it did not have. NaN where unknown.
    - ticks, softirq_ticks (Int64): timer interrupts that found it current, and those of them that
      interrupted a softirq: what the kernel's sampling sees. NA where local_timer was not recorded.

    Raises ValueError for another by, CaptureError as the timeline does. Source: stolen(); segments,
    for the ticks.
    """
    losses = stolen(timeline, by)
    frame = losses[["on_cpu_ns", "task_ns", "monitor_ns"]].copy()
    window = timeline.duration_ns or float("nan")
    frame["monitor_share"] = _float(frame["monitor_ns"]) / window
    frame["effective_share"] = _float(frame["task_ns"]) / window
    frame["hidden_share"] = frame["monitor_share"] - frame["effective_share"]
    ticks = ["ticks", "softirq_ticks"]
    known = not unrecorded(timeline.capture, _TICK)
    keys = victim_keys(by)
    if not known:
        counted = pd.DataFrame(0, index=frame.index, columns=ticks)
    else:
        counted = pd.concat([_ticks(one.segments, keys) for one in chunks(timeline, "segments")])
        counted = counted.groupby(keys, dropna=False)[ticks].sum()
        counted = counted.reindex(frame.index, fill_value=0)
    for name in ticks:
        frame[name] = known_if(known, counted[name])
    return frame


def _float(values: "pd.Series[int]") -> "pd.Series[float]":
    return values.astype("Float64").astype("float64")


def _ticks(segments: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    # A row per timer interrupt on top of a task: its keys, 1, and whether it was on a softirq.
    tick = (segments["context"] == "vector") & (segments["name"].astype(object) == "local_timer")
    tick &= (segments["tid"].notna() & (segments["tid"] != 0)).fillna(False).astype(bool)
    inside = segments["context"].isin(["softirq", "poll"]) & (segments["cpu"].diff(-1) == 0)
    frame = segments[tick][["cpu", "tid", "comm"]].astype({"comm": object})
    frame["ticks"] = 1
    frame["softirq_ticks"] = inside.shift(fill_value=False)[tick].astype("int64")
    return frame[list(dict.fromkeys([*keys, "ticks", "softirq_ticks"]))]

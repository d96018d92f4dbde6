"""What a victim effectively had, beside what a monitor shows of it."""

import pandas as pd

from ..by import By, victim_keys
from ..losses import stolen
from ..requires import unrecorded
from ..tally import known_if, of_tasks, per_victim, tally
from ..timeline import Timeline
from .chunks import chunks

_TICK = "irq_vectors:local_timer_entry"


def effective_share(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """The share of a CPU that each victim effectively had, against what a monitor shows.

    by: "comm", "tid" or "cpu" ("device" is as "comm"). Returns a row per victim, indexed as
    stolen() is and in its order; times are ns, shares are of the window, one CPU being 1:

    - on_cpu_ns, task_ns, monitor_ns (Int64): as in stolen(). monitor_share: what `top` shows as
      %CPU over this window. effective_share: what the task itself ran, with softirqs of its own
      sending and receiving, and of ksoftirqd and its like the network work that they are for;
      effective_max_share adds what may have been that. overcharged_share, overcharged_max_share:
      monitor_share less these, what it is charged for and did not have; below 0 where its own
      softirqs are not charged. NaN where unknown.
    - ticks, softirq_ticks (Int64): timer interrupts that found it current, and those of them that
      interrupted a softirq: what the kernel's sampling sees. NA where local_timer was not recorded.

    Raises ValueError for another by, CaptureError as the timeline does. Source: stolen() and the
    sums; hardirqs and softirqs for the ticks.
    """
    losses, keys = stolen(timeline, by), victim_keys(by)
    frame = losses[["on_cpu_ns", "task_ns", "monitor_ns"]].copy()
    window = timeline.duration_ns or float("nan")
    frame["monitor_share"] = _float(frame["monitor_ns"]) / window
    rows = of_tasks(tally(timeline.sums(), by))
    surely = (rows["context"] == "task") | rows["cost_class"].isin(["scheduled", "synchronous"])
    perhaps = (rows["context"] == "unknown") | (rows["cost_class"] == "stolen_or_synchronous")
    for name, mask in (("effective", surely), ("effective_max", surely | perhaps)):
        had = known_if(timeline.has_switches, per_victim(rows[mask], keys, frame.index))
        frame[f"{name}_share"] = _float(had) / window
    frame["overcharged_share"] = frame["monitor_share"] - frame["effective_max_share"]
    frame["overcharged_max_share"] = frame["monitor_share"] - frame["effective_share"]
    ticks = ["ticks", "softirq_ticks"]
    known = not unrecorded(timeline.capture, _TICK)
    if not known:
        counted = pd.DataFrame(0, index=frame.index, columns=ticks)
    else:
        pieces = chunks(timeline, "hardirqs", "softirqs")
        counted = pd.concat([_ticks(piece, keys) for piece in pieces])
        counted = counted.groupby(keys, dropna=False)[ticks].sum()
        counted = counted.reindex(frame.index, fill_value=0)
    for name in ticks:
        frame[name] = known_if(known, counted[name])
    return frame


def _float(values: "pd.Series[int]") -> "pd.Series[float]":
    return values.astype("Float64").astype("float64")


def _ticks(piece: Timeline, keys: list[str]) -> pd.DataFrame:
    # A row per timer interrupt on top of a task: its keys, 1, and whether it was on a softirq.
    rows = piece.hardirqs
    tick = (rows["context"] == "vector") & (rows["name"].astype(object) == "local_timer")
    # One that a window's edge cuts is in both windows, and began in one.
    since, until = int(piece.summary["start_ns"]), int(piece.summary["end_ns"])
    tick &= (rows["entry_ns"] >= since).fillna(False) & (rows["entry_ns"] < until).fillna(False)
    tick &= (rows["tid"].notna() & (rows["tid"] != 0)).fillna(False)
    ticks = rows[tick.astype(bool)][["cpu", "tid", "comm", "entry_ns"]].astype({"comm": object})
    ticks = ticks.astype({"entry_ns": "int64"}).sort_values("entry_ns", kind="stable")
    began = piece.softirqs[piece.softirqs["entry_ns"].notna()]
    began = pd.DataFrame(
        {
            "cpu": began["cpu"],
            "softirq_ns": began["entry_ns"].astype("int64"),
            "exit_ns": began["exit_ns"],
        }
    ).sort_values("softirq_ns", kind="stable")
    on = pd.merge_asof(ticks, began, left_on="entry_ns", right_on="softirq_ns", by="cpu")
    open_ = on["softirq_ns"].notna() & (on["exit_ns"] > on["entry_ns"]).fillna(True)
    on = on.assign(ticks=1, softirq_ticks=open_.astype("int64"))
    return on[list(dict.fromkeys([*keys, "ticks", "softirq_ticks"]))]

# How long tasks waited, runnable, for a CPU.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...stats.quantiles import spread
from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.by import TaskBy
from ...timeline.timeline import Timeline
from ..inputs import in_window, rows
from ..question import question
from ..stolen_time.lives import away_of, lived_by, names_then
from .endpoints import endpoints
from .keys import task_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..answer import Answer


@question(
    needs=("sched:sched_switch",),
    inputs=("slices",),
    main_columns=("tid", "comm", "cpu", "waited_after", "wait_share", "ns", "waits", "median_ns"),
)
def run_queue(timeline: Timeline, by: TaskBy = "tid") -> pd.DataFrame:
    """How long tasks waited, runnable, for a CPU, and why they had to.

    Parameters
    ----------
    timeline : Timeline
        What is asked.
    by : {"tid", "comm", "cpu"}
        What tells rows apart; "tid" and name; "cpu" is the one that they then got.

    Returns
    -------
    DataFrame
        A row per task and reason, falling by ns.

        - waited_after: "wake-up" (from being woken to running, the wake-up latency), "runnable" (it
          had left a CPU still runnable, preempted or at the end of its time), "unknown" (stays
          whose wait is not known: the first in the recording, across a loss, or all where the CPUs'
          clocks disagree; their times are NA).
        - waits: how many; ns: waited in all; mean_ns, median_ns, p90_ns, p99_ns (float), longest_ns
          (int64). A wait counts whole, where it ended.
        - waited_ns: of ns what lies in the window. wait_share, wait_max_share: waited_ns of
          lifetime_max_ns and of lifetime_ns, as lifetimes() has them; by "cpu" of the window.

    Raises
    ------
    ArgumentError
        For another by.
    MissingEventsError
        Without sched_switch.

    Notes
    -----
    Source: slices, and lives.
    """
    keys = task_keys(by)
    waits = waits_of(*rows(timeline, "slices"))
    if by != "cpu":
        waits["comm"] = names_then(waits, away_of(timeline))
    inside = in_window(waits["in_ns"], timeline)
    waits = waits[inside]
    frame = run_queue_from(waits, keys)
    of = [*keys, "waited_after"]
    # The time of its life that is compared is the window's.
    cut = (waits["in_ns"] - int(timeline.summary["start_ns"])).clip(lower=0)
    within = waits.assign(ns=waits["wait_ns"].clip(upper=cut)).groupby(of, dropna=False)["ns"]
    frame = frame.join(within.sum(min_count=1).rename("waited_ns"), on=of)
    lived = lived_by(timeline, by).astype("float64")
    at = pd.MultiIndex.from_frame(frame[keys]) if len(keys) > 1 else pd.Index(frame[keys[0]])
    ns = frame["waited_ns"].astype("Float64").astype("float64")
    for name, whole in (("wait_share", "lifetime_max_ns"), ("wait_max_share", "lifetime_ns")):
        time = lived[whole].reindex(at).reset_index(drop=True)
        frame[name] = ns / time.where(time > 0)
    return frame


def waits_of(slices: pd.DataFrame) -> pd.DataFrame:
    # The wait before each stay of a task: cpu, tid, comm, in_ns, waited_after, wait_ns (Int64).
    rows = of_tasks(slices)
    began = np.where(rows["wake_ns"].notna(), "wake-up", "runnable")
    return pd.DataFrame(
        {
            "cpu": rows["cpu"].astype("int64"),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
            "in_ns": rows["in_ns"],
            "waited_after": np.where(rows["wait_ns"].notna(), began, "unknown"),
            "wait_ns": rows["wait_ns"],
        }
    )


def run_queue_from(waits: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    # run_queue() on what waits_of() returns, without shares.
    groups = waits.groupby([*keys, "waited_after"], dropna=False)
    frame = groups.size().rename("waits").to_frame()
    known = waits[waits["wait_ns"].notna().to_numpy()]
    ns = known["wait_ns"].astype("int64").groupby([known[key] for key in [*keys, "waited_after"]])
    frame["ns"] = ns.sum().astype("Int64").reindex(frame.index)
    frame = frame.join(spread(ns).astype({"longest_ns": "Int64"})).reset_index()
    return frame.sort_values(
        "ns", ascending=False, kind="stable", ignore_index=True, na_position="last"
    )


def waited_within(slices: pd.DataFrame, window: tuple[int, int]) -> int:
    # Time that tasks waited in a window; a wait that began before it counts from its start.
    known = slices[slices["wait_ns"].notna().to_numpy()]
    ends = known["in_ns"].to_numpy(dtype="int64")
    begins = ends - known["wait_ns"].to_numpy(dtype="int64")
    return int((ends.clip(*window) - begins.clip(*window)).sum())


@run_queue.totals
def _totals(answer: "Answer[pd.DataFrame]") -> dict[str, list[int]]:
    return {"endpoints": list(endpoints(answer.timeline))}


def _subjects(answer: "Answer[pd.DataFrame]") -> list[int]:
    # Client and server where two tasks talk, else the two that waited longest.
    if "tid" not in answer.frame:
        return []
    known = answer.frame["tid"].dropna().unique()
    tids = [tid for tid in answer.parts["endpoints"] if tid in known]
    return tids or [int(tid) for tid in known[:2]]


@run_queue.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    # tasks: comm, tid, and its rows, of the name that it waited longest under.
    tasks = []
    for tid in _subjects(answer):
        rows = answer.frame[(answer.frame["tid"] == tid).to_numpy(dtype=bool)]
        rows = rows[(rows["comm"] == rows["comm"].iloc[0]) & rows["ns"].notna()]
        if len(rows):
            waits = rows.to_dict("records")
            tasks.append({"comm": waits[0]["comm"], "tid": tid, "waits": waits})
    return {"tasks": tasks, "known": bool(answer.frame["ns"].notna().any())}


@run_queue.plot(
    title="How long tasks waited for a CPU",
    height=2.8,
    panels=lambda answer: [{}] if answer.figures["tasks"] else [],
)
def _longer(ax: "Axes", answer: "Answer[pd.DataFrame]") -> None:
    from .plots import waits

    every = waits_of(*rows(answer.timeline, "slices"))
    waits(ax, every[every["tid"].isin(_subjects(answer)).to_numpy(dtype=bool)])

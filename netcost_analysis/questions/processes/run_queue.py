# How long tasks waited, runnable, for a CPU.

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ...stats.histogram import Histogram, histogram, merged, spread_of
from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.by import TaskBy
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import Window, added, window_of
from ..question import question
from ..stolen_time.lives import Names, lived_by, names_of
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
    found = _waits(
        timeline, keys=tuple(keys), names=_names(timeline, by), window=window_of(timeline)
    )
    frame = found.sums.reset_index()
    of = [*keys, "waited_after"]
    for name in ("ns", "waited_ns"):
        frame[name] = frame[name].astype("Int64").where(frame["known"] > 0)
    lengths = spread_of(found.lengths).astype({"longest_ns": "Int64"})
    frame = frame.drop(columns="known").join(lengths, on=of)
    frame = frame[[*of, "waits", "ns", *lengths, "waited_ns"]]
    frame = frame.sort_values(
        "ns", ascending=False, kind="stable", ignore_index=True, na_position="last"
    )
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


class _Waits(NamedTuple):
    # By keys and waited_after. sums: waits, how many; known, of how many the length is known; of
    # these ns and waited_ns (within the window). lengths: of the known ones.
    sums: pd.DataFrame
    lengths: Histogram


@fold("slices")
def _waits(
    before: _Waits | None,
    slices: pd.DataFrame,
    keys: tuple[str, ...],
    names: "Names | None",
    window: Window,
) -> _Waits:
    waits = waits_of(slices)
    waits = waits[window.has(waits["in_ns"])]
    if names is not None:
        waits["comm"] = names.then(waits)
    of = [*keys, "waited_after"]
    known = waits["wait_ns"].notna()
    # The time of its life that is compared is the window's.
    cut = (waits["in_ns"] - window.start_ns).clip(lower=0)
    ns = waits["wait_ns"].fillna(0).astype("int64")
    counted = waits[of].assign(waits=1, known=known, ns=ns, waited_ns=ns.clip(upper=cut))
    sums = counted.groupby(of, dropna=False).sum().astype("int64")
    lengths = histogram(ns[known], waits[of][known])
    if before is None:
        return _Waits(sums, lengths)
    return _Waits(added(before.sums, sums), merged(before.lengths, lengths))


def _names(timeline: Timeline, by: str) -> "Names | None":
    return None if by == "cpu" else names_of(timeline)


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

    timeline = answer.timeline
    names, window = names_of(timeline), window_of(timeline)
    lengths = _waits(timeline, keys=("tid", "comm"), names=names, window=window).lengths
    counts = lengths.counts.reset_index()
    waits(ax, counts[counts["tid"].isin(_subjects(answer)).to_numpy(dtype=bool)])

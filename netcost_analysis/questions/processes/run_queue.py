# How long tasks waited, runnable, for a CPU.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...frames import to_frame
from ...stats.histogram import Histogram, spread_of
from ...timeline.by import TaskBy
from ...timeline.lives import LIVES, lives_of
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..stolen_time.lives import lived_by
from .endpoints import endpoints
from .keys import task_keys

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@question(
    needs=("sched:sched_switch",),
    inputs=(LIVES,),
    columns=("tid", "comm", "cpu", "waited_after", "wait_share", "ns", "waits", "median_ns"),
)
def run_queue(timeline: Timeline, by: TaskBy = "tid") -> pd.DataFrame:
    """How long tasks waited, runnable, for a CPU, and why they had to.

    - by: What tells rows apart; "tid" and name; "cpu" is the one that they then got.

    A row per task and reason, falling by ns.

    - waited_after: "wake-up" (from being woken to running, the wake-up latency), "runnable" (it
      had left a CPU still runnable, preempted or at the end of its time), "unknown" (stays
      whose wait is not known: the first in the recording, across a loss, or all where the CPUs'
      clocks disagree; their times are NA).
    - waits: how many; ns: waited in all; mean_ns, median_ns, p90_ns, p99_ns (float), longest_ns
      (int64). A wait counts whole, where it ended.
    - waited_ns: of ns what lies in the window. wait_share, wait_max_share: waited_ns of
      lifetime_max_ns and of lifetime_ns, as lifetimes() has them; by "cpu" of the window.

    Source: slices, and lives.
    """
    keys = task_keys(by)
    found = _waits(timeline, tuple(keys))
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


class _Waits(NamedTuple):
    # By keys and waited_after. sums: waits, how many; known, of how many the length is known; of
    # these ns and waited_ns (within the window). lengths: of the known ones.
    sums: pd.DataFrame
    lengths: Histogram


@once
def _waits(timeline: Timeline, keys: tuple[str, ...]) -> _Waits:
    rows = to_frame(lives_of(timeline)["waits"])
    rows["comm"], rows["waited_after"] = (
        plain_names(rows["comm"]),
        rows["waited_after"].astype(object),
    )
    of = [*keys, "waited_after"]
    lengths = to_frame(lives_of(timeline)["wait_lengths"])
    rows = rows[rows["cpu"].isin(timeline.summary["cpus"])]
    rows["known"] = lengths.groupby("group")["count"].sum().reindex(rows.index, fill_value=0)
    sums = rows.groupby(of, dropna=False)[["waits", "known", "ns", "waited_ns"]].sum()
    known = rows[rows["known"] > 0]
    counts = lengths.merge(known[of], left_on="group", right_index=True)
    counts = counts.groupby([*of, "low", "high"], dropna=False)[["count", "total"]].sum()
    totals = known.groupby(of, dropna=False).agg(
        count=("known", "sum"), total=("ns", "sum"), least=("least", "min"), most=("most", "max")
    )
    is_binned = bool((lengths["high"] > lengths["low"]).any())
    return _Waits(sums, Histogram(counts, totals.astype("int64"), is_binned))


@run_queue.totals
def _totals(answer: "Answer") -> dict[str, list[int]]:
    return {"endpoints": list(endpoints(answer.timeline))}


def _subjects(answer: "Answer") -> list[int]:
    # Client and server where two tasks talk, else the two that waited longest.
    if "tid" not in answer.frame:
        return []
    known = answer.frame["tid"].dropna().unique()
    tids = [tid for tid in answer.parts["endpoints"] if tid in known]
    return tids or [int(tid) for tid in known[:2]]


@run_queue.figures
def _figures(answer: "Answer") -> dict[str, Any]:
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
def _longer(ax: "Axes", answer: "Answer") -> None:
    from .plots import waits

    lengths = _waits(answer.timeline, ("tid", "comm")).lengths
    counts = lengths.counts.reset_index()
    waits(ax, counts[counts["tid"].isin(_subjects(answer)).to_numpy(dtype=bool)])

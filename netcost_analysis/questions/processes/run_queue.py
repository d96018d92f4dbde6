# How long tasks waited, runnable, for a CPU.

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...frames import to_frame
from ...stats.histogram import Histogram, spread_of
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.lives import LIVES, lived_by, lives_of
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from .endpoints import endpoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@question(
    needs=("sched:sched_switch",),
    inputs=(LIVES, OF_EXCERPT),
    columns=("tid", "comm", "cpu", "waited_after", "wait_share", "ns", "waits", "median_ns"),
)
def run_queue(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """How long runnable tasks waited for a CPU, and why they had to.

    A row per task, or per CPU that it then got, and reason (waited_after), most ns first. A wait
    counts whole, where it ended; waited_ns is the part of it within the window. The times of
    "unknown" waits are NA: the first in the recording, waits across a loss, or all where the CPUs'
    clocks disagree. Shares are of the lifetime, as in lifetimes(); by "cpu" of the window. `tasks`:
    the known rows of client and server where two tasks talk, else of the two that waited longest.
    Source: slices, and lives.
    """
    check_by(by, TaskBy)
    keys = victim_keys(by)
    waits = _waits(timeline, tuple(keys))
    frame = waits.sums.reset_index()
    of = [*keys, "waited_after"]
    for name in ("ns", "waited_ns"):
        frame[name] = frame[name].astype("Int64").where(frame["known"] > 0)
    lengths = spread_of(waits.lengths).astype({"longest_ns": "Int64"})
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
    tids = list(endpoints(timeline))
    return Answer(frame, tasks=_waits_of(frame, tids) if by == "tid" else frame[:0], endpoints=tids)


def _waits_of(frame: pd.DataFrame, tids: list[int]) -> pd.DataFrame:
    # Of each task the rows of the name under which it waited longest.
    known = frame["tid"].dropna().unique().tolist()
    chosen = [tid for tid in tids if tid in known] or known[:2]
    own = frame[frame["tid"].isin(chosen).to_numpy(dtype=bool)]
    own = own[(own["comm"] == own.groupby("tid")["comm"].transform("first")) & own["ns"].notna()]
    return own.sort_values("tid", key=lambda tid: tid.map(chosen.index), kind="stable")


class _Waits(NamedTuple):
    # By keys and waited_after. sums: how many waits, how many of known length, and of these ns and
    # waited_ns (within the window). lengths: of the known ones.
    sums: pd.DataFrame
    lengths: Histogram


@once
def _waits(timeline: Timeline, keys: tuple[str, ...]) -> _Waits:
    rows = to_frame(lives_of(timeline)["waits"])
    rows["comm"], rows["waited_after"] = map(plain_names, (rows["comm"], rows["waited_after"]))
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


@run_queue.plot(
    title="How long tasks waited for a CPU",
    height=2.8,
    panels=lambda answer: [{}] if len(answer["tasks"]) else [],
)
def _longer(ax: "Axes", answer: Answer) -> None:
    from .plots import waits

    counts = _waits(answer.timeline, ("tid", "comm")).lengths.counts.reset_index()
    waits(ax, counts[counts["tid"].isin(answer["tasks"]["tid"]).to_numpy(dtype=bool)])

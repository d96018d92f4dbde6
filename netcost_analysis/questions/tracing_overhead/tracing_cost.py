# What tracing took from each CPU and victim, and the figures of stolen() without it.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...frames import to_frame
from ...progress import progress
from ...timeline.aggregates import Aggregate
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import of_tasks, sums_by_thief, victim_index, within_figures
from ...timeline.reading import once
from ...timeline.task import Task, by_of, row_name, rows_of
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import unrecorded_ns
from ..victim import asked_or_chosen, not_by_cpu
from .event_cost import chosen, event_cost

if TYPE_CHECKING:
    from ..._native import ArrowTable

COSTS = ("cost_low_ns", "cost_ns", "cost_high_ns")
_OWNER = ["cpu", "tid", "comm", "context", "id", "name", "device", "cost_class", "is_network"]


@dataclass(frozen=True, eq=False)
class Charged:
    """Native's aggregate of events by owner, with what they cost.

    times: of the events. end_ns: of the window. hidden_ns: time that a coarse clock may hide
    between two events. costs: of an event.
    """

    times: "ArrowTable"
    end_ns: int
    hidden_ns: int
    costs: tuple[float, ...]


CHARGED = Aggregate[Charged | None](lambda _: None)


@once
def events_by_owner(timeline: Timeline) -> pd.DataFrame:
    # The owners of time, as in the sums, with their events and what these cost (COSTS), float64. A
    # large capture is counted in a part from its middle and scaled up. An event at the start of a
    # segment belongs to it: most of the cost comes after the timestamp. It costs no more than the
    # time to the next event on its CPU.
    cost = chosen(event_cost(timeline.capture).frame)
    each = {name: cost[f"event_{name.removeprefix('cost_')}"] for name in COSTS}
    known = {name: float(ns) for name, ns in each.items() if not pd.isna(ns)}
    detail = timeline.excerpt
    start_ns, end_ns = (int(detail.summary[name]) for name in ("start_ns", "end_ns"))
    with progress("decoding") as advance:
        native = detail.capture.native
        times = native.event_times(start_ns, end_ns, detail.summary["cpus"], advance)
    hidden_ns = int(detail.summary["resolution_ns"] or 1) - 1
    wanted = Charged(times, end_ns, hidden_ns, tuple(known.values()))
    owners = to_frame(CHARGED.take(detail, wanted)["owners"])
    owners = owners.rename(columns={f"cost_{place}": name for place, name in enumerate(known)})
    owners = owners.assign(segments=0, **dict.fromkeys([*{*COSTS} - {*known}], np.nan))
    keys = owners[_OWNER].astype(dict.fromkeys(owners.select_dtypes("category"), object))
    figures = owners[["ns", "segments"]].join(owners[["events", *COSTS]].astype("float64"))
    frame = keys.join(figures).groupby(_OWNER, dropna=False).sum(min_count=1).reset_index()
    if detail is not timeline and detail.duration_ns:
        frame[["events", *COSTS]] *= timeline.duration_ns / detail.duration_ns
    return frame


@question(
    inputs=(CHARGED,),
    columns=(
        *("cpu", "comm", "cost_low_share", "cost_high_share", "cost_share", "events_per_s"),
        *("cost_low_ns", "cost_high_ns"),
    ),
)
def tracing_cost(timeline: Timeline, by: By = "cpu") -> Answer:
    """What tracing took from each CPU or victim.

    A row per CPU or victim, most events first. For a CPU all of its time counts, idle time too; for
    others the tasks' time on a CPU ("device" is as "comm"). The cost is the number of events times
    the cost of one, or the ends of that. No event costs more than the time to that CPU's next
    event, and its cost is charged to the owner of that time. Source: every recorded tracepoint,
    segments, event_cost. For a large capture, the events of a stretch from its middle are scaled
    up.
    """
    check_by(by)
    costs, keys = event_cost(timeline.capture).frame, victim_keys(by)
    cost = chosen(costs)
    rows = events_by_thief(timeline, by)
    whole = timeline.sums_by_thief(by)
    if by != "cpu":
        rows, whole = of_tasks(rows), of_tasks(whole)
    frame = rows.groupby(keys, dropna=False)[["events", *COSTS]].sum(min_count=1)
    frame["ns"] = whole.groupby(keys, dropna=False)["ns"].sum().reindex(frame.index)
    seconds = frame["ns"].astype("float64") / 1e9
    known = by == "cpu" or not timeline.missing["on_cpu"]
    frame.insert(1, "events_per_s", frame["events"] / seconds.where((seconds > 0) & known))
    frame = shared(frame, known)
    frame["source"] = sources(cost, rows, keys).reindex(frame.index)
    frame = frame.drop(columns="ns").sort_values("events", ascending=False, kind="stable")
    in_all = None
    if by == "cpu":
        # The cost as a share of the CPUs' time: NaN for an empty window. share: None for a range.
        cpus_ns = len(frame) * timeline.duration_ns or float("nan")
        low, share, high = (frame[list(COSTS)].sum().astype("float64") / cpus_ns).tolist()
        in_all = {"events": int(frame["events"].sum()), "share": share or None}
        in_all |= {"low_share": low, "high_share": high}
    return Answer(frame, in_all=in_all, costs=costs)


def sources(cost: "pd.Series[Any]", events: pd.DataFrame, keys: list[str]) -> "pd.Series[str]":
    # By victim, the source of the cost. events: of events_by_thief(). A cost measured on one CPU is
    # an extrapolation to others, whose caches and clock speed may differ.
    source, cpu = str(cost["source"]), cost["cpu"]
    elsewhere = (events["events"] > 0) & (not pd.isna(cpu) and events["cpu"] != cpu)
    far = elsewhere.groupby([events[key] for key in keys], dropna=False).any()
    return far.map({False: source, True: f"{source} of CPU {cpu}, extrapolated"})


def events_by_thief(timeline: Timeline, by: By) -> pd.DataFrame:
    # events_by_owner() in the form of sums_by_thief().
    events = events_by_owner(timeline)
    return sums_by_thief(events, by).assign(**{name: events[name] for name in ("events", *COSTS)})


def shared(frame: pd.DataFrame, known: bool) -> pd.DataFrame:
    # Costs in whole ns and as shares of ns, which they never exceed: with coarse timestamps the
    # gaps between events could add up to more.
    frame = frame.assign(events=frame["events"].round().astype("int64"))
    ns = frame["ns"].astype("float64")
    for name in COSTS:
        frame[name] = frame[name].astype("float64").clip(upper=ns)
        share = name.replace("_ns", "_share")
        frame[share] = frame[name] / ns.where((ns > 0) & known)
        frame[name] = frame[name].round().astype("Int64")
    return frame


# A figure with a larger share of tracing is doubtful.
DOUBTFUL_SHARE = 0.05
# The figures that the summary is about; the last only where nothing is surely network.
_WARNED = ("on_cpu_ns", "task_ns", "stolen_ns", "stolen_network_ns", "stolen_network_max_ns")
_CORRECTED = {
    "corrected_ns": "cost_ns",
    "corrected_low_ns": "cost_high_ns",
    "corrected_high_ns": "cost_low_ns",
}


@question(
    inputs=(CHARGED,),
    columns=(
        *("comm", "figure", "ns", "corrected_low_ns", "corrected_high_ns", "doubtful"),
        *("cost_low_share", "cost_high_share", "corrected_ns", "events"),
    ),
)
def corrected_stolen(timeline: Timeline, by: By = "comm", victim: Task | None = None) -> Answer:
    """The figures of stolen(), with and without the cost of tracing.

    A row per victim and figure of stolen, victims by falling time on CPU. Without sched_switch
    on_cpu_ns and task_ns have no rows. A softirq's traced time includes the cost of the events
    within it, so the cost of each context's own events is subtracted from its time. No more is
    subtracted than there is, and low is for the highest cost of an event. A tid makes by "tid".
    Source: as tracing_cost.
    """
    check_by(by)
    not_by_cpu(by, victim)
    victim = asked_or_chosen(timeline, victim, by)
    if by_of(victim) == "tid":
        by = "tid"
    frame = rows_of(_corrected(timeline, by), victim).reset_index(drop=True)
    name = row_name(timeline, victim)
    # By tid several tasks may share the name; the first one ran longest.
    own = frame[frame["comm"] == name] if name else frame[:0]
    own = own[own["figure"].isin(_WARNED)].drop_duplicates("figure")
    if (own["figure"] == "stolen_network_ns").any():
        own = own[own["figure"] != "stolen_network_max_ns"]
    columns = ["comm", "figure", "doubtful", "cost_low_share", "cost_high_share"]
    doubts = own.loc[own["doubtful"] != "no"].reindex(columns=columns)
    return Answer(frame, doubts=doubts)


@once
def _corrected(timeline: Timeline, by: By) -> pd.DataFrame:
    keys = victim_keys(by)
    cost = chosen(event_cost(timeline.capture).frame)
    events, rows = events_by_thief(timeline, by), timeline.sums_by_thief(by)
    tasks, traced = of_tasks(rows), of_tasks(events)
    inside, of_events = within_figures(tasks), within_figures(traced)
    totals = ["events", *COSTS]
    none = {name: 0.0 for name in totals if traced[name].notna().any()}
    # What was not recorded has no events, so no cost of tracing.
    missing = unrecorded_ns(timeline, by)
    unseen = pd.DataFrame(
        [missing.total(task) for task in missing.each],
        index=victim_index(list(missing.each), by),
        columns=["stolen_max_ns", "stolen_network_max_ns"],
    )
    parts = []
    for figure, mask in inside.items():
        ns = tasks[mask].groupby(keys, dropna=False)["ns"].sum()
        if figure in unseen and len(unseen):
            ns = ns.add(unseen[figure], fill_value=0).astype("int64").rename("ns")
        count = traced[of_events[figure]].groupby(keys, dropna=False)[totals].sum(min_count=1)
        count = count.reindex(ns.index).fillna({"events": 0.0} | none)
        parts.append(ns.to_frame().join(count).reset_index().assign(figure=figure))
    frame = pd.concat(parts, ignore_index=True)[[*keys, "figure", "ns", *totals]]
    frame = frame[frame["ns"] > 0]
    if timeline.missing["on_cpu"]:
        frame = frame[~frame["figure"].isin(["on_cpu_ns", "task_ns"])]
    frame = shared(frame, True)
    for name, end in _CORRECTED.items():
        frame[name] = (frame["ns"] - frame[end]).clip(lower=0)
    high, low = (frame[f"cost_{end}_share"] > DOUBTFUL_SHARE for end in ("high", "low"))
    frame["doubtful"] = np.select([low, high], ["yes", "perhaps"], "no")
    order = -frame.groupby(keys, dropna=False)["ns"].transform("max")
    place = frame["figure"].map({name: place for place, name in enumerate(inside)})
    frame = frame.assign(order=order, place=place)
    frame = frame.sort_values(["order", *keys, "place"], kind="stable", ignore_index=True)
    frame = frame.drop(columns=["order", "place", *COSTS])
    frame = frame.join(sources(cost, traced, keys).rename("source"), on=keys)
    return frame.fillna({"source": cost["source"]})


_NETWORK = ("stolen_network_ns", "stolen_network_max_ns")


@question(
    inputs=(CHARGED,),
    columns=("comm", "figure", "ns", "doubtful", "cost_low_share", "cost_high_share"),
    rows=0,
)
def network_overhead(timeline: Timeline, victim: Task | None = None) -> Answer:
    """How much of the time that packet processing took from a victim is tracing itself.

    A row per victim: corrected_stolen's row of stolen_network_ns, or of stolen_network_max_ns for a
    victim without any. Source: corrected_stolen.
    """
    rows = corrected_stolen(timeline, victim=victim).frame
    rows = rows[rows["figure"].isin(_NETWORK)]
    keys = [name for name in ("tid", "comm") if name in rows.columns]
    # The rows are in this order: what is surely network comes first.
    rows = rows.drop_duplicates(keys, ignore_index=True)
    name = row_name(timeline, asked_or_chosen(timeline, victim))
    return Answer(rows, of_victim=rows[rows["comm"] == name][:1], limit_share=DOUBTFUL_SHARE)

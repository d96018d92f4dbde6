"""What the figures of stolen() would be without the cost of tracing."""

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import of_tasks, victim_index, within_figures
from ...timeline.reading import once
from ...timeline.task import Task, by_of, row_name, rows_of
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import unrecorded_ns
from ..moments import OWNERS
from ..victim import asked_or_chosen, not_by_cpu
from .event_cost import chosen, event_cost
from .event_counts import COSTS, events_by_owner
from .tracing_cost import events_by_thief, shared, sources

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
    inputs=(OWNERS,),
    columns=(
        *("comm", "figure", "ns", "corrected_low_ns", "corrected_high_ns", "doubtful"),
        *("cost_low_share", "cost_high_share", "corrected_ns", "events"),
    ),
)
def corrected_stolen(timeline: Timeline, by: By = "comm", victim: Task | None = None) -> Answer:
    """The figures of stolen() beside the same figures without the cost of tracing.

    A row per victim and figure of stolen, victims by falling time on CPU. Without sched_switch
    on_cpu_ns and task_ns have no rows. A softirq's traced time includes the cost of the events
    within it, so the cost of each context's own events is subtracted from its time. No more is
    subtracted than there is, and low is where an event costs most. A tid makes by "tid". Source: as
    tracing_cost.
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
    events, rows = events_by_thief(events_by_owner(timeline, cost), by), timeline.sums_by_thief(by)
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

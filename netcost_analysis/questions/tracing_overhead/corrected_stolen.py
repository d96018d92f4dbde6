"""What the figures of stolen() would be without the cost of tracing."""

from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ...answers.question import question
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import of_tasks, within_figures
from ...timeline.reading import once
from ...timeline.task import Task, by_of, row_name, rows_of
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import Unrecorded, unrecorded_ns
from ..moments import OWNERS
from ..victim import asked_or_chosen, not_by_cpu, victim_of
from .counts import COSTS, counted
from .event_cost import chosen, event_cost
from .tracing_cost import events_by_thief, shared, sources

if TYPE_CHECKING:
    from ...answers.answer import Answer

# A figure of which tracing is more than this is not to be taken as it is.
DOUBTFUL_SHARE = 0.05
# The figures that the words are about.
NAMES = {
    "on_cpu_ns": "on CPU",
    "task_ns": "the task itself",
    "stolen_ns": "stolen",
    "stolen_network_ns": "stolen, network",
    "stolen_network_max_ns": "stolen, perhaps network",
}
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
@once
def corrected_stolen(
    timeline: Timeline, by: By = "comm", victim: Task | None = None
) -> pd.DataFrame:
    """The figures of stolen() beside what they would be without the cost of tracing.

    - by: How victims are told apart ("device" is as "comm").
    - victim: A task by tid, which makes by "tid", or comm; ALL for every task. None: the timeline's
      (Timeline.victim). By CPU there is none but ALL.

    A row per victim and figure, victims falling by time on CPU: the victim's keys, figure (a column
    of stolen(): on_cpu_ns, task_ns, stolen_ns, stolen_max_ns, stolen_network_ns,
    stolen_network_max_ns, synchronous_ns, scheduled_ns), ns (as there), events (int64, in that
    time), cost_share, cost_low_share, cost_high_share (of ns), corrected_ns, corrected_low_ns,
    corrected_high_ns (Int64: ns less the events' cost, never below 0; low where an event costs
    most; NA where the cost is a range only), doubtful (whether tracing is more than 5 % of the
    figure: "yes" at the low end of the cost already, "perhaps" at its high end, else "no"), source
    (of event_cost). Without sched_switch on_cpu_ns and task_ns have no rows.

    A softirq's traced time holds the cost of the events within it, so each context's own events are
    taken from it. Source: as tracing_cost().
    """
    check_by(by)
    not_by_cpu(by, victim)
    victim = asked_or_chosen(timeline, victim, by)
    if by_of(victim) == "tid":
        by = "tid"
    cost = chosen(event_cost(timeline.capture))
    events = events_by_thief(counted(timeline, cost), by)
    rows, keys = timeline.sums_by_thief(by), victim_keys(by)
    missing = unrecorded_ns(timeline, by)
    frame = corrected_from(events, rows, keys, not timeline.missing["on_cpu"], missing)
    named = sources(cost, of_tasks(events), keys).rename("source")
    frame = frame.join(named, on=keys)
    frame["source"] = frame["source"].fillna(cost["source"])
    return rows_of(frame, victim).reset_index(drop=True)


def corrected_from(
    events: pd.DataFrame,
    rows: pd.DataFrame,
    keys: list[str],
    on_cpu_known: bool,
    missing: Unrecorded,
) -> pd.DataFrame:
    # events, rows: of events_by_thief() and sums_by_thief(). What was not recorded was not traced:
    # it has no events, and no cost of any.
    tasks, told = of_tasks(rows), of_tasks(events)
    inside, of_events = within_figures(tasks), within_figures(told)
    totals = ["events", *COSTS]
    none = {name: 0.0 for name in totals if told[name].notna().any()}
    unseen = {
        "stolen_max_ns": missing.ns.sum(axis=1),
        "stolen_network_max_ns": missing.ns[missing.network].sum(axis=1),
    }
    parts = []
    for figure, mask in inside.items():
        ns = tasks[mask].groupby(keys, dropna=False)["ns"].sum()
        if figure in unseen and len(missing.ns):
            ns = ns.add(unseen[figure], fill_value=0).astype("int64").rename("ns")
        count = told[of_events[figure]].groupby(keys, dropna=False)[totals].sum(min_count=1)
        count = count.reindex(ns.index).fillna({"events": 0.0} | none)
        parts.append(ns.to_frame().join(count).reset_index().assign(figure=figure))
    frame = pd.concat(parts, ignore_index=True)[[*keys, "figure", "ns", *totals]]
    frame = frame[frame["ns"] > 0]
    if not on_cpu_known:
        frame = frame[~frame["figure"].isin(["on_cpu_ns", "task_ns"])]
    frame = shared(frame, True)
    for name, end in _CORRECTED.items():
        frame[name] = (frame["ns"] - frame[end]).clip(lower=0)
    frame["doubtful"] = "no"
    frame.loc[frame["cost_high_share"] > DOUBTFUL_SHARE, "doubtful"] = "perhaps"
    frame.loc[frame["cost_low_share"] > DOUBTFUL_SHARE, "doubtful"] = "yes"
    order = -frame.groupby(keys, dropna=False)["ns"].transform("max")
    place = frame["figure"].map({name: place for place, name in enumerate(inside)})
    frame = frame.assign(order=order, place=place)
    frame = frame.sort_values(["order", *keys, "place"], kind="stable", ignore_index=True)
    return frame.drop(columns=["order", "place", *COSTS])


class Doubtful(NamedTuple):
    """A figure by its name, and the share of it that tracing is: at least, or at most."""

    figure: str
    share: float


class Doubts(NamedTuple):
    """Figures of a victim of which tracing is more than DOUBTFUL_SHARE: surely, and perhaps."""

    victim: str | None
    surely: list[Doubtful]
    perhaps: list[Doubtful]


@corrected_stolen.figures
def doubts(answer: "Answer") -> Doubts:
    frame, victim = answer.frame, row_name(answer.timeline, victim_of(answer))
    own = frame[(frame["comm"] == victim) & frame["figure"].isin(NAMES)] if victim else frame[:0]
    # By tid several tasks may have the name: the first had most.
    own = own.drop_duplicates("figure")
    if (own["figure"] == "stolen_network_ns").any():
        # What may be network is told where nothing surely is.
        own = own[own["figure"] != "stolen_network_max_ns"]
    found = {
        doubtful: [
            Doubtful(NAMES[figure], float(share))
            for figure, share in own.loc[own["doubtful"] == doubtful, ["figure", end]].to_numpy()
        ]
        for doubtful, end in (("yes", "cost_low_share"), ("perhaps", "cost_high_share"))
    }
    return Doubts(victim, found["yes"], found["perhaps"])

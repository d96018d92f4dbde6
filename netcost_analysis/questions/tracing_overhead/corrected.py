"""What tracing took, per CPU and per victim, and what the figures would be without it."""

from typing import Any, NamedTuple

import pandas as pd

from ...timeline.aggregate import of_tasks, tally, within_figures
from ...timeline.by import By, check_by, victim_keys
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import Unrecorded, unrecorded_ns
from ..question import question
from .cost import chosen, event_cost
from .counts import COSTS, counted

# A result of which tracing is more than this is not to be taken as it is.
MUCH = 0.05
_CORRECTED = {
    "corrected_ns": "cost_ns",
    "corrected_low_ns": "cost_high_ns",
    "corrected_high_ns": "cost_low_ns",
}


@question(
    main_columns=(
        *("cpu", "comm", "cost_low_share", "cost_high_share", "cost_share", "events_per_s"),
        *("cost_low_ns", "cost_high_ns"),
    )
)
def tracing_cost(timeline: Timeline, by: By = "cpu") -> pd.DataFrame:
    """What the tracing of events took from each CPU or victim.

    by: "cpu" for all of a CPU's time, idle time too; "comm" or "tid" for the tasks' time on a CPU
    ("device" is as "comm"). Returns a row for each, indexed by its keys, falling by events: events
    (int64), events_per_s (of the CPU's window, or of the task's time on CPU), cost_ns,
    cost_low_ns, cost_high_ns (Int64), cost_share, cost_low_share, cost_high_share (of the same
    time; NaN where unknown), source (of event_cost; where that was measured on one CPU and some of
    the events were on another, "calibration, load of CPU 1, extrapolated").

    The cost is events times event_ns, or its ends; but no event costs more than the time from it to
    that CPU's next event, and what it costs is of whoever has that time. Raises ValueError for
    another by, CaptureError as the timeline does. Source: every recorded tracepoint, segments,
    event_cost; of a large capture the events of a stretch from its middle, scaled up.
    """
    check_by(by)
    cost, keys = chosen(event_cost(timeline.capture)), victim_keys(by)
    rows = tallied(counted(timeline, cost), by)
    whole = timeline.tally(by)
    if by != "cpu":
        rows, whole = of_tasks(rows), of_tasks(whole)
    frame = rows.groupby(keys, dropna=False)[["events", *COSTS]].sum(min_count=1)
    frame["ns"] = whole.groupby(keys, dropna=False)["ns"].sum().reindex(frame.index)
    seconds = frame["ns"].astype("float64") / 1e9
    known = by == "cpu" or timeline.has_switches
    frame.insert(1, "events_per_s", frame["events"] / seconds.where((seconds > 0) & known))
    frame = shared(frame, known)
    frame["source"] = sources(cost, rows, keys).reindex(frame.index)
    return frame.drop(columns="ns").sort_values("events", ascending=False, kind="stable")


@question(
    main_columns=(
        "comm",
        "figure",
        "ns",
        "corrected_low_ns",
        "corrected_high_ns",
        "much",
        "cost_low_share",
    )
)
def corrected_stolen(timeline: Timeline, by: By = "comm") -> pd.DataFrame:
    """The figures of stolen() beside what they would be without the cost of tracing.

    by: "comm", "tid" or "cpu" ("device" is as "comm"). Returns a row per victim and figure, victims
    falling by time on CPU: the victim's keys, figure (a column of stolen(): on_cpu_ns, task_ns,
    stolen_ns, stolen_max_ns, stolen_network_ns, stolen_network_max_ns, synchronous_ns,
    scheduled_ns), ns (as there), events (int64, in that time), cost_share, cost_low_share,
    cost_high_share (of ns), corrected_ns, corrected_low_ns, corrected_high_ns (Int64: ns less the
    events' cost, never below 0; low where an event costs most; NA where the cost is a range only),
    much (whether tracing is more than 5 % of the figure: "yes" at the low end of the cost already,
    "perhaps" at its high end, else "no"), source (of event_cost).

    A softirq's traced time holds the cost of the events within it, so each context's own events are
    taken from it. Without sched_switch on_cpu_ns and task_ns have no rows. Raises ValueError for
    another by, CaptureError as the timeline does. Source: as tracing_cost.
    """
    check_by(by)
    cost = chosen(event_cost(timeline.capture))
    events = tallied(counted(timeline, cost), by)
    rows, keys = timeline.tally(by), victim_keys(by)
    missing = unrecorded_ns(timeline, by)
    frame = corrected_from(events, rows, keys, timeline.has_switches, missing)
    named = sources(cost, of_tasks(events), keys).rename("source")
    frame = frame.join(named, on=keys)
    frame["source"] = frame["source"].fillna(cost["source"])
    return frame


def sources(cost: "pd.Series[Any]", events: pd.DataFrame, keys: list[str]) -> "pd.Series[str]":
    # By victim where the cost is from. events: as tallied() returns them. A cost that was measured
    # on one CPU is an extrapolation to any other: caches and clock speed are its own.
    own, there = str(cost["source"]), cost["cpu"]
    known = not pd.isna(there)
    elsewhere = (events["events"] > 0) & (events["cpu"] != (int(there) if known else -1)) & known
    far = elsewhere.groupby([events[key] for key in keys], dropna=False).any()
    return far.map({False: own, True: f"{own} of CPU {there}, extrapolated"})


def tallied(events: pd.DataFrame, by: By) -> pd.DataFrame:
    # What counted() returns, as tally() returns the sums.
    return tally(events, by).assign(**{name: events[name] for name in ("events", *COSTS)})


def corrected_from(
    events: pd.DataFrame,
    rows: pd.DataFrame,
    keys: list[str],
    has_switches: bool,
    missing: Unrecorded,
) -> pd.DataFrame:
    # corrected_stolen() on what tallied(), tally() and unrecorded_ns() return. What was not
    # recorded was not traced: it has no events, and no cost of any.
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
    if not has_switches:
        frame = frame[~frame["figure"].isin(["on_cpu_ns", "task_ns"])]
    frame = shared(frame, True)
    for name, end in _CORRECTED.items():
        frame[name] = (frame["ns"] - frame[end]).clip(lower=0)
    frame["much"] = "no"
    frame.loc[frame["cost_high_share"] > MUCH, "much"] = "perhaps"
    frame.loc[frame["cost_low_share"] > MUCH, "much"] = "yes"
    order = -frame.groupby(keys, dropna=False)["ns"].transform("max")
    place = frame["figure"].map({name: place for place, name in enumerate(inside)})
    frame = frame.assign(order=order, place=place)
    frame = frame.sort_values(["order", *keys, "place"], kind="stable", ignore_index=True)
    return frame.drop(columns=["order", "place", *COSTS])


def shared(frame: pd.DataFrame, known: bool) -> pd.DataFrame:
    # Costs in whole ns, no more than ns, and as shares of it. With times in steps the gaps between
    # events are known by a step each, which would add up to more.
    frame = frame.assign(events=frame["events"].round().astype("int64"))
    ns = frame["ns"].astype("float64")
    for name in COSTS:
        frame[name] = frame[name].astype("float64").clip(upper=ns)
        share = name.replace("_ns", "_share")
        frame[share] = frame[name] / ns.where((ns > 0) & known)
        frame[name] = frame[name].round().astype("Int64")
    return frame


class InAll(NamedTuple):
    """The events of all CPUs, and their cost as a share of these CPUs' time.

    share: None where the cost is a range only; all NaN for no window.
    """

    events: int
    share: float | None
    low_share: float
    high_share: float


def in_all(by_cpu: pd.DataFrame, window_ns: int) -> InAll:
    """Sums over tracing_cost() by CPU. window_ns: the timeline's length."""
    whole = len(by_cpu) * window_ns or float("nan")
    total = by_cpu[["cost_ns", "cost_low_ns", "cost_high_ns"]].sum().astype("float64") / whole
    return InAll(
        int(by_cpu["events"].sum()),
        float(total["cost_ns"]) or None,
        float(total["cost_low_ns"]),
        float(total["cost_high_ns"]),
    )

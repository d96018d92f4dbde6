"""What tracing took from each CPU and victim."""

from typing import Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import of_tasks, sums_by_thief
from ...timeline.timeline import Timeline
from ..moments import OWNERS
from .event_cost import chosen, event_cost
from .event_counts import COSTS, events_by_owner


@question(
    inputs=(OWNERS,),
    columns=(
        *("cpu", "comm", "cost_low_share", "cost_high_share", "cost_share", "events_per_s"),
        *("cost_low_ns", "cost_high_ns"),
    ),
)
def tracing_cost(timeline: Timeline, by: By = "cpu") -> Answer:
    """What the tracing of events took from each CPU or victim.

    A row per CPU or victim, most events first. For a CPU all its time counts, idle time too; for
    others the tasks' time on a CPU ("device" is as "comm"). The cost is the number of events times
    the cost of one, or the ends of that. No event costs more than the time from it to that CPU's
    next event, and its cost is charged to the owner of that time. Source: every recorded
    tracepoint, segments, event_cost; of a large capture the events of a stretch from its middle,
    scaled up.
    """
    check_by(by)
    costs, keys = event_cost(timeline.capture).frame, victim_keys(by)
    cost = chosen(costs)
    rows = events_by_thief(events_by_owner(timeline, cost), by)
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
    in_all = _in_all(frame, timeline.duration_ns) if by == "cpu" else None
    return Answer(frame, in_all=in_all, costs=costs)


def _in_all(by_cpu: pd.DataFrame, window_ns: int) -> dict[str, Any]:
    # The events of all CPUs, and their cost as a share of the CPUs' time: NaN for an empty window.
    # share: None where the cost is only a range.
    whole = len(by_cpu) * window_ns or float("nan")
    low, share, high = (by_cpu[list(COSTS)].sum().astype("float64") / whole).tolist()
    events = int(by_cpu["events"].sum())
    return {"events": events, "share": share or None, "low_share": low, "high_share": high}


def sources(cost: "pd.Series[Any]", events: pd.DataFrame, keys: list[str]) -> "pd.Series[str]":
    # By victim, the source of the cost. events: of events_by_thief(). A cost measured on one CPU is
    # an extrapolation to others, whose caches and clock speed may differ.
    source, cpu = str(cost["source"]), cost["cpu"]
    elsewhere = (events["events"] > 0) & (not pd.isna(cpu) and events["cpu"] != cpu)
    far = elsewhere.groupby([events[key] for key in keys], dropna=False).any()
    return far.map({False: source, True: f"{source} of CPU {cpu}, extrapolated"})


def events_by_thief(events: pd.DataFrame, by: By) -> pd.DataFrame:
    # events_by_owner() in the form of sums_by_thief().
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

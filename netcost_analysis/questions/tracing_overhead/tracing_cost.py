"""What tracing took from each CPU and victim."""

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...timeline.by import By, check_by, victim_keys
from ...timeline.owners import of_tasks, sums_by_thief
from ...timeline.timeline import Timeline
from ...units import absent
from ..moments import OWNERS
from .counts import COSTS, counted
from .event_cost import chosen, event_cost

if TYPE_CHECKING:
    from ...answers.answer import Answer


@question(
    inputs=(OWNERS,),
    columns=(
        *("cpu", "comm", "cost_low_share", "cost_high_share", "cost_share", "events_per_s"),
        *("cost_low_ns", "cost_high_ns"),
    ),
)
def tracing_cost(timeline: Timeline, by: By = "cpu") -> pd.DataFrame:
    """What the tracing of events took from each CPU or victim.

    - by: "cpu" for all of a CPU's time, idle time too; "comm" or "tid" for the tasks' time on a CPU
      ("device" is as "comm").

    A row for each, indexed by its keys, falling by events: events (int64), events_per_s (of the
    CPU's window, or of the task's time on CPU), cost_ns, cost_low_ns, cost_high_ns (Int64),
    cost_share, cost_low_share, cost_high_share (of the same time, NaN where unknown), source (of
    event_cost; where that was measured on one CPU and some of the events were on another,
    "calibration, load of CPU 1, extrapolated").

    The cost is events times event_ns, or its ends; but no event costs more than the time from it to
    that CPU's next event, and what it costs is of whoever has that time. Source: every recorded
    tracepoint, segments, event_cost(); of a large capture the events of a stretch from its middle,
    scaled up.
    """
    check_by(by)
    cost, keys = chosen(event_cost(timeline.capture)), victim_keys(by)
    rows = events_by_thief(counted(timeline, cost), by)
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
    return frame.drop(columns="ns").sort_values("events", ascending=False, kind="stable")


def sources(cost: "pd.Series[Any]", events: pd.DataFrame, keys: list[str]) -> "pd.Series[str]":
    # By victim where the cost is from. events: of events_by_thief(). A cost that was measured on
    # one CPU is an extrapolation to any other: caches and clock speed are its own.
    own, there = str(cost["source"]), cost["cpu"]
    known = not pd.isna(there)
    elsewhere = (events["events"] > 0) & (events["cpu"] != (int(there) if known else -1)) & known
    far = elsewhere.groupby([events[key] for key in keys], dropna=False).any()
    return far.map({False: own, True: f"{own} of CPU {there}, extrapolated"})


def events_by_thief(events: pd.DataFrame, by: By) -> pd.DataFrame:
    # What counted() returns, as sums_by_thief() returns the sums.
    return sums_by_thief(events, by).assign(**{name: events[name] for name in ("events", *COSTS)})


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


class Overhead(NamedTuple):
    """What an event is taken to cost, and what all of them took.

    source: calibration, preflight, assumed (by netcost-record, of its tool) or published. event_ns
    (None where the cost is a range only), low_ns, high_ns, why: of the row of event_cost that
    is used. cpu, elsewhere: where it was measured, and the other CPUs that it is
    used for; None and empty for a cost that is of no CPU. refused: why the bundle's own calibration
    under load is not used, if it is not. in_all: of all CPUs, None for an answer by task. cpus: how
    many. busiest, events_per_s: the CPU with most events, None where there is but one.
    """

    source: str
    event_ns: int | None
    low_ns: int
    high_ns: int
    why: str
    cpu: int | None
    elsewhere: list[int]
    refused: str | None
    in_all: InAll | None
    cpus: int
    busiest: int | None
    events_per_s: float


@tracing_cost.totals
def _totals(answer: "Answer") -> dict[str, InAll | None]:
    # in_all: of all CPUs, None for an answer by task.
    by_cpu = answer.frame.index.name == "cpu"
    return {"in_all": in_all(answer.frame, answer.timeline.duration_ns) if by_cpu else None}


@tracing_cost.figures
def overhead(answer: "Answer") -> Overhead:
    costs, frame = event_cost(answer.capture), answer.frame
    cost = chosen(costs)
    by_cpu = frame.index.name == "cpu"
    cpus = [int(cpu) for cpu in frame.index] if by_cpu else []
    there = None if absent(cost["cpu"]) else int(cost["cpu"])
    refused = costs[(costs["source"] == "calibration, load") & ~costs["usable"]]
    several = len(cpus) > 1
    return Overhead(
        source="assumed" if "elsewhere" in cost["source"] else cost["source"].partition(",")[0],
        event_ns=None if absent(cost["event_ns"]) else int(cost["event_ns"]),
        low_ns=int(cost["event_low_ns"]),
        high_ns=int(cost["event_high_ns"]),
        why=str(cost["why"]),
        cpu=there,
        elsewhere=[cpu for cpu in cpus if cpu != there] if there is not None else [],
        refused=str(refused["why"].iloc[0]) if len(refused) else None,
        in_all=answer.parts["in_all"],
        cpus=len(cpus),
        busiest=cpus[0] if several else None,
        events_per_s=float(frame["events_per_s"].iloc[0]) if several else 0.0,
    )

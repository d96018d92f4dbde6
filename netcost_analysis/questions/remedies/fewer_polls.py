# What full batches would save of the polls that interrupt a victim.

from math import ceil
from typing import Any, NamedTuple

import pandas as pd

from ...timeline.aggregates import Grouped
from ...timeline.task import Task, rows_of
from ...timeline.timeline import Timeline
from ..batches.paired import gathered
from ..batches.poll_costs import around_ns, costs_from
from .robbed import STOLEN

POLLS = Grouped(
    "polls", by=("tid", "comm", "cost_class", "device", "budget"), sums=("work", "self_ns")
)


class Saved(NamedTuple):
    # least_ns, most_ns: by the interval of the fixed cost. device, why: a device whose cost of a
    # poll is unknown, and whose polls are too much to ignore; then there are no figures.
    least_ns: int = 0
    most_ns: int = 0
    device: str | None = None
    why: str | None = None


def saved(timeline: Timeline, victim: Task, unsaid_ns: float) -> Saved:
    # unsaid_ns: below this, the polls of a device with unknown cost are counted in full.
    polls = rows_of(POLLS(timeline).frame, victim)
    polls = polls[polls["cost_class"].isin(STOLEN)]
    if not len(polls):
        return Saved()
    return of_polls(polls, costs_from(gathered(timeline)).set_index("device"), unsaid_ns)


def of_polls(polls: pd.DataFrame, costs: pd.DataFrame, unsaid_ns: float) -> Saved:
    # polls: device, budget, polls, packets and ns. costs: of poll_costs(), by device.
    least = most = 0.0
    for device, sums in polls.groupby("device", sort=True):
        cost: Any = costs.loc[device]
        around, count = around_ns(cost), int(sums["polls"].sum())
        took = float(sums["ns"].sum()) + count * around
        if pd.notna(cost["refused"]) or pd.notna(cost["doubt"]):
            if took >= unsaid_ns:
                return Saved(device=str(device), why=str(cost["why"]))
            most += took
            continue
        fewer = count - max(ceil(int(sums["packets"].sum()) / int(sums["budget"].max())), 1)
        low, high = (max(float(cost[f"fixed_{end}_ns"]), 0.0) for end in ("low", "high"))
        least += min(fewer * (low + around), took)
        most += min(fewer * (high + around), took)
    return Saved(int(least), int(most))

# What packet processing took from a victim, and how much of it each remedy can remove at most; of
# the polls that interrupt it what full batches would save.

from math import ceil
from typing import Any, NamedTuple

import pandas as pd

from ...timeline.aggregates import Grouped
from ...timeline.owners import INTERRUPT_CONTEXTS, of_tasks
from ...timeline.task import Task, rows_of
from ...timeline.timeline import Timeline
from ..batches.paired import gathered, paired
from ..batches.poll_costs import around_ns, costs_from
from ..stolen import stolen_from

STOLEN = ("stolen", "stolen_or_synchronous")


class Removable(NamedTuple):
    # What a remedy would remove: ns by CPU. unplaced_ns: also stolen, by interrupts that no event
    # shows; their CPU is unknown.
    stolen: "pd.Series[int]"
    synchronous: "pd.Series[int]"
    unplaced_ns: int = 0

    @property
    def stolen_ns(self) -> int:
        return int(self.stolen.sum()) + self.unplaced_ns

    @property
    def synchronous_ns(self) -> int:
        return int(self.synchronous.sum())

    @property
    def ns(self) -> int:
        return self.stolen_ns + self.synchronous_ns

    def on(self, cpu: int | None) -> int:
        # None: several CPUs, none of them the victim's.
        return 0 if cpu is None else int(self.stolen.get(cpu, 0) + self.synchronous.get(cpu, 0))


class Robbed:
    # row: the victim's row of stolen(). cpus: its time by CPU. interrupts: sums of those that
    # interrupted it and are, or may be, the network's.

    def __init__(self, timeline: Timeline, victim: Task) -> None:
        self.timeline, self.victim = timeline, victim
        self.row: dict[str, Any] = stolen_from(timeline, victim).row
        sums = rows_of(of_tasks(timeline.sums_by_thief()), victim)
        self.cpus = sums.groupby("cpu")["ns"].sum()
        inside = sums["context"].isin(INTERRUPT_CONTEXTS) & (sums["is_network"] != "no")
        self.interrupts = sums[inside].assign(name=sums["name"].astype(object))
        self.stolen = self.interrupts[self.interrupts["cost_class"].isin(STOLEN)]
        # What the kernel counted and no event shows is in stolen()'s figure too.
        recorded_ns = int(self.stolen["ns"].sum())
        self.unrecorded_ns = int(self.row["stolen_network_max_ns"]) - recorded_ns

    @property
    def network_ns(self) -> int:
        # All that networking took from it, including its own sends and receives.
        return int(self.row["stolen_network_max_ns"]) + int(self.row["synchronous_ns"])

    def receiving(self, dispatches: bool) -> Removable:
        # NET_RX with its polls, and the interrupts from other CPUs that may have raised it; not
        # devices' interrupts and other softirqs. dispatches: also NET_RX that polled nothing, which
        # steers packets, or frees what other CPUs consumed.
        names = ("NET_RX", "RPS dispatch") if dispatches else ("NET_RX",)
        synchronous = self.interrupts[self.interrupts["cost_class"] == "synchronous"]

        def received(rows: pd.DataFrame, *contexts: str) -> "pd.Series[int]":
            net_rx = (rows["context"] == "softirq") & rows["name"].isin(names)
            return rows[net_rx | rows["context"].isin(contexts)].groupby("cpu")["ns"].sum()

        stolen = received(self.stolen, "poll", "vector")
        return Removable(stolen, received(synchronous, "poll"), self.unrecorded_ns)

    def of_devices(self) -> Removable | None:
        # Devices' interrupts, with the softirqs that they may have raised: all but those raised by
        # an interrupt from another CPU or by the victim itself. None where no interrupt of a
        # network device came on a CPU of the victim.
        came = any(
            row.context == "hardirq" and row.is_network != "no" and row.cpu in self.cpus.index
            for row in self.timeline.owned_by()
        )
        if not came:
            return None
        stolen = self.stolen[self.stolen["context"] != "vector"].groupby("cpu")["ns"].sum()
        if (self.interrupts["context"] == "vector").any():
            # NET_RX that an inter-processor interrupt raised: steered packets.
            steered = rows_of(paired(self.timeline)["steered"], self.victim)
            steered_ns = steered.groupby("cpu")["ns"].sum()
            stolen = stolen.sub(steered_ns, fill_value=0).clip(lower=0).astype("int64")
        return Removable(stolen, stolen[:0], self.unrecorded_ns)


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

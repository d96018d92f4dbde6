# What packet processing took from a victim, and what of it each remedy can take away at most.

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ...timeline.owners import INTERRUPT_CONTEXTS, is_device, of_tasks
from ...timeline.task import Task, rows_of
from ...timeline.timeline import Timeline
from ..batches.paired import paired
from ..stolen import loss_of

STOLEN = ("stolen", "stolen_or_synchronous")


@dataclass(frozen=True)
class Removable:
    # By CPU, what a remedy would take away. unplaced_ns: stolen as well, of interrupts that no
    # event shows, on whichever CPU.
    stolen: dict[int, int]
    synchronous: dict[int, int]
    unplaced_ns: int = 0

    @property
    def stolen_ns(self) -> int:
        return sum(self.stolen.values()) + self.unplaced_ns

    @property
    def synchronous_ns(self) -> int:
        return sum(self.synchronous.values())

    @property
    def ns(self) -> int:
        return self.stolen_ns + self.synchronous_ns

    def on(self, cpu: int | None) -> int:
        # None: several CPUs, of which none is the victim's alone.
        return 0 if cpu is None else self.stolen.get(cpu, 0) + self.synchronous.get(cpu, 0)


class Robbed:
    # row: of stolen(), the victim's. cpus: its time by CPU. taken: of the sums, interrupts on top
    # of it that are the network's or may be.

    def __init__(self, timeline: Timeline, victim: Task) -> None:
        self.timeline, self.victim = timeline, victim
        self.row: dict[str, Any] = loss_of(timeline, victim).row
        own = rows_of(of_tasks(timeline.sums_by_thief()), victim)
        self.cpus = own.groupby("cpu")["ns"].sum()
        inside = own["context"].isin(INTERRUPT_CONTEXTS) & (own["is_network"] != "no")
        self.taken = own[inside].assign(name=own["name"].astype(object))
        self.stolen = self.taken[self.taken["cost_class"].isin(STOLEN)]
        # What the kernel counted and no event shows: stolen() lays it at the victim too.
        seen = int(self.stolen["ns"].sum())
        self.unrecorded_ns = int(self.row["stolen_network_max_ns"]) - seen

    @property
    def of_drivers(self) -> bool:
        # Whether a device's own polls are in it: a driver's work cannot be told from the stack's.
        polls = self.taken[self.taken["context"] == "poll"]
        return bool(polls["device"].map(is_device).any())

    @property
    def network_ns(self) -> int:
        # All that networking took from it, by its own sends and receives too.
        return int(self.row["stolen_network_max_ns"]) + int(self.row["synchronous_ns"])

    def receiving(self, dispatches: bool) -> Removable:
        # NET_RX and its polls, with the interrupts of other CPUs that may have raised them; not
        # devices' interrupts and other softirqs. dispatches: with the NET_RX that polled nothing,
        # which steers, or was asked to free what other CPUs consumed.
        names = ("NET_RX", "RPS dispatch") if dispatches else ("NET_RX",)
        synchronous = self.taken[self.taken["cost_class"] == "synchronous"]

        def received(rows: pd.DataFrame, *contexts: str) -> dict[int, int]:
            net_rx = (rows["context"] == "softirq") & rows["name"].isin(names)
            return _by_cpu(rows[net_rx | rows["context"].isin(contexts)])

        stolen = received(self.stolen, "poll", "vector")
        return Removable(stolen, received(synchronous, "poll"), self.unrecorded_ns)

    def of_devices(self) -> Removable | None:
        # What devices' interrupts took, with the softirqs that may be theirs: all but those that an
        # interrupt of another CPU, or the victim itself, raised. None where no interrupt of a
        # network device came on a CPU of the victim.
        came = any(
            row.context == "hardirq" and row.is_network != "no" and row.cpu in self.cpus.index
            for row in self.timeline.owned_by()
        )
        if not came:
            return None
        stolen = _by_cpu(self.stolen[self.stolen["context"] != "vector"])
        if (self.taken["context"] == "vector").any():
            # NET_RX that an inter-processor interrupt raised: steered packets.
            steered = rows_of(paired(self.timeline)["steered"], self.victim)
            for cpu, ns in _by_cpu(steered).items():
                stolen[cpu] = max(stolen.get(cpu, 0) - ns, 0)
        return Removable(stolen, {}, self.unrecorded_ns)


def _by_cpu(rows: pd.DataFrame) -> dict[int, int]:
    ns = rows.groupby("cpu")["ns"].sum()
    return dict(zip(ns.index.astype("int64").tolist(), ns.tolist(), strict=True))

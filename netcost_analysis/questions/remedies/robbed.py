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
# A NET_RX without a poll steers, or was asked to free what other CPUs consumed.
_DISPATCH = "RPS dispatch"
_NET_RX = ("NET_RX", _DISPATCH)


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

    def of(self, cpu: int) -> int:
        return self.stolen.get(cpu, 0) + self.synchronous.get(cpu, 0)


class Robbed:
    # taken: of the sums, interrupts on top of the victim that are the network's or may be.
    # row: of stolen(), its own.

    def __init__(self, timeline: Timeline, victim: Task) -> None:
        self.timeline, self.victim = timeline, victim
        self.row: dict[str, Any] = loss_of(timeline, victim).row
        own = rows_of(of_tasks(timeline.sums_by_thief()), victim)
        self.cpus = own.groupby("cpu")["ns"].sum()
        inside = own["context"].isin(INTERRUPT_CONTEXTS) & (own["is_network"] != "no")
        self.taken = own[inside].assign(name=own["name"].astype(object))
        seen = int(self._of(STOLEN)["ns"].sum())
        # What the kernel counted and no event shows: stolen() lays it at the victim too.
        self.unrecorded_ns = int(self.row["stolen_network_max_ns"]) - seen

    def _of(self, classes: tuple[str, ...]) -> pd.DataFrame:
        return self.taken[self.taken["cost_class"].isin(classes)]

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
        # devices' interrupts and other softirqs. dispatches: with the NET_RX that polled nothing.
        names = _NET_RX if dispatches else _NET_RX[:1]

        def part(classes: tuple[str, ...], contexts: tuple[str, ...]) -> dict[int, int]:
            of = self._of(classes)
            net_rx = (of["context"] == "softirq") & of["name"].isin(names)
            return _by_cpu(of[net_rx | of["context"].isin(contexts)])

        return Removable(
            part(STOLEN, ("poll", "vector")), part(("synchronous",), ("poll",)), self.unrecorded_ns
        )

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
        of = self._of(STOLEN)
        stolen = _by_cpu(of[of["context"] != "vector"])
        for cpu, ns in self._of_other_cpus().items():
            stolen[cpu] = max(stolen.get(cpu, 0) - ns, 0)
        return Removable(stolen, {}, self.unrecorded_ns)

    def _of_other_cpus(self) -> dict[int, int]:
        # By CPU, stolen NET_RX that an inter-processor interrupt raised: steered packets.
        if not (self.taken["context"] == "vector").any():
            return {}
        return _by_cpu(rows_of(paired(self.timeline)["steered"], self.victim))


def _by_cpu(of: pd.DataFrame) -> dict[int, int]:
    ns = of.groupby("cpu")["ns"].sum()
    return dict(zip(ns.index.astype("int64").tolist(), ns.tolist(), strict=True))

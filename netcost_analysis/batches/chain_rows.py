# Irq -> softirq -> polls, a row for each NET_RX.

import numpy as np
import pandas as pd

from ..requires import requires, unrecorded
from ..timeline import Timeline
from .common import Ints, int64, net_rx, plain
from .invocations import rounds_of

# Hardirqs nest: the interrupt that holds a raise may have had so many others inside.
_NESTED = 4


@requires("irq:softirq_entry", "irq:softirq_exit")
def softirq_chains(timeline: Timeline) -> pd.DataFrame:
    """Each NET_RX softirq: what raised it, how long it waited, what it polled, where its time went.

    Returns a row per NET_RX that was seen from entry to exit, in order of time by CPU: cpu,
    ordinal, irq, name, irq_context, irq_ns, irq_gap_ns, raise_ns, entry_ns, exit_ns,
    raise_delay_ns, call, round, origin, in_kthread, cost_class, tid, comm, device, devices, polls,
    packets, poll_ns, core_ns, nested_ns, ns. polls, packets and device are NA where napi_poll was
    not recorded; irq and its columns where no interrupt is known to have raised it. Definitions:
    docs/definitions.md. Raises MissingEventsError without softirq_entry and softirq_exit.
    """
    timeline.load("softirqs", "hardirqs", "polls")
    polled = not unrecorded(timeline.capture, "napi:napi_poll")
    return chains_from(timeline.softirqs, timeline.hardirqs, timeline.polls, polled)


def chains_from(
    softirqs: pd.DataFrame, hardirqs: pd.DataFrame, polls: pd.DataFrame, polled: bool = True
) -> pd.DataFrame:
    # softirq_chains() of three tables. polled: whether napi_poll was recorded.
    rows = net_rx(softirqs).sort_values(["cpu", "entry_ns", "ordinal"], kind="stable")
    rows = rows.reset_index(drop=True)
    rows = rows.merge(rounds_of(softirqs), on=["cpu", "ordinal"], how="left")
    rows = rows.join(_raisers(rows, plain(hardirqs)))
    rows = rows.merge(_devices(polls), on=["cpu", "ordinal"], how="left")
    rows["raise_delay_ns"] = rows["entry_ns"].astype("Int64") - rows["raise_ns"].astype("Int64")
    rows["ns"] = (rows["exit_ns"] - rows["entry_ns"]).astype("int64")
    rows["poll_ns"] = rows["self_ns"] - rows["core_ns"]
    rows["nested_ns"] = rows["ns"] - rows["self_ns"]
    rows["devices"] = rows["devices"].fillna(0).astype("Int64")
    if not polled:
        for name in ("polls", "packets", "devices", "poll_ns", "core_ns"):
            rows[name] = pd.array([pd.NA] * len(rows), dtype="Int64")
    columns = (
        *("cpu", "ordinal", "irq", "name", "irq_context", "irq_ns", "irq_gap_ns"),
        *("raise_ns", "entry_ns", "exit_ns", "raise_delay_ns", "call", "round"),
        *("origin", "in_kthread", "cost_class", "tid", "comm", "device", "devices"),
        *("polls", "packets", "poll_ns", "core_ns", "nested_ns", "ns"),
    )
    return rows[list(columns)]


def parts_of(chains: pd.DataFrame) -> pd.DataFrame:
    # A row per device that chains polled first, most chains first, and one for those without a
    # poll: device, softirqs, packets, and the mean of each part in ns. What is unknown counts 0.
    known = chains.assign(
        device=np.where(chains["polls"].eq(0).fillna(False), "none polled", chains["device"]),
        **{name: chains[name].fillna(0).astype("float64") for name in _PARTS},
    )
    known["device"] = known["device"].fillna("not recorded")
    groups = known.groupby("device")
    table = pd.DataFrame({"softirqs": groups.size(), "packets": groups["packets"].sum()})
    table = table.join(groups[list(_PARTS)].mean())
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()


_PARTS = ("irq_ns", "raise_delay_ns", "core_ns", "poll_ns", "nested_ns")


def _devices(polls: pd.DataFrame) -> pd.DataFrame:
    inside = plain(polls[polls["softirq_ordinal"].notna()])
    inside = inside.assign(ordinal=int64(inside["softirq_ordinal"]))
    groups = inside.groupby(["cpu", "ordinal"])["device"]
    table = pd.DataFrame({"device": groups.first(), "devices": groups.nunique()})
    return table.reset_index().astype({"cpu": polls["cpu"].dtype, "ordinal": "int64"})


def _raisers(rows: pd.DataFrame, hardirqs: pd.DataFrame) -> pd.DataFrame:
    # The interrupt that raised each row: the one in which its first raise stands. Without raises,
    # the one whose exit it ran at (origin "irq" is then read from the preempt count).
    irqs = hardirqs[hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()]
    irqs = irqs.sort_values(["cpu", "entry_ns"], kind="stable").reset_index(drop=True)
    line = irqs.groupby(["cpu", "context", "irq", "name"], dropna=False)["entry_ns"]
    irqs["gap_ns"] = line.diff()
    which = np.full(len(rows), -1)
    raised, entry = int64(rows["raise_ns"]), int64(rows["entry_ns"])
    at_exit = (raised < 0) & (rows["origin"] == "irq").to_numpy() & ~rows["in_kthread"].to_numpy()
    first_round = (rows["round"] == 1).fillna(False).to_numpy(dtype=bool)
    for cpu, group in irqs.groupby("cpu"):
        place = group.index.to_numpy()
        starts, ends = int64(group["entry_ns"]), int64(group["exit_ns"])
        here = np.flatnonzero((rows["cpu"] == cpu).to_numpy() & (raised >= 0))
        found = _holding(starts, ends, raised[here])
        which[here] = np.where(found >= 0, place[found], -1)
        here = np.flatnonzero((rows["cpu"] == cpu).to_numpy() & at_exit & first_round)
        by_exit = np.argsort(ends, kind="stable")
        found = np.searchsorted(ends[by_exit], entry[here], side="right") - 1
        which[here] = np.where(found >= 0, place[by_exit[found]], -1)
    taken = irqs.reindex(which).reset_index(drop=True)
    return pd.DataFrame(
        {
            "irq": taken["irq"].astype("Int64"),
            "name": taken["name"],
            "irq_context": taken["context"],
            "irq_ns": taken["self_ns"].astype("Int64"),
            "irq_gap_ns": taken["gap_ns"].astype("Int64"),
        }
    )


def _holding(
    starts: Ints,
    ends: Ints,
    at: Ints,
) -> Ints:
    # Position of the innermost interval that holds each time, -1 without one. Intervals nest.
    candidate = np.searchsorted(starts, at, side="right") - 1
    found = np.full(len(at), -1)
    for _ in range(_NESTED):
        known = np.maximum(candidate, 0)
        holds = (found < 0) & (candidate >= 0) & (ends[known] >= at) if len(ends) else found > 0
        found[holds] = candidate[holds]
        candidate = candidate - 1
    return found

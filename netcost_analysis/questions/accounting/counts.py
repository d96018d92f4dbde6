# What the kernel's counters say of the victim's CPU over a run: true without any tracing.

import math
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...parsers.host import Snapshot

NAN = math.nan


class Counted(NamedTuple):
    """Of one CPU, between the snapshots before and after a run; NaN where they do not say.

    interrupts_per_s: of all lines and vectors; packets_per_s: what softnet_stat calls processed.
    shares: of its time by kind of /proc/stat (user, nice, system, idle, ...), which add up to 1.
    stat_s: seconds between the two readings of /proc/stat.
    """

    interrupts_per_s: float
    packets_per_s: float
    shares: dict[str, float]
    stat_s: float

    @property
    def steal_share(self) -> float:
        """What a hypervisor ran others for."""
        return self.shares.get("steal", NAN)


def counted(bundle: "Bundle") -> Counted:
    # Of the victim's CPU.
    before, after, cpu = bundle.before, bundle.after, bundle.victim_cpu
    interrupts = _growth(_column(before.interrupts, cpu), _column(after.interrupts, cpu))
    packets = _growth(_cell(before, cpu), _cell(after, cpu))
    ticks = _stat(before, after, cpu)
    return Counted(
        interrupts_per_s=interrupts / seconds_between(before, after, "interrupts"),
        packets_per_s=packets / seconds_between(before, after, "net_softnet_stat"),
        shares=ticks,
        stat_s=seconds_between(before, after, "stat"),
    )


def seconds_between(before: "Snapshot", after: "Snapshot", name: str) -> float:
    # The middles of the two readings; older bundles only say when a snapshot began.
    times = []
    for snapshot in (before, after):
        reading = snapshot.reads.get(name)
        began = snapshot.stamp.get("monotonic_ns")
        times.append(sum(reading) / 2 if reading else began)
    first, last = times
    if first is None or last is None or last <= first:
        return NAN
    return (last - first) / 1e9


def _growth(before: "pd.Series[float]", after: "pd.Series[float]") -> float:
    # A line that one of the two lacks has come or gone; one that shrank was made anew.
    grown = (after - before).dropna()
    return float(grown.sum()) if len(grown) and (grown >= 0).all() else NAN


def _column(frame: pd.DataFrame, cpu: int | None) -> "pd.Series[float]":
    if cpu is None or cpu not in frame.columns:
        return pd.Series(dtype=float)
    return frame[cpu].astype(float)


def _cell(snapshot: "Snapshot", cpu: int | None) -> "pd.Series[float]":
    frame = snapshot.softnet_stat
    if cpu is None or cpu not in frame.index or "processed" not in frame:
        return pd.Series(dtype=float)
    return frame.loc[[cpu], "processed"].astype(float)


def _stat(before: "Snapshot", after: "Snapshot", cpu: int | None) -> dict[str, float]:
    if cpu is None or cpu not in before.stat.index or cpu not in after.stat.index:
        return {}
    # The kernel counts guests' time in user and nice as well (account_guest_time).
    kinds = [kind for kind in after.stat.columns if not kind.startswith("guest")]
    rows = [snapshot.stat.reindex(columns=kinds).loc[[cpu]] for snapshot in (before, after)]
    first, last = (row.to_numpy(float)[0] for row in rows)
    grown = {kind: float(ticks) for kind, ticks in zip(kinds, last - first, strict=True)}
    # idle and iowait may run backwards by a tick (get_cpu_idle_time_us is read unlocked).
    grown = {kind: max(ticks, 0.0) for kind, ticks in grown.items()}
    total = sum(grown.values())
    return {kind: ticks / total for kind, ticks in grown.items()} if total else {}

# What the kernel's counters say of the victim's CPU over a run: true without any tracing.

import math
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...parsers.host import Snapshot

NAN = math.nan


class CpuCounters(NamedTuple):
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


def cpu_counters(bundle: "Bundle") -> CpuCounters:
    # Of the victim's CPU.
    before, after, cpu = bundle.before, bundle.after, bundle.victim_cpu
    interrupts = _growth(*(side.interrupts.get(cpu) for side in (before, after)))
    packets = _growth(*(_of_cpu(side.softnet_stat, cpu, "processed") for side in (before, after)))
    return CpuCounters(
        interrupts_per_s=interrupts / seconds_between(before, after, "interrupts"),
        packets_per_s=packets / seconds_between(before, after, "net_softnet_stat"),
        shares=_shares(*(_of_cpu(side.stat, cpu) for side in (before, after))),
        stat_s=seconds_between(before, after, "stat"),
    )


def seconds_between(before: "Snapshot", after: "Snapshot", name: str) -> float:
    # The middles of the two readings; older bundles only say when a snapshot began.
    first, last = (
        sum(reading) / 2 if (reading := side.reads.get(name)) else side.stamp.get("monotonic_ns")
        for side in (before, after)
    )
    return NAN if first is None or last is None or last <= first else (last - first) / 1e9


def _of_cpu(frame: pd.DataFrame, cpu: int | None, *names: str) -> "pd.Series[int] | None":
    # A CPU's row, or some of it; None where it is not there.
    if cpu is None or cpu not in frame.index or not {*names} <= {*frame}:
        return None
    return frame.loc[[cpu], list(names or frame)].iloc[0]


def _growth(before: "pd.Series[int] | None", after: "pd.Series[int] | None") -> float:
    # A line that one of the two lacks has come or gone; one that shrank was made anew.
    if before is None or after is None:
        return NAN
    grown = (after - before).dropna()
    return float(grown.sum()) if len(grown) and (grown >= 0).all() else NAN


def _shares(before: "pd.Series[int] | None", after: "pd.Series[int] | None") -> dict[str, float]:
    if before is None or after is None:
        return {}
    # The kernel counts guests' time in user and nice as well (account_guest_time).
    kinds = [str(kind) for kind in after.index if not str(kind).startswith("guest")]
    # idle and iowait may run backwards by a tick (get_cpu_idle_time_us is read unlocked).
    grown = (after - before).reindex(kinds).astype(float).clip(lower=0)
    total = float(grown.sum(skipna=False))
    return dict(zip(kinds, (grown / total).tolist(), strict=True)) if total else {}

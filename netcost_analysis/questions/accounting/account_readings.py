"""What each account says that the victim got, how fine its steps are, and its CPU's counters."""

import math
from typing import NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.manifest import Victim
from ...errors import LackingError
from ...parsers.host import Snapshot
from ...parsers.proc_text import parse_schedstat, parse_task_files
from ...snapshots.counters import readings
from ...snapshots.mpstat_times import intervals_within
from ...snapshots.service import Growth, service_cgroup_ran, service_work
from ...timeline.of_capture import no_victim
from ...timeline.timeline import Timeline
from ..got_shares import (
    USER_HZ,
    by_work_share,
    charged,
    charged_by,
    charged_share,
    threads_ran,
    ticks_share,
    times_of_its_own,
    traced_share,
)

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


def cpu_counters(bundle: Bundle) -> CpuCounters:
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


def seconds_between(before: Snapshot, after: Snapshot, name: str) -> float:
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


class AccountReading(NamedTuple):
    # One account: the share that it says the victim got, a step of its counter as such a share, the
    # steal of its interval, and what it was read from. charged: a share that it was charged for,
    # which is not what it got.
    got: float = NAN
    resolution: float = NAN
    steal: float = NAN
    source: str = ""
    charged: float = NAN


def bundle_of(capture: Capture) -> Bundle:
    bundle = capture.bundle
    if bundle is None or bundle.victim is None:
        raise LackingError("victim", no_victim(capture.path))
    return bundle


def ran(capture: Capture) -> tuple[Timeline | None, Bundle, str]:
    # The timeline of the victim's run, or why there is none: the other accounts need no trace.
    bundle = bundle_of(capture)
    try:
        timeline = capture.victim_timeline()
        _ = timeline.summary
    # ValueError: the manifest has the run end before it began, or on a CPU that was not recorded.
    except (CaptureError, ValueError) as error:
        return None, bundle, str(error)
    return timeline, bundle, ""


def _or_nan(value: float | None) -> float:
    return NAN if value is None else float(value)


def wall_s(bundle: Bundle) -> float:
    """Seconds from the victim's start to its end; NaN where the manifest does not say."""
    return _or_nan(bundle.victim.wall_s if bundle.victim else None)


def times(bundle: Bundle) -> AccountReading:
    asked = sum(run.asked_s for run in times_of_its_own(bundle)) or wall_s(bundle)
    source = f"the victim's user time {charged_by(bundle)} over wall time"
    return AccountReading(_or_nan(ticks_share(bundle)), 1 / USER_HZ / asked, source=source)


def task_stat(bundle: Bundle) -> AccountReading:
    source = f"utime + stime {charged(bundle)[2]}: what top shows"
    # Each of the two is rounded down to a tick.
    return AccountReading(
        _or_nan(charged_share(bundle)), 2 / USER_HZ / wall_s(bundle), source=source
    )


def system(bundle: Bundle) -> AccountReading:
    # What the victim was charged for and, where it only computes, did not have.
    _, system_s, source = charged(bundle)
    wall = wall_s(bundle)
    return AccountReading(NAN, 1 / USER_HZ / wall, NAN, f"stime {source}", _or_nan(system_s) / wall)


def schedstat(bundle: Bundle) -> AccountReading:
    """The scheduler's run time of the victim, by the last reading of its own while it ran."""
    victim = bundle.victim or Victim()
    if victim.attached is not None:
        source = "run time of its threads in schedstat over the time between the readings"
        return _of_growth(threads_ran(bundle), source)
    start, end, pid = victim.start_ns, victim.end_ns, victim.pid
    if start is None or end is None or pid is None:
        return _cpu_schedstat(bundle)
    for reading in reversed(readings(bundle, "victim", sides=False)):
        run_ns = parse_task_files(reading.text).run_ns
        at = (reading.begin_ns + reading.end_ns) / 2
        if not start < at <= end:
            continue
        if len(run_ns) > 1:
            # A shell and its children, of which some may have come and gone.
            break
        ran_ns = run_ns.get(pid)
        if ran_ns is not None:
            # When during the reading its file was read is not known.
            step = (reading.end_ns - reading.begin_ns) / (at - start)
            where = "run time in /proc/PID/schedstat, at the last sample of the run"
            got = min(ran_ns / (at - start), 1.0)
            return AccountReading(got, step, source=f"{where}, over its wall time")
    return _cpu_schedstat(bundle)


def _cpu_schedstat(bundle: Bundle) -> AccountReading:
    # Without samples of the task: what all tasks ran on its CPU, where the kernel has SCHEDSTATS.
    source = "run time of the tasks of its CPU in /proc/schedstat"
    seconds = seconds_between(bundle.before, bundle.after, "schedstat")
    try:
        columns = [
            parse_schedstat(bundle.text(f"{side}/schedstat") or "")["run_ns"]
            for side in ("before", "after")
        ]
    except CaptureError:
        return AccountReading(source=source)
    first, last = (float(column.get(bundle.victim_cpu, NAN)) for column in columns)
    if not last >= first:
        return AccountReading(source=source)
    # When during each reading its file was read is not known.
    reads = [side.reads.get("schedstat") for side in (bundle.before, bundle.after)]
    step = sum(end - begin for begin, end in filter(None, reads)) / 2e9 / seconds
    got = min((last - first) / 1e9 / seconds, 1.0)
    return AccountReading(got, step if all(reads) else NAN, source=source)


def _of_growth(grown: Growth | None, source: str) -> AccountReading:
    # Seconds that were run between two readings, as a share of the time between them.
    if grown is None:
        return AccountReading(source=source)
    return AccountReading(grown.per_s, grown.error_s / grown.seconds, source=source)


def cgroup_stat(bundle: Bundle) -> AccountReading:
    return _of_growth(service_cgroup_ran(bundle), "usage of its cgroup in cpu.stat, as accounted")


def cpu_stat(counts: CpuCounters) -> AccountReading:
    source = "user and nice of its CPU's line in /proc/stat, of all its ticks"
    shares = counts.shares
    got = shares["user"] + shares["nice"] if "nice" in shares else NAN
    return AccountReading(got, 1 / USER_HZ / counts.stat_s, counts.steal_share, source)


def mpstat(bundle: Bundle) -> AccountReading:
    source = "%usr and %nice of its CPU, in mpstat's intervals within the run"
    inside = intervals_within(bundle)
    if not len(inside):
        return AccountReading(source=f"{source}: there is none")
    seconds = float((inside["end_ns"] - inside["start_ns"]).sum()) / 1e9
    got = float((inside["usr_share"] + inside["nice_share"]).mean())
    return AccountReading(got, 1 / USER_HZ / seconds, float(inside["steal_share"].mean()), source)


def traced(bundle: Bundle, timeline: Timeline | None) -> AccountReading:
    source = "the victim's own segments over wall time"
    if timeline is None or not timeline.duration_ns:
        return AccountReading(source=source)
    step = float(timeline.summary["resolution_ns"]) / timeline.duration_ns
    return AccountReading(_or_nan(traced_share(bundle, timeline)), step, source=source)


def work(bundle: Bundle) -> AccountReading:
    source, step = "blocks per second against the baseline's", NAN
    victim = bundle.victim or Victim()
    if victim.attached or (victim.asked_work and not bundle.speed_runs):
        source = "CPU time of the baseline for as much work, by the number that --work printed"
        if done := service_work(bundle):
            step = done.error_s / done.seconds
    elif blocks := sum(run.blocks for run in bundle.speed_runs):
        step = 1 / blocks
    return AccountReading(_or_nan(by_work_share(bundle)), step, source=source)

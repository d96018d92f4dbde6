"""What each account says that the victim got, and what is to be said of it."""

import math
from typing import TYPE_CHECKING

from ..._native import CaptureError
from ...errors import LackingError
from ...snapshots.mpstat_times import intervals_within
from ...snapshots.service import service_cgroup_ran, service_work
from ...timeline.of_capture import no_victim
from ..got_shares import (
    USER_HZ,
    by_work_share,
    charged,
    charged_by,
    ticks_share,
    times_of_its_own,
    traced_share,
)
from .counts import NAN, Counted
from .run_time import Row, of_growth

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline


def bundle_of(capture: "Capture") -> "Bundle":
    # One with a victim.
    bundle = capture.bundle
    if bundle is None or bundle.victim is None:
        raise LackingError("victim", no_victim(capture.path))
    return bundle


def ran(capture: "Capture") -> tuple["Timeline | None", "Bundle", str]:
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


def wall_s(bundle: "Bundle") -> float:
    """Seconds from the victim's start to its end; NaN where the manifest does not say."""
    return _or_nan(bundle.victim.wall_s if bundle.victim else None)


def times(bundle: "Bundle") -> Row:
    asked = sum(run.asked_s for run in times_of_its_own(bundle)) or wall_s(bundle)
    source = f"the victim's user time {charged_by(bundle)} over wall time"
    return Row(_or_nan(ticks_share(bundle)), 1 / USER_HZ / asked, source=source)


def _charged(bundle: "Bundle") -> tuple[float, float, str]:
    user, system, source = charged(bundle)
    return _or_nan(user), _or_nan(system), source


def task_stat(bundle: "Bundle") -> Row:
    user, system, source = _charged(bundle)
    # Each of the two is rounded down to a tick.
    step = 2 / USER_HZ / wall_s(bundle)
    return Row(
        (user + system) / wall_s(bundle), step, source=f"utime + stime {source}: what top shows"
    )


def system(bundle: "Bundle") -> Row:
    # Not what it got: what it was charged for and, where it only computes, did not have.
    _, system, source = _charged(bundle)
    wall = wall_s(bundle)
    return Row(charged=system / wall, resolution=1 / USER_HZ / wall, source=f"stime {source}")


def top_share(bundle: "Bundle") -> float | None:
    """What top showed of the bundle's victim: utime + stime over its wall time; None if unknown."""
    shown = task_stat(bundle).got if bundle.victim else NAN
    return None if math.isnan(shown) else shown


def cpu_stat(counts: Counted) -> Row:
    source = "user and nice of its CPU's line in /proc/stat, of all its ticks"
    shares = counts.shares
    got = shares["user"] + shares["nice"] if "nice" in shares else NAN
    return Row(got, 1 / USER_HZ / counts.stat_s, counts.steal_share, source)


def mpstat(bundle: "Bundle") -> Row:
    source = "%usr and %nice of its CPU by mpstat, in the intervals within the run"
    inside = intervals_within(bundle)
    if not len(inside):
        return Row(source=f"{source}: there is none")
    seconds = float((inside["end_ns"] - inside["start_ns"]).sum()) / 1e9
    got = inside["usr_share"] + inside["nice_share"]
    return Row(
        float(got.mean()), 1 / USER_HZ / seconds, float(inside["steal_share"].mean()), source
    )


def traced(bundle: "Bundle", timeline: "Timeline | None") -> Row:
    step = NAN
    if timeline is not None and timeline.duration_ns:
        step = float(timeline.summary["resolution_ns"]) / timeline.duration_ns
    source = "the victim's own segments over wall time"
    return Row(_own(bundle, timeline), step, source=source)


def _own(bundle: "Bundle", timeline: "Timeline | None") -> float:
    return NAN if timeline is None else _or_nan(traced_share(bundle, timeline))


def hidden(
    bundle: "Bundle", timeline: "Timeline | None", counts: Counted, hidden_ns: float | None
) -> Row:
    traced = _own(bundle, timeline)
    lost = counts.interrupts_per_s * (hidden_ns or 0) / 1e9
    source = f"traced less {hidden_ns or 0:,.0f} ns for each of its CPU's interrupts"
    return Row(traced - lost, source=source)


def cgroup_stat(bundle: "Bundle") -> Row:
    return of_growth(service_cgroup_ran(bundle), "usage of its cgroup in cpu.stat, as accounted")


def work(bundle: "Bundle") -> Row:
    if bundle.victim and bundle.victim.attached:
        done = service_work(bundle)
        step = done.error_s / done.seconds if done else NAN
        source = "CPU time of the baseline for as much work, by the number that --work printed"
        return Row(_or_nan(by_work_share(bundle)), step, source=source)
    blocks = sum(run.blocks for run in bundle.speed_runs)
    step = 1 / blocks if blocks else NAN
    source = "blocks per second against the baseline's"
    return Row(_or_nan(by_work_share(bundle)), step, source=source)

"""The victim's share of wall time by its own clock, by its work and by the trace."""

from ..capture.bundle import Bundle
from ..capture.manifest import Victim
from ..parsers.openssl import SpeedRun
from ..parsers.proc_text import parse_victim_stat
from ..snapshots.service import Growth, service_ran
from ..timeline.task_groups import attached
from ..timeline.timeline import Timeline

# /proc and times(2) count in USER_HZ, which is 100 on every architecture but alpha, whatever
# CONFIG_HZ is (include/asm-generic/param.h).
USER_HZ = 100
# A baseline that lacked its CPU for more than this was disturbed.
_DISTURBED = 0.03
# Ticks and the scheduler's clock differ by this share of what a service had, and by a few ticks,
# even if no program escaped the readings.
_UNSEEN, _FEW_TICKS = 0.2, 5
_ELAPSED = "measure elapsed time instead of user CPU time"


def times_of_its_own(bundle: Bundle) -> "list[SpeedRun]":
    # Results timed by times(2); with -elapsed the time is wall time, which says nothing.
    words = ((bundle.victim or Victim()).command or "").split()
    elapsed = "-elapsed" in words or _ELAPSED in (bundle.victim_output or "")
    return [] if elapsed else bundle.speed_runs


def ticks_share(bundle: Bundle) -> float | None:
    """The victim's user time over wall time as times(2) has it; None where the bundle has none.

    What openssl prints; for other victims, and with -elapsed, what netcost-record measured; for a
    service the share of its processes by /proc/PID/stat.
    """
    runs = times_of_its_own(bundle)
    if runs:
        return sum(run.user_s for run in runs) / sum(run.asked_s for run in runs)
    victim = bundle.victim or Victim()
    if victim.wall_s is None or victim.user_s is None:
        return None
    return victim.user_s / victim.wall_s


def work_share(bundle: Bundle) -> float | None:
    """Work per second relative to the baseline, the mean over kinds of work.

    None without a baseline, or results of the same work.
    """
    return None if bundle.baseline is None else work_against(bundle, bundle.baseline)


def work_against(bundle: Bundle, baseline: Bundle) -> float | None:
    # As work_share(), against another bundle's baseline.
    idle = baseline.work_rates
    ratios = [rate / idle[key] for key, rate in bundle.work_rates.items() if idle.get(key)]
    return sum(ratios) / len(ratios) if ratios else None


def baseline_got(bundle: Bundle) -> float | None:
    """The share of wall time that the baseline had its CPU for, None where that was about all.

    Everything measured against a baseline lacks what the baseline lacked.
    """
    if bundle.victim and bundle.victim.attached:
        # Nobody knows how much of a CPU a service wants.
        return None
    alone = charged_share(bundle.baseline) if bundle.baseline else None
    return alone if alone is not None and alone < 1 - _DISTURBED else None


def charged_share(bundle: Bundle) -> float | None:
    """utime + stime of the victim over its wall time: what top shows; None where unknown."""
    user, system, _ = charged(bundle)
    wall_s = bundle.victim.wall_s if bundle.victim else None
    return None if wall_s is None or user is None or system is None else (user + system) / wall_s


def charged(bundle: Bundle) -> tuple[float | None, float | None, str]:
    """Seconds of user and of system time, and their source."""
    stats = parse_victim_stat(bundle.text("victim_stat") or "")
    if "ended" in stats:
        # Of the shell that waited for it: its children's times are the victim's.
        ended = stats["ended"]
        parts = [ended.child_user_ticks / USER_HZ, ended.child_system_ticks / USER_HZ]
        return parts[0], parts[1], "of /proc/PID/stat over wall time"
    victim = bundle.victim or Victim()
    return victim.user_s, victim.system_s, f"{charged_by(bundle)} over wall time"


def charged_by(bundle: Bundle) -> str:
    """The source of the manifest's times."""
    of_service = bundle.victim is not None and bundle.victim.attached is not None
    return "of its processes' /proc/PID/stat" if of_service else "by times(2)"


def undisturbed_share(bundle: Bundle) -> float | None:
    """What the victim has of a CPU where nothing takes it, which its work is compared with.

    For a program that computes: 1 for each of its processes. For a service: what its threads ran in
    its baseline, more than 1 on several CPUs, None where that is unknown. For a service that starts
    programs too short to be read: what its processes and those they waited for were charged; so for
    a started victim whose work --work counts, which may wait.
    """
    victim = bundle.victim or Victim()
    if victim.attached is None and (victim.asked_work is None or bundle.speed_runs):
        return float(max((run.processes for run in bundle.speed_runs), default=1))
    if bundle.baseline is None:
        return None
    ran = threads_ran(bundle.baseline)
    return ran.per_s if ran else charged_share(bundle.baseline)


def threads_ran(bundle: Bundle) -> Growth | None:
    """Seconds that a service's threads ran; None where that is unknown or far from all.

    A program that begins and ends between two readings counts in the process that waited for it,
    and in no reading of a thread.
    """
    ran, charged = service_ran(bundle), charged_share(bundle)
    if ran is None or charged is None:
        return ran
    few = _FEW_TICKS / USER_HZ / ran.seconds
    return None if charged - ran.per_s > max(_UNSEEN * charged, few) else ran


def by_work_share(bundle: Bundle) -> float | None:
    """What the victim got of a CPU by its work: as much as its baseline needed for it."""
    work, whole = work_share(bundle), undisturbed_share(bundle)
    return None if work is None or whole is None else work * whole


def traced_share(bundle: Bundle, timeline: Timeline) -> float | None:
    """The victim's and its children's share of the timeline.

    None where switches were not recorded, or it did not run.
    """
    if timeline.missing["on_cpu"] or not timeline.duration_ns:
        return None
    own = own_ns(bundle, timeline)
    return None if own is None else own / timeline.duration_ns


def own_ns(bundle: Bundle, timeline: Timeline) -> int | None:
    """What the victim and its children ran on the timeline's CPUs; None where they did not run."""
    rows = [row for row in timeline.owned_by() if row.context == "task"]
    service = attached(timeline.capture) if bundle.victim and bundle.victim.attached else None
    if service is not None:
        own = [row.ns for row in rows if row.tid in service.tids]
    else:
        # The recorded pid may be a shell or taskset that became the victim, or its parent. openssl
        # gives openssl's results, whatever script started it.
        comms = {bundle.victim_comm, "openssl" if bundle.speed_runs else None}
        pids = victim_pids(bundle)
        own = [row.ns for row in rows if row.comm in comms or row.tid in pids]
    return sum(own) if own else None


def victim_pids(bundle: Bundle) -> set[int]:
    # The victim's pid, and those of its children that a reading found.
    from ..parsers.proc_text import parse_task_files
    from ..snapshots.counters import readings

    pids = {bundle.victim.pid} if bundle.victim and bundle.victim.pid is not None else set()
    for reading in readings(bundle, "victim", sides=False):
        pids |= parse_task_files(reading.text).pids
    return pids

# The scheduler's own count of what the victim ran, and what every account of it is made of.

from typing import TYPE_CHECKING, NamedTuple

from ..._native import CaptureError
from ...capture.manifest import Victim
from ...parsers.proc_text import parse_schedstat, parse_task_files
from ...snapshots.counters import readings
from ..got_shares import threads_ran
from .counts import NAN, seconds_between

if TYPE_CHECKING:
    from ...capture.bundle import Bundle
    from ...snapshots.service import Growth


class Row(NamedTuple):
    # One estimate: the share it says the victim got, a step of its counter as such a share, the
    # steal of its interval, what it was read from; and the share that it was charged for alone.
    got: float = NAN
    resolution: float = NAN
    steal: float = NAN
    source: str = ""
    charged: float = NAN


def schedstat(bundle: "Bundle") -> Row:
    """The scheduler's run time of the victim, by the last reading of its own while it ran."""
    victim = bundle.victim or Victim()
    if victim.attached is not None:
        source = "run time of its threads in schedstat over the time between the readings"
        return of_growth(threads_ran(bundle), source)
    start, end, pid = victim.start_ns, victim.end_ns, victim.pid
    source = "run time in /proc/PID/schedstat, at the last sample of the run, over its wall time"
    if start is None or end is None or pid is None:
        return _cpu_schedstat(bundle)
    for reading in reversed(readings(bundle, "victim", sides=False)):
        run_ns = parse_task_files(reading.text).run_ns
        at = (reading.begin_ns + reading.end_ns) / 2
        if not start < at <= end:
            continue
        if len(run_ns) > 1:
            # A shell and its children, of which some may have come and gone.
            return _cpu_schedstat(bundle)
        ran_ns = run_ns.get(pid)
        if ran_ns is not None:
            # When within the reading its file was read, nobody knows.
            step = (reading.end_ns - reading.begin_ns) / (at - start)
            return Row(min(ran_ns / (at - start), 1.0), step, source=source)
    return _cpu_schedstat(bundle)


def of_growth(ran: "Growth | None", source: str) -> Row:
    """Seconds that were run between two readings, as a share of the time between them."""
    if ran is None:
        return Row(source=source)
    return Row(ran.per_s, ran.error_s / ran.seconds, source=source)


def _cpu_schedstat(bundle: "Bundle") -> Row:
    # Without samples of the task: what all tasks ran on its CPU, where the kernel has SCHEDSTATS.
    source = "run time of the tasks of its CPU in /proc/schedstat"
    seconds = seconds_between(bundle.before, bundle.after, "schedstat")
    run_ns = []
    for side in ("before", "after"):
        try:
            column = parse_schedstat(bundle.text(f"{side}/schedstat") or "")["run_ns"]
        except CaptureError:
            return Row(source=source)
        run_ns.append(float(column.get(bundle.victim_cpu, NAN)))
    grown = run_ns[1] - run_ns[0]
    if not grown >= 0:
        return Row(source=source)
    # When within each reading its file was read, nobody knows.
    reads = [side.reads.get("schedstat") for side in (bundle.before, bundle.after)]
    step = sum(last - first for first, last in filter(None, reads)) / 2e9 / seconds
    return Row(min(grown / 1e9 / seconds, 1.0), step if all(reads) else NAN, source=source)

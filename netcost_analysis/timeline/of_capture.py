"""Timelines of a capture: all of it, a window, or the victim's run."""

from typing import TYPE_CHECKING

from .._native import CaptureError
from ..arrow import columns
from ..errors import ArgumentError
from ..units import not_recorded
from .group import Grouping, aggregates
from .task import Task, by_of, is_of, label_of
from .task_groups import named, recorded_victim
from .timeline import Timeline
from .window import NAMED, Named, Window

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..capture.manifest import Load, RecordedWindow


def timeline(
    capture: "Capture",
    start_s: float | None = None,
    end_s: float | None = None,
    cpus: list[int] | None = None,
    victim: Task | None = None,
    window: Named = "trace",
) -> Timeline:
    """Who had each CPU when; the tables are computed on first use.

    Parameters
    ----------
    start_s, end_s : float, optional
        Seconds from the capture's start. The window clips, with state carried over from before it.
    cpus : list of int, optional
        The CPUs to include; every recorded one unless given.
    victim : int or str, optional
        The task, by comm or tid, that questions about a victim default to; one is chosen unless
        given (Timeline.victim).
    window : {"trace", "victim", "load", "duration", "auto"}
        Instead of start_s and end_s: the whole trace, the victim's run, the load's run, or the time
        that --duration asked for. "auto" is the first of the last three that is known, else the
        whole trace.

    Returns
    -------
    Timeline
        The timeline of that window and those CPUs.

    Raises
    ------
    ValueError
        For a window that ends before it starts, or that has both a name and ends.
    CaptureError
        If it is not known when that victim or load ran.
    """
    if start_s is None and end_s is None:
        return Timeline(capture, window_named(capture, window, victim), cpus, victim)
    if window != "trace":
        raise ArgumentError("a window takes either a name or a start and an end")
    return Timeline(capture, Window(start_s, end_s), cpus, victim)


def victim_timeline(capture: "Capture") -> Timeline:
    """The timeline of the bundle's victim: the CPU it was pinned to, while it ran.

    If only a part of its run was recorded (netcost-record --trace-for), it covers that part.

    Returns
    -------
    Timeline
        The victim's run; the whole capture if the bundle does not say when the victim ran.

    Raises
    ------
    CaptureError
        If the recording has no victim, no event on its CPU, nothing of its run, or a victim that
        ended before it started.
    """
    victim = capture.bundle.victim if capture.bundle else None
    if victim is None:
        raise CaptureError(no_victim(capture.path))
    cpu = victim.cpu
    if cpu is not None and cpu not in capture.info["cpus"]:
        missing = not_recorded(cpu, capture.info["cpus"])
        raise CaptureError(f"{capture.path} has nothing of the victim's CPU: {missing}")
    known = victim.start_ns is not None and victim.end_ns is not None
    cpus = None if cpu is None else [cpu]
    return timeline(capture, cpus=cpus, window="victim" if known else "trace")


def no_victim(path: str) -> str:
    """The message for a recording without a victim."""
    return f"{path} has no victim: record one with --victim, or give its output (--victim-output)"


def window_named(capture: "Capture", name: Named, victim: "Task | None" = None) -> Window:
    """The window of that name. victim: the task in question, None for the bundle's or a chosen one.

    A victim's run comes from the bundle's manifest. For another task, or without a manifest, it
    lasts from the task's first time on a CPU to its last. "auto" is the run of the bundle's victim,
    else its load's, else the time that --duration asked for, else the trace.
    """
    if name not in NAMED:
        raise ArgumentError(f"no window {name!r}; there are {', '.join(NAMED)}")
    if name == "trace":
        return Window()
    if name == "auto":
        try:
            ran = (of(capture) for of in (_victims, _loads, _asked))
            return next((window for window in ran if isinstance(window, Window)), Window())
        except CaptureError:
            # The question reports the error.
            return Window()
    if name == "load":
        found = _loads(capture) or (
            "it does not say when a load ran: give --window victim or trace"
        )
    elif name == "duration":
        found = _asked(capture) or "it does not say which time was asked for: give --window trace"
    else:
        found = _victims(capture, victim) or _seen(capture, victim) or "no task was seen in it"
    if isinstance(found, str):
        raise CaptureError(f"{capture.path}: {found}")
    return found


# None if the bundle has no such victim; a sentence if its run was not recorded.
def _victims(capture: "Capture", asked: "Task | None" = None) -> Window | str | None:
    bundle = capture.bundle
    victim = bundle.victim if bundle else None
    if bundle is None or victim is None or asked not in (None, bundle.victim_comm, victim.pid):
        return None
    did = "ran" if victim.attached is None else "was watched"
    name = bundle.victim_comm or "the victim"
    written = _written_down(capture, victim, "victim", f"while {name} {did}")
    return written or _seen(capture, None, of_bundle=True)


def _loads(capture: "Capture") -> Window | str | None:
    load = capture.bundle.manifest.load if capture.bundle else None
    return _written_down(capture, load, "load", "while the load ran") if load else None


def _asked(capture: "Capture") -> Window | str | None:
    # The requested time, without the counter snapshots taken before and after it.
    asked = capture.bundle.manifest.asked if capture.bundle else None
    return _written_down(capture, asked, "duration", "in the time asked for") if asked else None


def _written_down(
    capture: "Capture", ran: "Load | RecordedWindow", of: str, during: str
) -> Window | str | None:
    if ran.start_ns is None or ran.end_ns is None or capture.bundle is None:
        return None
    if ran.end_ns <= ran.start_ns:
        return f"its {of} ended before it started"
    try:
        first = capture.start_ns
    except CaptureError as error:
        return str(error)
    # With --trace-for only a part of the run was recorded.
    manifest, last = capture.bundle.manifest, first + capture.info["duration_ns"]
    recorded = manifest.asked or manifest.window
    start = max(ran.start_ns, recorded.start_ns or 0)
    end = ran.end_ns if recorded.end_ns is None else min(ran.end_ns, recorded.end_ns)
    if min(end, last) <= max(start, first):
        return f"it was recorded while its {of} did not run"
    return Window((start - first) / 1e9, (end - first) / 1e9, of, during)


_STAYS = Grouping("slices", by=("tid", "comm"), ends=("in_ns", "out_ns"))


# From a task's first slice to its last. of_bundle: consider the bundle's victim only.
def _seen(capture: "Capture", asked: "Task | None", of_bundle: bool = False) -> Window | str | None:
    whole = capture.whole
    bundles = recorded_victim(whole, [row.comm for row in whole.owned_by()])
    task = bundles if of_bundle else named(whole, asked) or whole.victim
    if task is None:
        return None
    name, by_name = label_of(whole, task), by_of(task) == "comm"
    (tables,) = aggregates(whole, [_STAYS])
    stays = columns(tables["groups"])
    names = ("tid", "comm", "in_ns_least", "out_ns_most")
    rows = zip(*(stays[column] for column in names), strict=True)
    mine = [row[2:] for row in rows if is_of(row[1] if by_name else row[:2], task)]
    if not mine or whole.missing["on_cpu"]:
        return f"without sched_switch it is unknown when {name} ran"
    first, (begun, ended) = capture.start_ns, zip(*mine, strict=True)
    of, start, end = "victim" if task == bundles else "task", min(begun), max(ended)
    return Window((start - first) / 1e9, (end - first) / 1e9, of, f"while {name} was seen")

# When each task was there: what native cuts lives by, and its tables lives and away.

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .. import _native
from ..capture.manifest import Victim
from ..capture.requires import unrecorded
from ..timeline.task_events import EXIT, FORK, MIGRATED, NEW, WAKES
from . import inputs
from .inputs import once

if TYPE_CHECKING:
    from .._native import ArrowTable
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline


class TaskEvents(NamedTuple):
    """Events that tell something of a task.

    table: None where there were none; tid, comm, cpu: which columns say whom, its name there, and
    the CPU that it comes to, where it matters.
    """

    table: "ArrowTable | None"
    tid: str = "tid"
    comm: str | None = None
    cpu: str | None = None


@dataclass(frozen=True)
class Facts:
    """What lives are cut by.

    window; cpus: those recorded; born, died, woken: of events that were recorded, so that none of a
    task means that it did not happen: the first that has its fields is taken; moved: who came to
    other CPUs; of_bundle: the victim's tid, from when to when the bundle says that it was there;
    all_cpus: none of the host's was left out; moves_known: all migrations were recorded; lost:
    events were lost.
    """

    window: tuple[int, int]
    cpus: list[int]
    born: list[TaskEvents]
    died: list[TaskEvents]
    woken: list[TaskEvents]
    moved: list[TaskEvents]
    of_bundle: tuple[int, int, int] | None
    all_cpus: bool
    moves_known: bool
    lost: bool


def everywhere(timeline: "Timeline") -> "Timeline":
    """The timeline with all recorded CPUs: a life is not of one CPU."""
    return timeline if timeline.cpus is None else _of_all_cpus(timeline)


@once
def _of_all_cpus(timeline: "Timeline") -> "Timeline":
    return timeline.capture.timeline(timeline.start_s, timeline.end_s)


def lives_of(timeline: "Timeline") -> dict[str, "ArrowTable"]:
    """The tables lives and away, of all recorded CPUs.

    lives: a row per task's number and name that had a CPU in the window: tid, comm;
    lifetime_max_ns: the window, cut where it surely began and ended; lifetime_ns: without the ends
    at which nobody knows whether it was there; on_cpu_ns; waited_ns (runnable without a CPU) and
    asleep_ns, as far as they are known; unseen_ns: of the rest what it may have been on a CPU that
    nobody is known to have had; twice_ns: of on_cpu_ns what it is shown on two CPUs at once, which
    is in no lifetime: a CPU's time before its first event goes to whom that shows, also where that
    one was still elsewhere; tasks: how many tasks had that number and name; begun_ns, done_ns: from
    when to when it surely was there; null of a name that a task had for a part of a stay only.

    away: a row per stay of a task on a CPU: tid; cpu and in_ns of the stay; comm, its name before
    it; stay_comm, its name as the stay ended; start_ns and end_ns: from when to when it waited,
    within the window, where waited_ns is not 0; twice_ns: of the stay, while it is shown elsewhere.
    """
    whole = everywhere(timeline)
    facts = facts_of(whole)
    return _native.lives(inputs.arrows(whole, "slices"), whole.table("sums"), facts)


def facts_of(whole: "Timeline") -> Facts:
    """The facts of a timeline of all recorded CPUs."""
    capture, summary, lost = whole.capture, whole.summary, whole.recorded not in (None, 1)
    all_cpus = capture.info.get("nr_cpus") == len(capture.info["cpus"])
    born = _recorded(capture, TaskEvents(None, comm="comm"), FORK, NEW)
    died = _recorded(capture, TaskEvents(None), EXIT)
    woken = _recorded(capture, TaskEvents(None), *WAKES)
    coming = () if all_cpus else (*WAKES, MIGRATED)
    moved = _recorded(capture, TaskEvents(None, cpu="cpu"), *coming)
    woken = dict(list(woken.items())[:1])
    counts, told = capture.info["events"], whole.task_events

    def read(kinds: dict[str, TaskEvents]) -> list[TaskEvents]:
        # What cannot be shown as a table tells nothing, not even that it did not happen.
        known = (one for one in kinds if told[one] is not None or not counts.get(one))
        return [
            kinds[name]._replace(table=told[name] if counts.get(name) else None) for name in known
        ]

    return Facts(
        (int(summary["start_ns"]), int(summary["end_ns"])),
        list(summary["cpus"]),
        read(born),
        read(died),
        read(woken),
        read(moved),
        _of_bundle(capture),
        all_cpus,
        # A CPU that lost events may have lost the migrations that it would have told of.
        moves_known=not lost and not unrecorded(capture, MIGRATED),
        lost=lost,
    )


def _recorded(capture: "Capture", fields: TaskEvents, *events: str) -> dict[str, TaskEvents]:
    return {event: fields for event in events if not unrecorded(capture, event)}


def _of_bundle(capture: "Capture") -> tuple[int, int, int] | None:
    victim = (capture.bundle.victim if capture.bundle else None) or Victim()
    pid, start, end = victim.pid, victim.start_ns, victim.end_ns
    if pid is None or start is None or end is None:
        return None
    # A service was there before and is there after.
    return (pid, start, end) if start < end and victim.attached is None else None

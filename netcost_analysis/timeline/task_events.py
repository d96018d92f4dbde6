# Events that tell when a task began and ended, which native gathers in the ledger's pass.

from typing import TYPE_CHECKING

from .reading import once

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture

FORK, NEW = "sched:sched_process_fork", "sched:sched_wakeup_new"
EXIT, MIGRATED = "sched:sched_process_exit", "sched:sched_migrate_task"
WAKES = ("sched:sched_wakeup", "sched:sched_waking")
# Each event's fields for the task, its name and the CPU that it comes to.
_TOLD = {
    FORK: ("child_pid", "child_comm", None),
    NEW: ("pid", "comm", None),
    EXIT: ("pid", None, None),
    **dict.fromkeys(WAKES, ("pid", None, "target_cpu")),
    MIGRATED: ("pid", None, "dest_cpu"),
}
# The last of these for each task is enough.
_LAST = (*WAKES, MIGRATED)
_FORKED = ("parent_pid", "child_pid")
_LATEST_NS = 2**63 - 1

# Event; the fields of the task, its name and its CPU; until when only the last of each counts.
TaskEvent = tuple[str, str, str | None, str | None, int | None]


@once
def forks(capture: "Capture") -> "pd.DataFrame | None":
    """The events of forks, in file order: a child before its own children; None without any."""
    if not capture.info["events"].get(FORK):
        return None
    return capture.events(FORK, fields=[*_FORKED])


def forks_of(capture: "Capture") -> list[tuple[int, int]]:
    """The parent and the child of each fork, in the same order."""
    found = forks(capture)
    if found is None or not {*_FORKED} <= set(found.columns):
        return []
    return [
        (int(parent), int(child)) for parent, child in found[[*_FORKED]].itertuples(index=False)
    ]


def task_events(end_ns: int | None) -> list[TaskEvent]:
    """The events that native gathers, up to a window's end."""
    end_ns = _LATEST_NS if end_ns is None else end_ns
    return [(name, *of, end_ns if name in _LAST else None) for name, of in _TOLD.items()]

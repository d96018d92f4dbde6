# Events that tell when a task began and ended, which native gathers in the ledger's pass.

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
_LATEST_NS = 2**63 - 1

# Event; the fields of the task, its name and its CPU; until when only the last of each counts.
TaskEvent = tuple[str, str, str | None, str | None, int | None]


def task_events(end_ns: int | None) -> list[TaskEvent]:
    """The events that native gathers, up to a window's end."""
    end_ns = _LATEST_NS if end_ns is None else end_ns
    return [(name, *of, end_ns if name in _LAST else None) for name, of in _TOLD.items()]

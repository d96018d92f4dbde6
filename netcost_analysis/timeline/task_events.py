# The events that show when a task began, ended or moved. Native collects them in the ledger's pass.

FORK, NEW = "sched:sched_process_fork", "sched:sched_wakeup_new"
EXIT, MIGRATED = "sched:sched_process_exit", "sched:sched_migrate_task"
WAKES = ("sched:sched_wakeup", "sched:sched_waking")
# Each event's fields for the task, its name and its target CPU.
_FIELDS = {
    FORK: ("child_pid", "child_comm", None),
    NEW: ("pid", "comm", None),
    EXIT: ("pid", None, None),
    **dict.fromkeys(WAKES, ("pid", None, "target_cpu")),
    MIGRATED: ("pid", None, "dest_cpu"),
}
# Only the last of these matters for each task.
_LAST = (*WAKES, MIGRATED)
_LATEST_NS = 2**63 - 1

# Event; its fields for the task, its name and its CPU; the time up to which only the last counts.
TaskEvent = tuple[str, str, str | None, str | None, int | None]


def task_events(end_ns: int | None) -> list[TaskEvent]:
    """The events that native collects; end_ns: the window's end."""
    end_ns = _LATEST_NS if end_ns is None else end_ns
    return [(name, *fields, end_ns if name in _LAST else None) for name, fields in _FIELDS.items()]

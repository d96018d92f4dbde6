# Which task forked which.

from typing import TYPE_CHECKING

from ..arrow import columns
from ..capture.event_rows import Chosen, events_table
from .reading import once
from .task_events import FORK

if TYPE_CHECKING:
    from .._native import ArrowTable
    from ..capture.capture import Capture

_FORKED = ("parent_pid", "child_pid")


@once
def forks(capture: "Capture") -> "ArrowTable | None":
    """The fork events in file order, so a child precedes its own children; None without any."""
    if not capture.info["events"].get(FORK):
        return None
    return events_table(capture, FORK, Chosen(), [*_FORKED])


def forks_of(capture: "Capture") -> list[tuple[int, int]]:
    """(parent, child) of each fork, in the same order; empty if the events lack either field."""
    table = forks(capture)
    pids = {} if table is None else columns(table, _FORKED)
    return list(zip(pids["parent_pid"], pids["child_pid"], strict=True)) if len(pids) == 2 else []

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
    """The events of forks, in file order: a child before its own children; None without any."""
    if not capture.info["events"].get(FORK):
        return None
    return events_table(capture, FORK, Chosen(), [*_FORKED])


def forks_of(capture: "Capture") -> list[tuple[int, int]]:
    """The parent and the child of each fork, in the same order."""
    found = forks(capture)
    told = {} if found is None else columns(found, _FORKED)
    return list(zip(told["parent_pid"], told["child_pid"], strict=True)) if len(told) == 2 else []

# Which task forked which.

from typing import TYPE_CHECKING

from .reading import once
from .task_events import FORK

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture

_FORKED = ("parent_pid", "child_pid")


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

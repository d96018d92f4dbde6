# The task that a report is about.

from typing import TYPE_CHECKING

from ...errors import AbsentError, no_task
from ..losses import stolen

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def choose_victim(timeline: "Timeline", wanted: str | None = None) -> str | None:
    """Timeline.victim. wanted: the one that was asked for, None to choose."""
    names = [str(name) for name in stolen(timeline).index]
    if wanted is not None:
        if wanted in names:
            return wanted
        raise AbsentError(no_task(wanted, names))
    return recorded_victim(timeline, names) or (names[0] if names else None)


def recorded_victim(timeline: "Timeline", names: list[str]) -> str | None:
    """The bundle's victim by comm, None where there is none or it did not run in the window.

    names: of the tasks that did.
    """
    bundle = timeline.capture.bundle
    if bundle is None or bundle.victim is None:
        return None
    # The pid is a shell's where the command needs one; then the program has the command's name.
    if bundle.victim_comm in names:
        return bundle.victim_comm
    sums, pid = timeline.sums(), bundle.victim.pid
    if pid is None:
        return None
    own = sums[(sums["tid"] == pid).fillna(False).astype(bool)]
    by_comm = own.groupby(own["comm"].astype(str))["ns"].sum()
    return str(by_comm.idxmax()) if len(by_comm) else None

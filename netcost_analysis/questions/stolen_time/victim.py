# The task that a report is about.

from typing import TYPE_CHECKING

from ...timeline.task import Task, require_task
from ..losses import losses

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline


def choose_victim(timeline: "Timeline", wanted: Task | None = None) -> Task | None:
    # Timeline.victim. wanted: the one that was asked for, None to choose.
    if wanted is not None:
        require_task(timeline, wanted)
        return wanted
    names = [str(name) for name in losses(timeline).victims]
    return recorded_victim(timeline, names) or (names[0] if names else None)


def asked_or_chosen(timeline: "Timeline", victim: Task | None) -> Task | None:
    # The victim that a question was given, for None the timeline's; AbsentError for no task.
    require_task(timeline, victim)
    return timeline.victim if victim is None else victim


def recorded_victim(timeline: "Timeline", names: list[str]) -> str | None:
    # The bundle's victim by comm, None where there is none or it did not run in the window.
    # names: of the tasks that did.
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

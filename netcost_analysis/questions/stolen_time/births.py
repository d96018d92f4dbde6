# What witnesses that a task began or ended: events of its own, and what the bundle says of its
# victim.

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...capture.manifest import Victim
from ...capture.requires import unrecorded

if TYPE_CHECKING:
    from ...capture.capture import Capture

Ints = npt.NDArray[np.int64]
Names = npt.NDArray[np.object_]
_NONE: Ints = np.empty(0, dtype="int64")
_FORK, _NEW, _EXIT = (
    "sched:sched_process_fork",
    "sched:sched_wakeup_new",
    "sched:sched_process_exit",
)
_WAKES = ("sched:sched_wakeup", "sched:sched_waking")


@dataclass(frozen=True)
class Witnessed:
    """Who began and ended when, by events.

    born_tids, born_ns, born_names (None where not known); died_tids, died_ns: one per event.
    births_known, deaths_known: whether such events were recorded, so that none of a task means that
    it did not happen. of_bundle: the victim's tid, from when to when the bundle says that it was
    there; None where it does not.
    """

    born_tids: Ints
    born_ns: Ints
    born_names: Names | None
    died_tids: Ints
    died_ns: Ints
    births_known: bool
    deaths_known: bool
    of_bundle: tuple[int, int, int] | None = None


def witnessed(capture: "Capture") -> Witnessed:
    """The births and deaths of all tasks of a capture, on all of its CPUs."""
    forks, new = _times(capture, _FORK, "child_pid", "child_comm"), None
    if forks is None:
        new = _times(capture, _NEW, "pid", "comm")
    born = forks or new
    died = _times(capture, _EXIT, "pid")
    tids, times, names = born or (_NONE, _NONE, None)
    return Witnessed(
        tids,
        times,
        names,
        *(died or (_NONE, _NONE))[:2],
        births_known=born is not None,
        deaths_known=died is not None,
        of_bundle=_of_bundle(capture),
    )


def last_wakes(capture: "Capture", until_ns: int) -> dict[int, int] | None:
    """When each task was last woken by a time; None where wake-ups were not recorded."""
    found = next((one for name in _WAKES if (one := _times(capture, name, "pid"))), None)
    if found is None:
        return None
    tids, times = (values[found[1] <= until_ns] for values in found[:2])
    order = np.argsort(times, kind="stable")
    return dict(zip(tids[order].tolist(), times[order].tolist(), strict=True))


def _times(
    capture: "Capture", event: str, field: str, name: str | None = None
) -> tuple[Ints, Ints, Names | None] | None:
    # Whom an event was about, when, and its name there; None where it was not recorded.
    if unrecorded(capture, event):
        return None
    if not capture.info["events"].get(event):
        return _NONE, _NONE, None
    frame = capture.events(event)
    if field not in frame or "time_ns" not in frame:
        return None
    known = frame[(frame["time_ns"].notna() & frame[field].notna()).to_numpy(dtype=bool)]
    names = known[name].astype(object).to_numpy() if name in known else None
    return known[field].to_numpy("int64"), known["time_ns"].to_numpy("int64"), names


def _of_bundle(capture: "Capture") -> tuple[int, int, int] | None:
    victim = (capture.bundle.victim if capture.bundle else None) or Victim()
    pid, start, end = victim.pid, victim.start_ns, victim.end_ns
    if pid is None or start is None or end is None:
        return None
    return (pid, start, end) if start < end else None

# What lives are cut by: the window, who was seen to begin and to end, and when nobody is known to
# have had a CPU.

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...capture.requires import unrecorded
from ...spans import Ints, Spans
from .births import Witnessed, last_wakes, witnessed
from .stays import ANY_CPU, ownerless

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

Bools = npt.NDArray[np.bool_]
_MIGRATED = "sched:sched_migrate_task"


@dataclass(frozen=True)
class Facts:
    """What lives are cut by.

    window; holes: of ownerless(); events: who began and ended; all_cpus: whether none of the
    host's was left out; moves_known: all migrations were recorded; lost: events were lost; wakes:
    when each task was last woken, None where that is not known; mixed: tasks' numbers of which a
    stay has more than one name, where events were lost.
    """

    window: tuple[int, int]
    holes: Spans
    events: Witnessed
    all_cpus: bool = True
    moves_known: bool = True
    lost: bool = False
    wakes: dict[int, int] | None = None
    mixed: Ints = field(default_factory=lambda: np.empty(0, dtype="int64"))

    def inside(self, times: Ints) -> Ints:
        """Times, held within the window."""
        held: Ints = np.clip(times, *self.window)
        return held

    def names_before(self, stays: pd.DataFrame, birth: Ints, fresh: Bools) -> "pd.Series[str]":
        """Under which name each stay's task was until it: that of its stay before, or of its birth.

        None where neither is known, as of one that was born before the window. birth: the place of
        its task's last birth, -1 for none; fresh: whether it is its task's first.
        """
        events, before = self.events, stays["comm"].shift()
        born = pd.Series(None, index=stays.index, dtype=object)
        if events.born_names is not None and len(events.born_names):
            order = np.lexsort((events.born_ns, events.born_tids))
            seen = (birth >= 0) & (events.born_ns[order][birth] >= self.window[0])
            born[seen] = events.born_names[order][birth[seen]]
        return born.where(fresh, before)

    def lost_within(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """From when to when of each stretch something may have happened to a task that was lost.

        From the first time in it that nobody is known to have had a CPU to the last, for a wake-up
        may be among what was lost first and the stay after it among what was lost last. Both are
        the stretch's end where no events were lost in it.
        """
        ends = np.maximum(starts, ends)
        of_any = self.holes.groups == ANY_CPU
        begins, untils = self.holes.starts[of_any], self.holes.ends[of_any]
        if not self.lost or not len(begins):
            return ends, ends
        first = np.searchsorted(untils, starts, side="right")
        last = np.searchsorted(begins, ends, side="left") - 1
        found = first <= last
        most = len(begins) - 1
        begin = np.maximum(begins[np.minimum(first, most)], starts)
        until = np.minimum(untils[np.maximum(last, 0)], ends)
        return np.where(found, begin, ends), np.where(found, until, ends)

    def unseen(self, first: Ints, second: Ints, starts: Ints, ends: Ints) -> Ints:
        """Of each stretch between a stay on one CPU and one on another, what nobody had.

        Without migrations the CPUs in between are not known: then of any.
        """
        ends = np.maximum(starts, ends)
        if not self.moves_known:
            return self.holes.within(np.full(len(starts), ANY_CPU), starts, ends)
        found = self.holes.within(first, starts, ends)
        other = first != second
        found[other] += self.holes.within(second[other], starts[other], ends[other])
        unseen: Ints = np.minimum(found, ends - starts)
        return unseen


def facts_of(whole: "Timeline", stays: pd.DataFrame) -> Facts:
    """The facts of a timeline of all recorded CPUs; stays: of stays_of()."""
    window = (int(whole.summary["start_ns"]), int(whole.summary["end_ns"]))
    capture, lost = whole.capture, whole.recorded not in (None, 1)
    return Facts(
        window,
        ownerless(stays, list(whole.summary["cpus"]), window),
        witnessed(capture),
        all_cpus=capture.info.get("nr_cpus") == len(capture.info["cpus"]),
        # A CPU that lost events may have lost the migrations that it would have told of.
        moves_known=not lost and not unrecorded(capture, _MIGRATED),
        lost=lost,
        wakes=last_wakes(capture, window[1]),
    )

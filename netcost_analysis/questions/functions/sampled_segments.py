# What each sample hit, of the ledger's segments in batches: counts, and what they stand for.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..inputs import added

if TYPE_CHECKING:
    from numpy.typing import NDArray

INTERRUPT = ("hardirq", "vector", "softirq", "poll")
# The vector in which a timer's samples are taken.
_TIMER = "local_timer"
# What such a vector interrupted is looked for among so many segments before it: others may have cut
# it in two.
_BEFORE = 64
_OF = ["context", "device", "cost_class", "comm"]
KEYS = [*_OF, "component"]


class Taken:
    # Samples: of each its CPU, time, component (by name) and weight. is_timed: whether a timer took
    # them, in its own interrupt.
    def __init__(
        self,
        samples: pd.DataFrame,
        component: "NDArray[np.object_]",
        weight: "NDArray[np.int64]",
        is_timed: bool,
    ) -> None:
        self.cpus = samples["cpu"].to_numpy()
        self.times = samples["time_ns"].to_numpy()
        self.component, self.weight, self.is_timed = component, weight, is_timed


class SampledSegments:
    # sums: by KEYS samples and weight, of those in interrupt context; inside: samples that a
    # segment holds; segments: how many there were.
    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        # The last ones of each CPU.
        self._last: pd.DataFrame | None = None
        self.sums: pd.DataFrame | None = None
        self.inside = self.segments = 0

    def add(self, segments: pd.DataFrame) -> None:
        # The next ones, in order on each CPU.
        self.segments += len(segments)
        before = 0 if self._last is None else len(self._last)
        rows = pd.concat([self._last, segments[["cpu", "start_ns", "end_ns", "name", *_OF]]])
        rows = rows.assign(is_new=np.arange(len(rows)) >= before)
        rows = rows.sort_values(["cpu", "start_ns"], kind="stable", ignore_index=True)
        place = self._places(rows)
        # What was carried has been looked at.
        which = np.flatnonzero((place >= 0) & np.append(rows["is_new"].to_numpy(), False)[place])
        place = place[which]
        self.inside += len(which)
        if self._taken.is_timed:
            place = _interrupted(place, rows)
        frame = rows[_OF].iloc[place].astype(object)
        frame = frame.where(frame.notna(), None).reset_index(drop=True).assign(
            component=self._taken.component[which], samples=1, weight=self._taken.weight[which]
        )
        frame = frame[frame["context"].isin(INTERRUPT)]
        self.sums = added(self.sums, frame.groupby(KEYS, dropna=False)[["samples", "weight"]].sum())
        self._last = rows.drop(columns="is_new").groupby("cpu").tail(_BEFORE)

    def _places(self, segments: pd.DataFrame) -> "NDArray[np.int64]":
        # Of each sample the place of the segment that holds its time, -1 for none.
        cpus, times = self._taken.cpus, self._taken.times
        found = np.full(len(times), -1, dtype="i8")
        of_cpu = segments["cpu"].to_numpy()
        start, end = (segments[name].to_numpy() for name in ("start_ns", "end_ns"))
        for cpu in np.unique(of_cpu):
            own, mine = np.flatnonzero(of_cpu == cpu), np.flatnonzero(cpus == cpu)
            at = np.searchsorted(start[own], times[mine], side="right") - 1
            place = own[np.maximum(at, 0)]
            inside = (at >= 0) & (times[mine] < end[place])
            found[mine[inside]] = place[inside]
        return found


def _interrupted(place: "NDArray[np.int64]", segments: pd.DataFrame) -> "NDArray[np.int64]":
    # For samples within the timer's own vector the segment before it, of the same CPU.
    names = segments["name"].astype(object).to_numpy()
    timer = (segments["context"] == "vector").to_numpy() & (names == _TIMER)
    cpu = segments["cpu"].to_numpy()
    found = place.copy()
    # What the vector interrupted may have been cut in two by another one.
    for _ in range(_BEFORE):
        here = (found > 0) & timer[found]
        here &= cpu[np.maximum(found - 1, 0)] == cpu[found]
        if not here.any():
            break
        found[here] -= 1
    return found

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
    # Samples: of each its component (by name) and weight. is_timed: whether a timer took them, in
    # its own interrupt.
    def __init__(
        self,
        samples: pd.DataFrame,
        component: "NDArray[np.object_]",
        weight: "NDArray[np.int64]",
        is_timed: bool,
    ) -> None:
        self.component, self.weight, self.is_timed = component, weight, is_timed
        cpus, self.times = (samples[name].to_numpy() for name in ("cpu", "time_ns"))
        order = np.argsort(self.times, kind="stable")
        of_cpu = cpus[order]
        self._of_cpu = {int(cpu): order[of_cpu == cpu] for cpu in np.unique(cpus)}

    def between(self, cpu: int, start_ns: int, end_ns: int) -> "NDArray[np.int64]":
        # The places of a CPU's samples from one time on, before the other, in order.
        own = self._of_cpu.get(cpu, np.zeros(0, dtype="i8"))
        first, last = np.searchsorted(self.times[own], [start_ns, end_ns])
        found: NDArray[np.int64] = own[first:last]
        return found


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
        which, place = self._places(rows)
        # What was carried has been looked at.
        is_new = rows["is_new"].to_numpy()[place]
        which, place = which[is_new], place[is_new]
        self.inside += len(which)
        if self._taken.is_timed:
            place = _interrupted(place, rows)
        frame = rows[_OF].iloc[place].astype(object)
        frame = (
            frame.where(frame.notna(), None)
            .reset_index(drop=True)
            .assign(
                component=self._taken.component[which], samples=1, weight=self._taken.weight[which]
            )
        )
        frame = frame[frame["context"].isin(INTERRUPT)]
        self.sums = added(self.sums, frame.groupby(KEYS, dropna=False)[["samples", "weight"]].sum())
        self._last = rows.drop(columns="is_new").groupby("cpu").tail(_BEFORE)

    def _places(self, segments: pd.DataFrame) -> "tuple[NDArray[np.int64], NDArray[np.int64]]":
        # The samples whose time a segment holds, and the place of that. segments: in order.
        start, end = (segments[name].to_numpy() for name in ("start_ns", "end_ns"))
        cpus, firsts = np.unique(segments["cpu"].to_numpy(), return_index=True)
        found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for cpu, first, behind in zip(cpus, firsts, [*firsts[1:], len(segments)], strict=True):
            mine = self._taken.between(int(cpu), start[first], end[behind - 1])
            times = self._taken.times[mine]
            place = first + np.searchsorted(start[first:behind], times, side="right") - 1
            inside = times < end[place]
            found.append((mine[inside], place[inside]))
        if not found:
            return np.zeros(0, dtype="i8"), np.zeros(0, dtype="i8")
        which, places = zip(*found, strict=True)
        return np.concatenate(which), np.concatenate(places)


def _interrupted(place: "NDArray[np.int64]", segments: pd.DataFrame) -> "NDArray[np.int64]":
    # For samples within the timer's own vector the segment before it, of the same CPU.
    names = segments["name"].astype(object).to_numpy()
    timer = (segments["context"] == "vector").to_numpy() & (names == _TIMER)
    cpu = segments["cpu"].to_numpy()
    found = place.copy()
    # What the vector interrupted may have been cut in two by another one.
    for _ in range(_BEFORE):
        here = (found > 0) & timer[found] & (cpu[found - 1] == cpu[found])
        if not here.any():
            break
        found[here] -= 1
    return found

# How much of a stretch of time lies in given spans, and which of them: for many stretches at once.

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Spans:
    """Spans of time of several groups: tasks, CPUs, or one.

    groups: the group of each span. starts, ends: ns. Sorted by group and start; spans of a group do
    not overlap unless a method says so.
    """

    def __init__(self, groups: Ints, starts: Ints, ends: Ints) -> None:
        order = np.lexsort((starts, groups))
        self.groups, self.starts, self.ends = groups[order], starts[order], ends[order]
        # The sum of all spans before each; the last is the total.
        self.before = np.concatenate(([0], np.cumsum(self.ends - self.starts)))
        self._names, first = np.unique(self.groups, return_index=True)
        self._firsts = np.append(first, len(order))
        self._ranked = np.sort(starts)
        own = np.repeat(np.arange(len(first)), np.diff(self._firsts))
        self._keys = self._key(own, self.starts)

    def _key(self, own: Ints, times: Ints) -> Ints:
        # A group and the rank of a time as one int64.
        return own * (len(self._ranked) + 1) + np.searchsorted(self._ranked, times, side="right")

    def begun(self, groups: Ints, times: Ints) -> tuple[Ints, Ints]:
        """The group's spans that had begun by a time, overlapping or not.

        The place of the first, and the place after the last; the same where there is none.
        """
        own, end = (np.searchsorted(self._names, groups, side) for side in ("left", "right"))
        after = np.searchsorted(self._keys, self._key(own, times), side="right")
        return self._firsts[own], np.clip(after, self._firsts[own], self._firsts[end])

    def last_begun(self, groups: Ints, times: Ints) -> Ints:
        """The place of the group's last span that had begun by a time, -1 for none."""
        first, after = self.begun(groups, times)
        return np.where(after > first, after - 1, -1)

    def innermost(self, groups: Ints, times: Ints, depth: int) -> Ints:
        """The place of the group's innermost span that holds a time, -1 for none.

        Spans nest here; depth: how many of them at the most.
        """
        first, after = self.begun(groups, times)
        found = np.full(len(times), -1, dtype="int64")
        for place in (after - step for step in range(1, depth + 1)):
            held = np.flatnonzero((found < 0) & (place >= first))
            held = held[self.ends[place[held]] >= times[held]]
            found[held] = place[held]
        return found

    def until(self, groups: Ints, times: Ints) -> Ints:
        """Length of a group's spans before a time."""
        first, after = self.begun(groups, times)
        length: Ints = self.before[after] - self.before[first]
        some = after > first
        length[some] -= np.maximum(self.ends[after[some] - 1] - times[some], 0)
        return length

    def within(self, groups: Ints, starts: Ints, ends: Ints) -> Ints:
        """Length of a group's spans in each stretch of time."""
        return self.until(groups, ends) - self.until(groups, starts)


def columns(frame: pd.DataFrame, *names: str) -> list[Ints]:
    # Columns without nulls, for Spans and its methods.
    return [frame[name].to_numpy(dtype="int64") for name in names]


def spans_of(
    frame: pd.DataFrame, start: str = "start_ns", end: str = "end_ns", group: str = "tid"
) -> Spans:
    # Of a frame's rows, which have a group.
    return Spans(*columns(frame, group, start, end))

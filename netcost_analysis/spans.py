# How much of a stretch of time lies in given spans, and in which ones; vectorised over stretches.

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Spans:
    """Spans of time in groups, such as tasks or CPUs.

    groups: the group of each span. starts, ends: ns. Spans are kept sorted by group and start;
    those of a group must not overlap unless a method says so.
    """

    def __init__(self, groups: Ints, starts: Ints, ends: Ints) -> None:
        order = np.lexsort((starts, groups))
        self.groups, self.starts, self.ends = groups[order], starts[order], ends[order]
        # The total length of the spans before each one; the last element is the grand total.
        self.before = np.concatenate(([0], np.cumsum(self.ends - self.starts)))
        self._names, first = np.unique(self.groups, return_index=True)
        self._firsts = np.append(first, len(order))
        self._ranked = np.sort(starts)
        ranks = np.repeat(np.arange(len(first)), np.diff(self._firsts))
        self._keys = self._key(ranks, self.starts)

    def _key(self, group_ranks: Ints, times: Ints) -> Ints:
        # The ranks of a group and a time as one int64, so that one searchsorted covers all groups.
        time_ranks = np.searchsorted(self._ranked, times, side="right")
        return group_ranks * (len(self._ranked) + 1) + time_ranks

    def begun(self, groups: Ints, times: Ints) -> tuple[Ints, Ints]:
        """The group's spans that had begun by a time, overlapping or not, as a half-open range.

        Returns the index of the first span and the index after the last, equal if there are none.
        """
        group, end = (np.searchsorted(self._names, groups, side) for side in ("left", "right"))
        after = np.searchsorted(self._keys, self._key(group, times), side="right")
        return self._firsts[group], np.clip(after, self._firsts[group], self._firsts[end])

    def last_begun(self, groups: Ints, times: Ints) -> Ints:
        """The index of the group's last span that had begun by a time, -1 for none."""
        first, after = self.begun(groups, times)
        return np.where(after > first, after - 1, -1)

    def innermost(self, groups: Ints, times: Ints, depth: int) -> Ints:
        """The index of the group's innermost span that contains a time, -1 for none.

        Spans may nest here, to at most `depth` levels.
        """
        first, after = self.begun(groups, times)
        spans = np.full(len(times), -1, dtype="int64")
        for place in (after - step for step in range(1, depth + 1)):
            held = np.flatnonzero((spans < 0) & (place >= first))
            held = held[self.ends[place[held]] >= times[held]]
            spans[held] = place[held]
        return spans

    def until(self, groups: Ints, times: Ints) -> Ints:
        """Total length of a group's spans before a time, ns."""
        first, after = self.begun(groups, times)
        length: Ints = self.before[after] - self.before[first]
        begun = after > first
        length[begun] -= np.maximum(self.ends[after[begun] - 1] - times[begun], 0)
        return length

    def within(self, groups: Ints, starts: Ints, ends: Ints) -> Ints:
        """Total length of a group's spans within each stretch of time, ns."""
        return self.until(groups, ends) - self.until(groups, starts)


def columns(frame: pd.DataFrame, *names: str) -> list[Ints]:
    # Columns as int64, for Spans and its methods; they must have no nulls.
    return [frame[name].to_numpy(dtype="int64") for name in names]


def spans_of(
    frame: pd.DataFrame, start: str = "start_ns", end: str = "end_ns", group: str = "tid"
) -> Spans:
    return Spans(*columns(frame, group, start, end))

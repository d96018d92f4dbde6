# How much of a stretch of time lies in given spans, for many stretches at once.

import numpy as np
import numpy.typing as npt
import pandas as pd

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Spans:
    """Spans of time of several tasks (or of one), which do not overlap within a task.

    groups: which task each span is of. starts, ends: ns.
    """

    def __init__(self, groups: Ints, starts: Ints, ends: Ints) -> None:
        order = np.lexsort((starts, groups))
        self.groups, self.starts, self.ends = groups[order], starts[order], ends[order]
        lengths = self.ends - self.starts
        # Sum of all spans before each; the last is that of all.
        self.before = np.concatenate(([0], np.cumsum(lengths)))
        self.names, self.firsts = np.unique(self.groups, return_index=True)

    def until(self, groups: Ints, times: Ints) -> Ints:
        """Length of a task's spans before a time."""
        result = np.zeros(len(times), dtype="int64")
        if not len(self.starts):
            return result
        index = self.last_begun(groups, times)
        held = index >= 0
        place = index[held]
        first = self.firsts[np.searchsorted(self.names, groups[held])]
        inside = np.minimum(times[held] - self.starts[place], self.ends[place] - self.starts[place])
        result[held] = self.before[place] - self.before[first] + inside
        return result

    def within(self, groups: Ints, starts: Ints, ends: Ints) -> Ints:
        """Length of a task's spans in each stretch of time."""
        return self.until(groups, ends) - self.until(groups, starts)

    def last_begun(self, groups: Ints, times: Ints) -> Ints:
        """The place of the task's last span that had begun by a time, -1 for none."""
        index = np.full(len(times), -1, dtype="int64")
        if not len(self.starts):
            return index
        # Ranks of groups and times make one key that int64 can hold.
        both = np.concatenate([self.starts, times])
        ranks = np.unique(both, return_inverse=True)[1].astype("int64")
        width = len(both) + 1
        asked = np.searchsorted(self.names, groups)
        known = (asked < len(self.names)) & (
            self.names[np.minimum(asked, len(self.names) - 1)] == groups
        )
        own = np.searchsorted(self.names, self.groups).astype("int64")
        keys = own * width + ranks[: len(self.starts)]
        found = np.searchsorted(keys, asked * width + ranks[len(self.starts) :], side="right") - 1
        good = known & (found >= 0)
        good[good] &= self.groups[found[good]] == groups[good]
        index[good] = found[good]
        return index


def spans_of(frame: pd.DataFrame, start: str = "start_ns", end: str = "end_ns") -> Spans:
    # Of a frame's rows with a tid.
    return Spans(
        frame["tid"].to_numpy(dtype="int64"),
        frame[start].to_numpy(dtype="int64"),
        frame[end].to_numpy(dtype="int64"),
    )


def merged(frame: pd.DataFrame) -> Spans:
    """Stretches of any CPU, overlapping ones joined, as the spans of task 0."""
    starts = frame["start_ns"].to_numpy(dtype="int64")
    ends = frame["end_ns"].to_numpy(dtype="int64")
    if not len(starts):
        return Spans(starts, starts, ends)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.append(first[1:], True)
    return Spans(np.zeros(int(first.sum()), dtype="int64"), starts[first], ends[last])

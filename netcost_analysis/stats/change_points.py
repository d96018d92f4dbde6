"""Change points in the level of a series, found by ranks with a permutation test."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .resampling import Floats, Ints

# The least observations on either side of a change point.
LEAST_SIDE = 5
PERMUTATIONS = 1_999
# The highest probability of a change point in a series without a change.
FALSE_ALARMS = 0.01
_SEED = 17


class ChangePoint(NamedTuple):
    """A change of level.

    first: the index of the first observation after it. p: how often the observations in random
    order have a change at least as clear anywhere.
    """

    first: int
    p: float


def change_points(values: Floats, groups: Ints) -> list[ChangePoint]:
    """Where the level of a series changes with p at most FALSE_ALARMS, in order.

    values: observations in order of time. groups: each observation's group (a host), as a number
    from 0. Groups may have different levels.

    The group's median is subtracted from each observation, and the remainders are ranked. A change
    point is where the sum of the ranks before it deviates most from that of a random order, in
    standard deviations (Pettitt 1979, weighted by position). p is the share of PERMUTATIONS random
    orders (within groups, seeded) whose largest deviation is at least as large. So it holds for any
    distribution, and accounts for looking at every position. Each side is then searched in the same
    way (binary segmentation). Autocorrelated observations give false alarms more often. No library
    does this: ruptures, which is light, needs a penalty to be chosen and gives no p-values.
    """
    points: list[ChangePoint] = []
    left = [(0, len(values))]
    while left:
        start, end = left.pop()
        point = _plainest(values[start:end], groups[start:end])
        if point is not None and point.p <= FALSE_ALARMS:
            at = start + point.first
            points.append(ChangePoint(at, point.p))
            left += [(start, at), (at, end)]
    return sorted(points)


def first_chance(values: Floats, groups: Ints) -> float:
    """p of the clearest change in a series; NaN if the series is too short."""
    point = _plainest(values, groups)
    return float("nan") if point is None else point.p


def _plainest(values: Floats, groups: Ints) -> ChangePoint | None:
    from scipy import stats

    if len(values) < 2 * LEAST_SIDE:
        return None
    series = pd.Series(values, dtype="float64")
    rest = series - series.groupby(groups).transform("median")
    # Deviations from the mean rank.
    ranks = (stats.rankdata(rest) - (len(rest) + 1) / 2)[None, :]
    if not np.ptp(ranks):
        return None
    place, farthest = _farthest(ranks)
    _, others = _farthest(_shuffled(ranks[0], groups, np.random.default_rng(_SEED)))
    # The observed order counts as one of the random ones.
    p = (1 + int((others >= farthest[0] - 1e-9).sum())) / (1 + PERMUTATIONS)
    return ChangePoint(int(place[0]), p)


def _farthest(ranks: Floats) -> tuple[Ints, Floats]:
    # The position of the change in each row, and the weighted deviation of the sum before it.
    count = ranks.shape[1]
    before = np.arange(1, count)
    weights = np.sqrt(before * (count - before))
    sums = np.abs(np.cumsum(ranks, axis=1)[:, :-1]) / weights
    sums[:, : LEAST_SIDE - 1] = -1
    sums[:, count - LEAST_SIDE :] = -1
    place = sums.argmax(axis=1)
    return place + 1, sums[np.arange(len(sums)), place]


def _shuffled(ranks: Floats, groups: Ints, draw: np.random.Generator) -> Floats:
    shuffled = np.empty((PERMUTATIONS, len(ranks)))
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        order = draw.random((PERMUTATIONS, len(members))).argsort(axis=1)
        shuffled[:, members] = ranks[members][order]
    return shuffled

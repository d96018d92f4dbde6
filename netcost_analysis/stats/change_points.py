"""Where in a series of observations their level changes: by ranks, with a permutation test."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from .resampling import Floats, Ints

# A side of a change point has so many observations at least.
LEAST_SIDE = 5
PERMUTATIONS = 1_999
# A series in which nothing changes has a change point with this chance at most.
FALSE_ALARMS = 0.01
_SEED = 17


class ChangePoint(NamedTuple):
    """A change of level.

    first: the place of the first observation after it. p: how often the observations, in another
    order, have a change at least as plain anywhere.
    """

    first: int
    p: float


def change_points(values: Floats, groups: Ints) -> list[ChangePoint]:
    """Where the level of a series changes, in order: where its chance is at most FALSE_ALARMS.

    values: observations in order of time. groups: of each the group (a host) that it belongs to, as
    a number from 0: groups may have levels of their own.

    The median of its group is subtracted from each observation, and the rest is ranked. A change
    point is where the sum of the ranks before it is farthest from what it would be without any
    order, measured by its standard deviation (Pettitt 1979, weighted by place). Its chance is the
    share of PERMUTATIONS random orders, within groups and seeded, in which the farthest place is at
    least as far. So it holds for any distribution, and allows for looking at every place. Each
    side is then searched in the same way (binary segmentation). Observations that are alike because
    they are near in time are taken for a change more often. No library: ruptures, which is
    light, finds the best places for a penalty that is to be chosen and has no chances.
    """
    found: list[ChangePoint] = []
    left = [(0, len(values))]
    while left:
        start, end = left.pop()
        point = _plainest(values[start:end], groups[start:end])
        if point is not None and point.p <= FALSE_ALARMS:
            at = start + point.first
            found.append(ChangePoint(at, point.p))
            left += [(start, at), (at, end)]
    return sorted(found)


def first_chance(values: Floats, groups: Ints) -> float:
    """The chance of the plainest change of a whole series; NaN where it is too short for one."""
    point = _plainest(values, groups)
    return float("nan") if point is None else point.p


def _plainest(values: Floats, groups: Ints) -> ChangePoint | None:
    from scipy import stats

    if len(values) < 2 * LEAST_SIDE:
        return None
    series = pd.Series(values, dtype="float64")
    rest = series - series.groupby(groups).transform("median")
    # Distances from the mean rank.
    ranks = (stats.rankdata(rest) - (len(rest) + 1) / 2)[None, :]
    if not np.ptp(ranks):
        return None
    place, farthest = _farthest(ranks)
    _, others = _farthest(_shuffled(ranks[0], groups, np.random.default_rng(_SEED)))
    # The order itself is one of the possible ones.
    p = (1 + int((others >= farthest[0] - 1e-9).sum())) / (1 + PERMUTATIONS)
    return ChangePoint(int(place[0]), p)


def _farthest(ranks: Floats) -> tuple[Ints, Floats]:
    # For each row the place of the change, and how far the sum before it is from 0.
    count = ranks.shape[1]
    before = np.arange(1, count)
    weights = np.sqrt(before * (count - before))
    sums = np.abs(np.cumsum(ranks, axis=1)[:, :-1]) / weights
    sums[:, : LEAST_SIDE - 1] = -1
    sums[:, count - LEAST_SIDE :] = -1
    place = sums.argmax(axis=1)
    return place + 1, sums[np.arange(len(sums)), place]


def _shuffled(ranks: Floats, groups: Ints, draw: np.random.Generator) -> Floats:
    made = np.empty((PERMUTATIONS, len(ranks)))
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        order = draw.random((PERMUTATIONS, len(own))).argsort(axis=1)
        made[:, own] = ranks[own][order]
    return made

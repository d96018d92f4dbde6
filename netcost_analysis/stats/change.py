"""Whether two sides differ, and by how much: exact permutation, and all values it does not reject.

What several sides make together has no such test; it has an interval by BCa bootstrap.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .resampling import CONFIDENCE, ROUNDING, Floats, Ints, Judged, one_side, two_sides

_RESAMPLES = 2_000
_SEED = 14
# Fewer repeats of a side cannot show a difference between two conditions.
LEAST_REPEATS = 6
# Fewer blocks of time say nothing of a run's scatter.
LEAST_BLOCKS = 8
# The correlation of neighbouring blocks up to which they count as observations of their own.
_UNLIKE = 0.0
# The smallest change worth knowing, as a share of the base or in points of a share.
TOLD = 0.05
# How often as many repeats as are said to be needed suffice, and how many are none.
POWER, MOST_REPEATS = 0.8, 1_000

Counts = tuple[Floats, Floats]


class Side(NamedTuple):
    """Observations of one side, each a ratio: of blocks of time, or of repeats.

    numerator, denominator: one of each per observation. The side's figure is the ratio of their
    sums: of repeats, whose denominators are 1, the mean. of: "blocks" or "repeats".
    """

    numerator: Floats
    denominator: Floats
    of: str

    @property
    def counts(self) -> Counts:
        """Numerators and denominators."""
        return self.numerator, self.denominator

    def values(self, which: Ints) -> Floats:
        """The side's figure for each row of chosen observations."""
        top, below = self.numerator[which], self.denominator[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = top.sum(axis=-1) / below.sum(axis=-1)
        return ratio

    @property
    def value(self) -> float:
        """The side's figure."""
        return float(self.values(np.arange(len(self.numerator))))


def blocks(*counts: Counts) -> tuple[Side, ...]:
    """Blocks of time that follow each other, as a side or several: as long as they must be.

    Neighbours that share a burst or a cache are one observation, not two: the blocks of all sides
    are joined in pairs until neighbours are no more alike than others.

    counts: numerators and denominators of each side.
    """
    sides = [Side(*one, "blocks") for one in counts]
    while min(len(side.numerator) for side in sides) >= 2 * LEAST_BLOCKS and any(
        _alike(side) > _UNLIKE for side in sides
    ):
        sides = [Side(_pairs(side.numerator), _pairs(side.denominator), "blocks") for side in sides]
    return tuple(sides)


def repeats(values: Floats) -> Side:
    """Repeats as one side, each a figure of its own."""
    return Side(values, np.ones(len(values)), "repeats")


def _pairs(values: Floats) -> Floats:
    # An odd one out joins the last pair.
    even = len(values) // 2 * 2
    joined: Floats = values[:even].reshape(-1, 2).sum(axis=1)
    joined[-1] += values[even:].sum()
    return joined


def _alike(side: Side) -> float:
    # The correlation of neighbouring blocks.
    rest = side.numerator - side.value * side.denominator
    below = float((rest**2).sum())
    return float((rest[1:] * rest[:-1]).sum()) / below if below else 0.0


class Change(NamedTuple):
    """A figure of both sides, each with its interval; NaN where there is none.

    change, low, high: of the new side's over the base's, less 1, where is_relative; else of the
    difference. p: how often sides that are alike would be at least so far apart.
    """

    base: float
    base_low: float
    base_high: float
    new: float
    new_low: float
    new_high: float
    change: float
    low: float
    high: float
    p: float
    is_relative: bool

    @property
    def columns(self) -> dict[str, float]:
        """By the names that columns of answers have: change_low, change_high, p_value."""
        named = {"low": "change_low", "high": "change_high", "p": "p_value"}
        figures = {name: value for name, value in self._asdict().items() if name != "is_relative"}
        return {named.get(name, name): value for name, value in figures.items()}


class Estimate(NamedTuple):
    """A figure with its interval; NaN where there is none."""

    value: float
    low: float
    high: float


def estimate(side: Side) -> Estimate:
    """The figure of one side, without an interval of fewer than LEAST_BLOCKS or LEAST_REPEATS."""
    if len(side.numerator) < (LEAST_REPEATS if side.of == "repeats" else LEAST_BLOCKS):
        return Estimate(side.value, np.nan, np.nan)
    return _bounded(side.value, one_side(*side.counts))


def change_of(base: Side, new: Side, relative: bool, paired: bool = False) -> Change:
    """How a figure changed: as a part of the base's where relative, else in its own unit.

    Few observations bound nothing, so there is no interval. An end is infinite where the base is so
    near 0 that no part of it is too large. Without p where a side has fewer than 2. paired: repeats
    belong together in their order.
    """
    if paired and base.of == "repeats":
        alike = np.isclose(new.numerator, base.numerator, rtol=ROUNDING, atol=0)
        found = (
            one_side(new.numerator, base.numerator, 1.0)
            if relative
            else one_side(np.where(alike, 0, new.numerator - base.numerator), base.denominator)
        )
    else:
        found = two_sides(base.counts, new.counts, relative)
    sides = [_bounded(side.value, one_side(*side.counts)) for side in (base, new)]
    change = _bounded(found.value, found)
    if relative:
        change = Estimate(*(end - 1 for end in change))
    p = found.p if min(len(base.numerator), len(new.numerator)) > 1 else np.nan
    return Change(*sides[0], *sides[1], *change, p, relative)


def change_from(base: Side, new: Side, relative: bool, paired: bool = False) -> Change:
    """As change_of, but in its own unit where a base of 0, or near it, has no interval in parts."""
    change = change_of(base, new, relative, paired)
    if relative and not np.isfinite([change.low, change.high]).all():
        in_unit = change_of(base, new, False, paired)
        change = in_unit if np.isfinite([in_unit.low, in_unit.high]).all() else change
    return change


def repeats_that_tell(apart: float, deviation: float) -> int | None:
    """How many repeats of either side tell a figure from a limit, in four of five experiments.

    apart: how far it is from the limit. deviation: the standard deviation of a side's repeats. None
    where more than MOST_REPEATS would be needed; LEAST_REPEATS at least.
    """
    counts = np.arange(LEAST_REPEATS, MOST_REPEATS + 1)
    reach = _reach((1 + CONFIDENCE) / 2, counts) + _reach(POWER, counts)
    enough = apart >= deviation * reach
    return int(counts[enough][0]) if enough.any() and apart > 0 else None


def deviation_of(wide: float, number: int) -> float:
    """The standard deviation of repeats, from the width of their interval.

    wide: from the figure to one end. number: repeats of each side.
    """
    return float(wide / _reach((1 + CONFIDENCE) / 2, max(number, 2)))


def _reach(chance: float, repeats: "Ints | int") -> Floats:
    # How far a quantile of the difference of two means is from it, in standard deviations.
    from scipy.special import stdtrit

    count = np.asarray(repeats, "float64")
    return np.asarray(stdtrit(2 * count - 2, chance) * np.sqrt(2 / count), "float64")


def _bounded(value: float, found: Judged) -> Estimate:
    # Without any end there is no interval.
    ends = found.low, found.high
    return Estimate(value, *(ends if np.isfinite(ends).any() else (np.nan, np.nan)))


def combined(statistic: Callable[..., Floats], *counts: int) -> Estimate:
    """What figures of the same observations come to; no interval where a count is below 2.

    statistic: takes rows of chosen observations, an array of indices for each count, and returns a
    figure for each row.
    """
    value = float(statistic(*map(np.arange, counts)))
    if min(counts) < 2 or not np.isfinite(value):
        return Estimate(value, np.nan, np.nan)
    from scipy import stats

    with warnings.catch_warnings():
        # Where all resamples are alike there is no interval, and none is made up.
        warnings.simplefilter("ignore")
        for method in ("BCa", "percentile"):
            low, high = stats.bootstrap(
                tuple(np.arange(count) for count in counts),
                lambda *chosen, axis: statistic(*chosen),
                n_resamples=_RESAMPLES,
                vectorized=True,
                confidence_level=CONFIDENCE,
                method=method,
                rng=np.random.default_rng(_SEED),
            ).confidence_interval
            if np.isfinite([low, high]).all():
                break
    return Estimate(value, float(low), float(high))


def adjusted(chances: Floats) -> Floats:
    """Chances of a search, corrected for its many places (Benjamini, Hochberg); NaN stays NaN.

    Of those below 5 % one in twenty is a false alarm. What is judged one by one takes holm().
    """
    from scipy import stats

    corrected, known = np.array(chances, dtype="float64"), np.isfinite(chances)
    corrected[known] = stats.false_discovery_control(corrected[known], method="bh")
    return corrected


def holm(chances: Floats) -> Floats:
    """Chances of figures that are judged one by one, corrected for being many; NaN stays NaN.

    Where nothing changed, one of them or more is below 5 % in 5 % of comparisons; where some
    figures did, the same holds of the others.
    """
    corrected, known = np.array(chances, dtype="float64"), np.flatnonzero(np.isfinite(chances))
    order = known[np.argsort(corrected[known], kind="stable")]
    times = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(times * corrected[order]), 1)
    return corrected

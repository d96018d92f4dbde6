"""Whether two sides differ, and by how much: intervals by BCa bootstrap, chance by permutation."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .resampling import CONFIDENCE, Floats, Ints

_RESAMPLES = 2_000
_PERMUTATIONS = 5_000
_SEED = 14
# Fewer repeats of a side cannot show a difference between two conditions. With six against six the
# most extreme of 924 orders has a chance of 0.2 %.
LEAST_REPEATS = 6
# Fewer blocks of time say nothing of a run's scatter.
LEAST_BLOCKS = 8
# The correlation of neighbouring blocks up to which they count as observations of their own.
_UNLIKE = 0.1

Counts = tuple[Floats, Floats]


class Side(NamedTuple):
    """Observations of one side, each a ratio: of blocks of time, or of repeats.

    numerator, denominator: one of each per observation. of: "blocks", whose ratio is that of their
    sums, or "repeats", whose ratios are observations of their own and have a median.
    """

    numerator: Floats
    denominator: Floats
    of: str

    def values(self, which: Ints) -> Floats:
        """The side's figure for each row of chosen observations."""
        top, below = self.numerator[which], self.denominator[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.of == "blocks":
                ratio: Floats = top.sum(axis=-1) / below.sum(axis=-1)
            else:
                ratio = np.median(top / below, axis=-1)
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

    change, low, high: of the new side's over the base's, less 1, or of the difference. p: how often
    sides that are alike would be at least so far apart.
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

    @property
    def columns(self) -> dict[str, float]:
        """By the names that columns of answers have: change_low, change_high, p_value."""
        named = {"low": "change_low", "high": "change_high", "p": "p_value"}
        return {named.get(name, name): value for name, value in self._asdict().items()}


class Estimate(NamedTuple):
    """A figure with its interval; NaN where there is none."""

    value: float
    low: float
    high: float


def estimate(side: Side) -> Estimate:
    """The figure of one side, without an interval of fewer than LEAST_BLOCKS or LEAST_REPEATS."""
    count = len(side.numerator)
    if count < (LEAST_REPEATS if side.of == "repeats" else LEAST_BLOCKS):
        return Estimate(side.value, np.nan, np.nan)
    return combined(side.values, count)


def change_of(base: Side, new: Side, relative: bool) -> Change:
    """How a figure changed: as a part of the base's where relative, else in its own unit.

    Without intervals and p where a side has fewer than 2 observations, or the base is 0.
    """

    def between(one: Ints, other: Ints) -> Floats:
        first, second = base.values(one), new.values(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = second / first - 1 if relative else second - first
        return found

    counts = len(base.numerator), len(new.numerator)
    change = combined(between, *counts)
    if min(counts) < 2 or not np.isfinite(change.value):
        none, value = (np.nan, np.nan), change.value if np.isfinite(change.value) else np.nan
        return Change(base.value, *none, new.value, *none, value, *none, np.nan)
    sides = [combined(side.values, count) for side, count in zip((base, new), counts, strict=True)]
    return Change(*sides[0], *sides[1], *change, _chance(base, new))


def combined(statistic: Callable[..., Floats], *counts: int) -> Estimate:
    """What figures of the same observations come to; no interval where a count is below 2.

    statistic: takes rows of chosen observations, an array of indices for each count, and returns a
    figure for each row.
    """
    value = float(statistic(*map(np.arange, counts)))
    if min(counts) < 2 or not np.isfinite(value):
        return Estimate(value, np.nan, np.nan)
    return Estimate(value, *_interval(statistic, *counts))


def adjusted(chances: Floats) -> Floats:
    """Chances of several figures, corrected for asking for all of them at once; NaN stays NaN.

    By Benjamini and Hochberg: where nothing changed, one of them or more is below 5 % in 5 % of
    comparisons.
    """
    from scipy import stats

    corrected, known = np.array(chances, dtype="float64"), np.isfinite(chances)
    corrected[known] = stats.false_discovery_control(corrected[known], method="bh")
    return corrected


def _interval(statistic: "Callable[..., Floats]", *counts: int) -> tuple[float, float]:
    # Indices of observations are resampled, a set of each count.
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
    return float(low), float(high)


def _chance(base: Side, new: Side) -> float:
    from scipy import stats

    both = Side(
        np.concatenate([base.numerator, new.numerator]),
        np.concatenate([base.denominator, new.denominator]),
        base.of,
    )
    first = len(base.numerator)

    def apart(one: Ints, other: Ints, axis: int) -> Floats:
        found: Floats = both.values(other) - both.values(one)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test = stats.permutation_test(
            (np.arange(first), np.arange(first, len(both.numerator))),
            apart,
            permutation_type="independent",
            vectorized=True,
            n_resamples=_PERMUTATIONS,
            rng=np.random.default_rng(_SEED),
        )
    return float(test.pvalue)

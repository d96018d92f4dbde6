"""Whether two sides differ, and by how much: exact permutation tests and their inversion.

A figure made of several sides has no permutation test; its interval comes from a BCa bootstrap.
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
# Fewer blocks of time say nothing about a run's scatter.
LEAST_BLOCKS = 8
# Neighbouring blocks count as separate observations up to this correlation.
_UNLIKE = 0.0
# The smallest change worth knowing, as a share of the base or as a difference of shares.
TOLD = 0.05
# The power aimed at when the repeats needed are estimated, and the most to suggest.
POWER, MOST_REPEATS = 0.8, 1_000

Counts = tuple[Floats, Floats]


class Side(NamedTuple):
    """Observations of one side, each a ratio: blocks of time, or repeats.

    numerator, denominator: one of each per observation. The side's figure is the ratio of their
    sums; for repeats, whose denominators are 1, it is the mean. of: "blocks" or "repeats".
    """

    numerator: Floats
    denominator: Floats
    of: str

    @property
    def counts(self) -> Counts:
        """The numerators and denominators."""
        return self.numerator, self.denominator

    def values(self, which: Ints) -> Floats:
        """The side's figure for each row of indices of observations."""
        numerator, denominator = self.numerator[which], self.denominator[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = numerator.sum(axis=-1) / denominator.sum(axis=-1)
        return ratio

    @property
    def value(self) -> float:
        """The side's figure."""
        return float(self.values(np.arange(len(self.numerator))))

    @property
    def observed(self) -> Floats:
        """The figure of each observation; not finite where nothing was done."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: Floats = self.numerator / self.denominator
        return ratio

    @property
    def deviation_share(self) -> float:
        """Their standard deviation over the side's figure; NaN for one, or a figure of 0."""
        known = self.observed[np.isfinite(self.observed)]
        if len(known) < 2 or not self.value:
            return np.nan
        return float(known.std(ddof=1) / abs(self.value))


def blocks(*counts: Counts) -> tuple[Side, ...]:
    """Sides made of consecutive blocks of time, joined until they are independent.

    Neighbours that share a burst or a cache are one observation, not two. So the blocks of all
    sides are joined in pairs until neighbours are no longer positively correlated.

    counts: numerators and denominators of each side.
    """
    sides = [Side(*ratios, "blocks") for ratios in counts]
    while min(len(side.numerator) for side in sides) >= 2 * LEAST_BLOCKS and any(
        _alike(side) > _UNLIKE for side in sides
    ):
        sides = [Side(_pairs(side.numerator), _pairs(side.denominator), "blocks") for side in sides]
    return tuple(sides)


def repeats(values: Floats) -> Side:
    """A side made of repeats, each with a figure."""
    return Side(values, np.ones(len(values)), "repeats")


def _pairs(values: Floats) -> Floats:
    # An odd last value joins the last pair.
    even = len(values) // 2 * 2
    joined: Floats = values[:even].reshape(-1, 2).sum(axis=1)
    joined[-1] += values[even:].sum()
    return joined


def _alike(side: Side) -> float:
    # The correlation of neighbouring blocks.
    residual = side.numerator - side.value * side.denominator
    squares = float((residual**2).sum())
    return float((residual[1:] * residual[:-1]).sum()) / squares if squares else 0.0


class Change(NamedTuple):
    """A figure of both sides, each with its interval; NaN if there is none.

    change, low, high: new / base - 1 if is_relative, else new - base, with its interval. p: how
    often sides that do not differ would be at least this far apart.
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
        """The figures under the column names of answers: change_low, change_high, p_value."""
        named = {"low": "change_low", "high": "change_high", "p": "p_value"}
        figures = {name: value for name, value in self._asdict().items() if name != "is_relative"}
        return {named.get(name, name): value for name, value in figures.items()}


class Estimate(NamedTuple):
    """A figure with its interval; NaN if there is none."""

    value: float
    low: float
    high: float


def estimate(side: Side) -> Estimate:
    """One side's figure; it has no interval below LEAST_BLOCKS or LEAST_REPEATS observations."""
    if len(side.numerator) < (LEAST_REPEATS if side.of == "repeats" else LEAST_BLOCKS):
        return Estimate(side.value, np.nan, np.nan)
    return _bounded(side.value, one_side(*side.counts))


def change_of(base: Side, new: Side, relative: bool, paired: bool = False) -> Change:
    """How a figure changed: relative to the base's, or in its own unit.

    Too few observations give no interval. An end is infinite if the base is so close to 0 that no
    relative change is too large. p is NaN if a side has fewer than 2. paired: repeats are paired in
    order.
    """
    if paired and base.of == "repeats":
        alike = np.isclose(new.numerator, base.numerator, rtol=ROUNDING, atol=0)
        test = (
            one_side(new.numerator, base.numerator, 1.0)
            if relative
            else one_side(np.where(alike, 0, new.numerator - base.numerator), base.denominator)
        )
    else:
        test = two_sides(base.counts, new.counts, relative)
    sides = [_bounded(side.value, one_side(*side.counts)) for side in (base, new)]
    change = _bounded(test.value, test)
    if relative:
        change = Estimate(*(end - 1 for end in change))
    p = test.p if min(len(base.numerator), len(new.numerator)) > 1 else np.nan
    return Change(*sides[0], *sides[1], *change, p, relative)


def change_from(base: Side, new: Side, relative: bool, paired: bool = False) -> Change:
    """Like change_of, but in the figure's own unit if a base near 0 gives no relative interval."""
    change = change_of(base, new, relative, paired)
    if relative and not np.isfinite([change.low, change.high]).all():
        in_unit = change_of(base, new, False, paired)
        change = in_unit if np.isfinite([in_unit.low, in_unit.high]).all() else change
    return change


def repeats_that_tell(apart: float, deviation: float) -> int | None:
    """The repeats per side that distinguish a figure from a limit in four of five experiments.

    apart: its distance from the limit. deviation: the standard deviation of a side's repeats. At
    least LEAST_REPEATS; None if it takes more than MOST_REPEATS.
    """
    counts = np.arange(LEAST_REPEATS, MOST_REPEATS + 1)
    reach = _reach((1 + CONFIDENCE) / 2, counts) + _reach(POWER, counts)
    enough = apart >= deviation * reach
    return int(counts[enough][0]) if enough.any() and apart > 0 else None


def deviation_of(wide: float, number: int) -> float:
    """The standard deviation of repeats, from the half-width of their interval.

    wide: the half-width. number: the repeats of each side.
    """
    return float(wide / _reach((1 + CONFIDENCE) / 2, max(number, 2)))


def _reach(chance: float, repeats: "Ints | int") -> Floats:
    # The distance of a quantile of the difference of two means, in standard deviations.
    from scipy.special import stdtrit

    count = np.asarray(repeats, "float64")
    return np.asarray(stdtrit(2 * count - 2, chance) * np.sqrt(2 / count), "float64")


def _bounded(value: float, test: Judged) -> Estimate:
    # There is no interval without a finite end.
    ends = test.low, test.high
    return Estimate(value, *(ends if np.isfinite(ends).any() else (np.nan, np.nan)))


def combined(statistic: Callable[..., Floats], *counts: int) -> Estimate:
    """A statistic of several sets of observations with its bootstrap interval.

    counts: the size of each set; there is no interval if one is below 2. statistic: takes an array
    of indices for each set, with a row per resample, and returns a figure per row.
    """
    value = float(statistic(*map(np.arange, counts)))
    if min(counts) < 2 or not np.isfinite(value):
        return Estimate(value, np.nan, np.nan)
    from scipy import stats

    with warnings.catch_warnings():
        # If all resamples are equal, scipy warns and there is no interval.
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
    """p-values of a search over many places, corrected (Benjamini, Hochberg); NaN stays NaN.

    One in twenty of those below 5 % is a false alarm. For figures judged one by one use holm().
    """
    from scipy import stats

    corrected, known = np.array(chances, dtype="float64"), np.isfinite(chances)
    corrected[known] = stats.false_discovery_control(corrected[known], method="bh")
    return corrected


def holm(chances: Floats) -> Floats:
    """p-values of figures judged one by one, corrected for multiple testing; NaN stays NaN.

    At most 5 % of comparisons have an unchanged figure below 5 %.
    """
    corrected, known = np.array(chances, dtype="float64"), np.flatnonzero(np.isfinite(chances))
    order = known[np.argsort(corrected[known], kind="stable")]
    times = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(times * corrected[order]), 1)
    return corrected

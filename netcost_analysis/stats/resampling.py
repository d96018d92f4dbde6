"""Intervals from resamples (a bootstrap by counts), and exact tests by permutation.

Intervals of resamples are as wide as few observations make them; those of a test have all values
that it does not reject.
"""

from functools import lru_cache
from itertools import combinations
from math import ceil, comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .shares import Z

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
CONFIDENCE = 0.95


def drawn(number: int, resamples: int, generator: np.random.Generator) -> Floats:
    """How often each of a number of observations is drawn, with replacement: a row per resample.

    What is linear in the observations follows by a product of matrices. scipy.stats.bootstrap
    cannot do that: it hands out the observations themselves.
    """
    even = np.full(number, 1 / number)
    return generator.multinomial(number, even, size=resamples).astype("float64")


def middle(values: Floats, outside: float = (1 - CONFIDENCE) / 2) -> tuple[float, float]:
    """The ends of what resamples say of a figure, without the share outside on either side.

    values: a figure of each; NaN of those that have none.
    """
    known = values[~np.isnan(values)]
    low, high = np.quantile(known if len(known) else [np.nan], [outside, 1 - outside])
    return float(low), float(high)


def reach(number: int) -> float:
    """How many standard errors the 95 % interval of a mean of so many reaches to either side.

    number: 2 or more. Student's t, and what the standard deviation of few is too small by.
    """
    from scipy import special

    quantile = special.stdtrit(number - 1, (1 + CONFIDENCE) / 2)
    return float(quantile * np.sqrt(number / (number - 1)))


def wider(number: int) -> float:
    """How many times as wide that interval is as the normal distribution has it."""
    return reach(number) / Z


def tail(number: int) -> float:
    """The share of resamples beyond either end of that interval if they were normal."""
    from scipy import special

    return float(special.ndtr(-reach(number)))


# Sides differ where p is below.
CHANCE = round(1 - CONFIDENCE, 6)
# All orders are counted up to so many: eight against eight have 12,870.
_MOST = 20_000
# Of more orders so many are drawn, the observed one among them.
_DRAWN = 10_000
_SEED = 14
# Orders are as far apart that differ by less, relative to the largest. What differs by less,
# relative to its terms, differs by their rounding alone.
_ALIKE, ROUNDING = 1e-9, 1e-12


class Judged(NamedTuple):
    """A parameter, the interval of the values that the test does not reject, and p of no change.

    low, high: infinite where so few observations bound nothing. NaN: there is no such parameter.
    """

    value: float
    low: float
    high: float
    p: float


def two_sides(base: tuple[Floats, Floats], new: tuple[Floats, Floats], relative: bool) -> Judged:
    """How the ratio of sums on the new side differs from the base's: their quotient, or difference.

    base, new: numerator and denominator of each observation. Observations are exchanged between the
    sides; for another value than no change the new side's are brought back by it first.
    """
    number = len(base[0])
    above, below = (np.concatenate(both) for both in zip(base, new, strict=True))
    is_new = np.arange(len(above)) >= number
    # What the parameter multiplies: all of the base, or the denominator of the new side.
    moved = np.where(is_new, 0.0, -above) if relative else np.where(is_new, below, 0.0)
    kept = np.where(is_new, above, 0.0) if relative else above
    parts = np.column_stack([below, kept, moved])
    there = of_sides(number, len(above) - number) @ parts
    here = parts.sum(axis=0) - there
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = there[:, 1:] / there[:, :1], here[:, 1:] / here[:, :1]
    apart = one - other
    scale = float(np.abs([one[0], other[0]]).max())
    return _judged(apart[:, 0], apart[:, 1], float(relative), scale)


def one_side(above: Floats, below: Floats, none: float = 0.0) -> Judged:
    """The ratio of two sums. Each observation's deviation may as well have had the other sign.

    none: the ratio that would be no change.
    """
    signed = of_signs(len(above)) @ np.column_stack([above, below])
    return _judged(signed[:, 0], signed[:, 1], none, float(np.abs(above).sum()))


def least_chance(base: int, new: int, paired: bool = False) -> float:
    """The smallest p that so many observations on either side can reach."""
    count = 2**base if paired else comb(base + new, base)
    # An order has a mirror image that is as far apart, if the sides are equally large.
    return (1 + (base == new)) / count if count <= _MOST else 1 / _DRAWN


@lru_cache(maxsize=8)
def of_sides(base: int, new: int) -> Floats:
    """Orders of so many observations: 1 where one is on the new side. The first is as observed."""
    number, count = base + new, comb(base + new, base)
    if count > _MOST:
        drawn = np.tile(np.repeat([0.0, 1.0], [base, new]), (_DRAWN, 1))
        drawn[1:] = np.random.default_rng(_SEED).permuted(drawn[1:], axis=1)
        return drawn
    orders = np.zeros((count, number))
    chosen = np.array([*combinations(range(number), new)], dtype="int64").reshape(count, new)
    orders[np.arange(count)[:, None], chosen[::-1]] = 1
    return orders


@lru_cache(maxsize=8)
def of_signs(number: int) -> Floats:
    """Signs of so many observations, all of them or many. The first row is as observed: all 1."""
    if 2**number > _MOST:
        drawn = np.random.default_rng(_SEED).choice([1.0, -1.0], (_DRAWN, number))
        drawn[0] = 1
        return drawn
    turned = np.arange(2**number)[:, None] >> np.arange(number) & 1
    return (1 - 2 * turned).astype("float64")


def _judged(constant: Floats, slope: Floats, none: float, scale: float) -> Judged:
    # constant, slope: of each order, the observed one first. Its statistic is constant - parameter
    # x slope, and it is as far apart as the observed one where that is as large, of either sign.
    # scale: of the terms that constant is a difference of.
    known = np.isfinite(constant) & np.isfinite(slope)
    if not known[0] or not slope[0]:
        return Judged(np.nan, np.nan, np.nan, np.nan)
    constant, slope = constant[known], slope[known]
    value = float(constant[0] / slope[0])
    rounding = ROUNDING * scale
    if abs(constant[0] - none * slope[0]) <= rounding:
        value = none
    tiny = max(_ALIKE * np.abs(constant).max(), _ALIKE * abs(value) * np.abs(slope).max(), rounding)
    found = np.abs(constant - none * slope)
    p = float((found >= found[0] - tiny).mean())
    # Each order is as far apart as the observed one from the value to an end on either side.
    apart, own = constant - value * slope, abs(slope[0])
    against = np.where(apart < 0, -slope, slope)
    apart = np.where(np.abs(apart) <= tiny, 0, np.abs(apart))
    always = (apart == 0) & (np.abs(slope) >= own * (1 - _ALIKE))
    low, high = (
        value + way * _kept(np.where(always, np.inf, _over(apart, own + way * against, own)))
        for way in (-1, 1)
    )
    if p >= CHANCE:
        # Rounding must not exclude it.
        low, high = min(low, none), max(high, none)
    return Judged(value, low, high, p)


def _over(one: Floats, other: Floats, scale: float) -> Floats:
    ratio: Floats = np.full(len(one), np.inf)
    np.divide(one, other, out=ratio, where=other > _ALIKE * scale)
    return ratio


def _kept(ends: Floats) -> float:
    # The farthest one up to which at least CHANCE of all orders reach.
    reached = ceil(round(CHANCE * len(ends), 6))
    return float(np.partition(ends, -reached)[-reached])

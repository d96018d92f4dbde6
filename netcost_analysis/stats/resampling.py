"""Bootstrap intervals (by counts), and exact permutation tests.

Bootstrap intervals are widened for few observations. A test's interval has all values that it does
not reject.
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
    """How often each observation is drawn, with replacement: a row per resample.

    A statistic that is linear in the observations is then a matrix product. scipy.stats.bootstrap
    cannot do that: it passes the observations themselves.
    """
    even = np.full(number, 1 / number)
    return generator.multinomial(number, even, size=resamples).astype("float64")


def middle(values: Floats, outside: float = (1 - CONFIDENCE) / 2) -> tuple[float, float]:
    """The percentile interval of resampled values, which leaves the share `outside` at either end.

    values: one per resample; NaN is ignored.
    """
    known = values[~np.isnan(values)]
    low, high = np.quantile(known if len(known) else [np.nan], [outside, 1 - outside])
    return float(low), float(high)


def reach(number: int) -> float:
    """The half-width of the 95 % interval of a mean, in bootstrap standard errors.

    number: of observations, 2 or more. Student's t, times the factor by which the bootstrap
    underestimates the standard error.
    """
    from scipy import special

    quantile = special.stdtrit(number - 1, (1 + CONFIDENCE) / 2)
    return float(quantile * np.sqrt(number / (number - 1)))


def wider(number: int) -> float:
    """How many times as wide that interval is as a normal one."""
    return reach(number) / Z


def tail(number: int) -> float:
    """The share of resamples beyond either end of that interval if they were normal."""
    from scipy import special

    return float(special.ndtr(-reach(number)))


# Sides differ if p is below this.
CHANCE = round(1 - CONFIDENCE, 6)
# Up to this many orders all are counted: eight against eight have 12,870.
_MOST = 20_000
# If there are more, this many are drawn, including the observed one.
_DRAWN = 10_000
_SEED = 14
# Statistics that differ by less than the first, relative to the largest, count as equal. Figures
# that differ by less than the second, relative to their terms, differ only by rounding.
_ALIKE, ROUNDING = 1e-9, 1e-12


class Judged(NamedTuple):
    """A parameter, the interval of values that the test does not reject, and p of no change.

    low, high: infinite if there are too few observations for a bound. NaN: no such parameter.
    """

    value: float
    low: float
    high: float
    p: float


def two_sides(base: tuple[Floats, Floats], new: tuple[Floats, Floats], relative: bool) -> Judged:
    """Test how the new side's ratio of sums differs from the base's: quotient or difference.

    base, new: numerator and denominator of each observation. The test exchanges observations
    between the sides. To test a value other than no change, that change is first undone.
    """
    number = len(base[0])
    above, below = (np.concatenate(both) for both in zip(base, new, strict=True))
    is_new = np.arange(len(above)) >= number
    # What the parameter multiplies: all of the base, or the denominator of the new side.
    moved = np.where(is_new, 0.0, -above) if relative else np.where(is_new, below, 0.0)
    kept = np.where(is_new, above, 0.0) if relative else above
    parts = np.column_stack([below, kept, moved])
    new_sums = of_sides(number, len(above) - number) @ parts
    base_sums = parts.sum(axis=0) - new_sums
    with np.errstate(divide="ignore", invalid="ignore"):
        new_ratios = new_sums[:, 1:] / new_sums[:, :1]
        base_ratios = base_sums[:, 1:] / base_sums[:, :1]
    apart = new_ratios - base_ratios
    scale = float(np.abs([new_ratios[0], base_ratios[0]]).max())
    return _judged(apart[:, 0], apart[:, 1], float(relative), scale)


def one_side(above: Floats, below: Floats, none: float = 0.0) -> Judged:
    """Test the ratio of two sums by flipping the signs of observations' deviations.

    none: the ratio that means no change.
    """
    signed = of_signs(len(above)) @ np.column_stack([above, below])
    return _judged(signed[:, 0], signed[:, 1], none, float(np.abs(above).sum()))


def least_chance(base: int, new: int, paired: bool = False) -> float:
    """The smallest p that this many observations on either side can reach."""
    count = 2**base if paired else comb(base + new, base)
    # If the sides are equally large, each order has a mirror image that is as far apart.
    return (1 + (base == new)) / count if count <= _MOST else 1 / _DRAWN


@lru_cache(maxsize=8)
def of_sides(base: int, new: int) -> Floats:
    """Orders, a row each: 1 for an observation on the new side. The first row is as observed."""
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
    """Signs of observations, all combinations or a sample. The first row, all 1, is as observed."""
    if 2**number > _MOST:
        drawn = np.random.default_rng(_SEED).choice([1.0, -1.0], (_DRAWN, number))
        drawn[0] = 1
        return drawn
    turned = np.arange(2**number)[:, None] >> np.arange(number) & 1
    return (1 - 2 * turned).astype("float64")


def _judged(constant: Floats, slope: Floats, none: float, scale: float) -> Judged:
    # constant, slope: of each order, the observed one first. An order's statistic is constant -
    # parameter x slope; it is as far apart as the observed one if its absolute value is as large.
    # scale: the size of the terms whose difference is constant.
    known = np.isfinite(constant) & np.isfinite(slope)
    if not known[0] or not slope[0]:
        return Judged(np.nan, np.nan, np.nan, np.nan)
    constant, slope = constant[known], slope[known]
    value = float(constant[0] / slope[0])
    rounding = ROUNDING * scale
    if abs(constant[0] - none * slope[0]) <= rounding:
        value = none
    tiny = max(_ALIKE * np.abs(constant).max(), _ALIKE * abs(value) * np.abs(slope).max(), rounding)
    statistics = np.abs(constant - none * slope)
    p = float((statistics >= statistics[0] - tiny).mean())
    # Each order is as far apart as the observed one for parameters from value to some end, on
    # either side.
    apart, observed = constant - value * slope, abs(slope[0])
    against = np.where(apart < 0, -slope, slope)
    apart = np.where(np.abs(apart) <= tiny, 0, np.abs(apart))
    always = (apart == 0) & (np.abs(slope) >= observed * (1 - _ALIKE))
    low, high = (
        value
        + way * _kept(np.where(always, np.inf, _over(apart, observed + way * against, observed)))
        for way in (-1, 1)
    )
    if p >= CHANCE:
        # Rounding must not exclude no change.
        low, high = min(low, none), max(high, none)
    return Judged(value, low, high, p)


def _over(dividend: Floats, divisor: Floats, scale: float) -> Floats:
    # Infinite if the divisor is not positive, up to rounding.
    ratio: Floats = np.full(len(dividend), np.inf)
    np.divide(dividend, divisor, out=ratio, where=divisor > _ALIKE * scale)
    return ratio


def _kept(ends: Floats) -> float:
    # The farthest end that at least CHANCE of all orders reach.
    reached = ceil(round(CHANCE * len(ends), 6))
    return float(np.partition(ends, -reached)[-reached])

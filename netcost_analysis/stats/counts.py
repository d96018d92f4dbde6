"""Intervals for samples: how far a count or a share may be off by chance."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .shares import Z, wilson

Floats = NDArray[np.float64]
Interval = tuple[Floats, Floats]
# A figure with the ends of its 95 % interval.
Figures = tuple[Floats, Floats, Floats]


def share_interval(count: ArrayLike, of: ArrayLike) -> Interval:
    """95 % interval of a share: `count` out of `of` samples; NaN without samples.

    Source: Wilson's score interval, E. B. Wilson, JASA 22 (1927) 209.
    """
    number = np.asarray(of, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle, half = wilson(np.minimum(np.asarray(count, dtype=float), number), number, np.sqrt)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def count_interval(count: ArrayLike) -> Interval:
    """95 % interval of the mean of a Poisson count, such as the samples of a part of the work.

    Source: the score interval of a Poisson mean, E. L. Crow and R. S. Gardner's alternative in
    G. Barker, The American Statistician 56 (2002) 85.
    """
    k = np.asarray(count, dtype=float)
    middle, half = k + Z**2 / 2, Z * np.sqrt(k + Z**2 / 4)
    return np.maximum(middle - half, 0), middle + half


def equal_samples(
    weight: ArrayLike, squares: ArrayLike, weight_of_none: float
) -> tuple[Floats, Floats]:
    """The number of equally weighted samples that say as much as weighted ones, and their weight.

    weight, squares: sums of the weights, and of their squares, by group of samples.
    weight_of_none: the weight returned for a group without samples.

    Source: the effective sample size of L. Kish, Survey Sampling (1965).
    """
    total, known = np.asarray(weight, dtype=float), np.asarray(squares, dtype=float)
    each = np.divide(known, total, out=np.full(len(total), weight_of_none), where=total > 0)
    return np.divide(total, each, out=np.zeros(len(total)), where=each > 0), each


def difference_interval(base: Figures, new: Figures) -> Interval:
    """95 % interval of new - base; each is a figure with its own 95 % interval.

    Source: the square-and-add method (MOVER), G. Y. Zou and A. Donner, Statistics in Medicine 27
    (2008) 1693.
    """
    (first, low, high), (second, new_low, new_high) = base, new
    middle = second - first
    return (
        middle - np.hypot(second - new_low, high - first),
        middle + np.hypot(new_high - second, first - low),
    )


def ratio_interval(first: ArrayLike, second: ArrayLike) -> Interval:
    """95 % interval of the ratio of the means of two Poisson counts; NaN if the second is 0.

    The first count's share p of the sum has Wilson's interval, and p / (1 - p) is the ratio.

    Source: the score interval of a ratio of two Poisson rates, P. L. Graham, K. Mengersen and
    A. P. Morton, Statistics in Medicine 22 (2003) 2071.
    """
    k, other = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    low, high = (np.where(other > 0, end, np.nan) for end in share_interval(k, k + other))
    return low / (1 - low), high / (1 - high)

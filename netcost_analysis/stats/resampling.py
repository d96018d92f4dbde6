"""Intervals from resamples (a bootstrap by counts), as wide as few observations make them."""

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

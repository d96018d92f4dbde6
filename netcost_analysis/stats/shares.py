# Intervals of shares of samples, for numbers and arrays. numpy is not imported here.

from collections.abc import Callable
from math import sqrt
from typing import Any

# The 97.5 % quantile of the normal distribution.
Z = 1.959963984540054


def wilson(count: Any, of: Any, root: Callable[[Any], Any] = sqrt) -> tuple[Any, Any]:
    # The middle and half-width of Wilson's interval for `count` out of `of` samples (of > 0). root:
    # a square root for the type of count.
    middle = (count + Z**2 / 2) / (of + Z**2)
    return middle, Z / (of + Z**2) * root(count * (of - count) / of + Z**2 / 4)


def share_ends(count: float, of: float) -> tuple[float, float]:
    # counts.share_interval() for a single number.
    if of == 0:
        return float("nan"), float("nan")
    middle, half = wilson(min(count, of), of)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def effective(total: float, squares: float) -> float:
    # The effective number of weighted samples (Kish): their number, if all weigh the same.
    return total**2 / squares if squares else 0.0

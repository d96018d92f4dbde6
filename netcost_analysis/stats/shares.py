# How sure the share of what was sampled is, of numbers as of arrays: numpy is not imported here.

from collections.abc import Callable
from math import sqrt
from typing import Any

# The normal distribution's 97.5 %.
Z = 1.959963984540054


def wilson(count: Any, of: Any, root: Callable[[Any], Any] = sqrt) -> tuple[Any, Any]:
    # The middle, and half the width, of the interval of the share of `of` samples, some, that
    # `count` of them are. root: the square root of what count is.
    middle = (count + Z**2 / 2) / (of + Z**2)
    return middle, Z / (of + Z**2) * root(count * (of - count) / of + Z**2 / 4)


def share_ends(count: float, of: float) -> tuple[float, float]:
    # counts.share_interval() of a number.
    if of == 0:
        return float("nan"), float("nan")
    middle, half = wilson(min(count, of), of)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def effective(total: float, squares: float) -> float:
    # How many samples of one weight would tell as much as those of these weights (Kish): all, where
    # they weigh the same.
    return total**2 / squares if squares else 0.0

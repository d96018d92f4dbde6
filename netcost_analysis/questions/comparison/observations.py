# What each metric of a comparison was observed in: for whoever judges it by other means.

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...stats.change import Side
from .metrics import observed


@dataclass(frozen=True)
class Observations:
    """Answer of `observations`.

    Attributes
    ----------
    observations : pandas.DataFrame
        A row per metric, side and repeat or block of time: metric, per_unit, side, observation,
        observed_value.
    spread : pandas.DataFrame
        A row per metric and side: metric, per_unit, wanted, side, observed_in, deviation_share.
    """

    observations: pd.DataFrame
    spread: pd.DataFrame


@question(topic="comparison", main="observations")
def observations(comparison: Comparison) -> Observations:
    """Each repeat or block of time that a metric of the comparison was observed in.

    The values that `changes` judges, and their standard deviation.

    Source: as `changes`. A block in which no work was done has no value. The figure of blocks is
    the ratio of their sums, and no mean of these values.
    """
    values: list[dict[str, Any]] = []
    spread: list[dict[str, Any]] = []
    for one in observed(comparison):
        of = {"metric": one.metric.name, "per_unit": one.metric.unit}
        for name, side in (("base", one.base), ("new", one.new)):
            found = _values(side)
            values += [
                {**of, "side": name, "observation": place, "observed_value": value}
                for place, value in enumerate(found, 1)
                if np.isfinite(value)
            ]
            known = found[np.isfinite(found)]
            whole = abs(side.value)
            spread.append(
                {
                    **of,
                    "wanted": one.metric.better,
                    "side": name,
                    "observed_in": side.of,
                    "deviation_share": known.std(ddof=1) / whole
                    if len(known) > 1 and whole
                    else float("nan"),
                }
            )
    if not spread:
        raise CaptureError("the sides have no metric in common: nothing can be compared")
    return Observations(pd.DataFrame(values), pd.DataFrame(spread))


def _values(side: Side) -> "np.ndarray[Any, np.dtype[np.float64]]":
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(side.numerator / side.denominator, dtype="float64")

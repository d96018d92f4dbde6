# The observations of each metric, for other statistics.

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from .metrics import observed


@question()
def observations(comparison: Comparison) -> Answer:
    """Each repeat or block of time in which a metric of the comparison was observed.

    A row per metric, side and repeat or block: the values that `changes` judges; `spread`: their
    standard deviation. A block without any work has no value. The figure over blocks is the ratio
    of their sums, not a mean of these values. Source: as `changes`.
    """
    values, spread = [], []
    for one in observed(comparison):
        metric = one.metric
        for name, side in {"base": one.base, "new": one.new}.items():
            row = {"metric": metric.name, "per_unit": metric.unit, "side": name}
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = side.numerator / side.denominator
            known = np.isfinite(ratios)
            values += [
                {**row, "observation": place + 1, "observed_value": ratios[place]}
                for place in np.flatnonzero(known)
            ]
            deviation = ratios[known].std(ddof=1) if known.sum() > 1 else np.nan
            spread.append(
                {
                    **row,
                    "observed_in": side.of,
                    "deviation_share": deviation / abs(side.value) if side.value else np.nan,
                    "wanted": metric.better,
                }
            )
    if not spread:
        raise CaptureError("the sides have no metric in common: nothing can be compared")
    columns = ["metric", "per_unit", "wanted", "side", "observed_in", "deviation_share"]
    return Answer(observations=pd.DataFrame(values), spread=pd.DataFrame(spread)[columns])

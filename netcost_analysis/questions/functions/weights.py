# What samples stand for.

from typing import TYPE_CHECKING, Any

import numpy as np

from ...stats import shares

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def weights(group: "NDArray[Any]", periods: "pd.Series[Any]", number: int) -> "NDArray[np.int64]":
    # What samples stand for, by group: exact, where floats of bincount would not be.
    total = np.zeros(number, dtype="i8")
    np.add.at(total, group, periods.fillna(1).to_numpy(dtype="i8"))
    return total


def effective(periods: "pd.Series[Any]", taken: "NDArray[np.bool_]") -> float:
    # How many samples of one weight would tell as much.
    known = periods.fillna(1).to_numpy(dtype=float)[taken]
    return shares.effective(float(known.sum()), float((known**2).sum()))

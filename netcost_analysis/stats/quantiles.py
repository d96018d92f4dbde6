"""How long things take, in a few figures."""

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from pandas.core.groupby import SeriesGroupBy

QUANTILES = {"median_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}


def spread(groups: "SeriesGroupBy[Any, Any]") -> pd.DataFrame:
    """mean_ns, median_ns, p90_ns, p99_ns and longest_ns of each group; nulls left out."""
    quantiles = {name: groups.quantile(at) for name, at in QUANTILES.items()}
    return pd.DataFrame({"mean_ns": groups.mean(), **quantiles, "longest_ns": groups.max()})

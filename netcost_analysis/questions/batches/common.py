# What the tables of this topic share: which softirqs are counted, and what is said of waits.

import pandas as pd

from ...stats.histogram import Histogram, spread_of
from ...timeline.group import KNOWN, Where

# Softirqs that were seen from entry to exit; NET_RX of them.
WHOLE: Where = {"entry_ns": KNOWN, "exit_ns": KNOWN}
NET_RX: Where = {"action": "NET_RX", **WHOLE}


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    # A copy whose names are objects: groupby then makes no row for a name that does not occur.
    return frame.assign(
        **{
            name: frame[name].astype(object).where(frame[name].notna(), None)
            for name in frame.columns
            if isinstance(frame[name].dtype, pd.CategoricalDtype)
        }
    )


def rounded_spread(counted: Histogram) -> pd.DataFrame:
    # Mean, quantiles and the longest by its keys, in whole ns.
    return spread_of(counted).round().astype("Int64")

# What the tables of this topic share: NET_RX rows, gaps in the record, quantiles. Pure functions of
# frames.

from typing import Any

import numpy as np
import pandas as pd

from ...display.tables import plain as plain_value
from ...spans import Floats, Ints, Spans, spans_of
from ...stats.histogram import Histogram, spread_of
from ...timeline.group import KNOWN, Where
from ...timeline.owners import NO_DEVICE
from ...timeline.reading import once, rows
from ...timeline.timeline import Timeline


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    # A copy whose names are objects: groupby then makes no row for a name that does not occur.
    return frame.assign(
        **{
            name: frame[name].astype(object).where(frame[name].notna(), None)
            for name in frame.columns
            if isinstance(frame[name].dtype, pd.CategoricalDtype)
        }
    )


# Softirqs that were seen from entry to exit; NET_RX of them.
WHOLE: Where = {"entry_ns": KNOWN, "exit_ns": KNOWN}
NET_RX: Where = {"action": "NET_RX", **WHOLE}


def int64(values: "pd.Series[int]", absent: int = -1) -> Ints:
    # A masked column as plain integers; absent where it is null.
    return np.asarray(values.fillna(absent).to_numpy(dtype="int64"))


def floats(values: "pd.Series[int]") -> Floats:
    # A column without nulls as an array of floats.
    return np.asarray(values.to_numpy(dtype="float64"))


@once
def record_gaps(timeline: Timeline) -> Spans:
    # Where a CPU's record has gaps: a row for each loss, so that there are few.
    return spans_of(rows(timeline, "coverage")[0], group="cpu")


def rounded_spread(counted: Histogram) -> pd.DataFrame:
    # Mean, quantiles and the longest by its keys, in whole ns.
    return spread_of(counted).round().astype("Int64")


def called(device: object) -> str:
    # A device's name in a sentence, or what it is that has none.
    return "a CPU's backlog" if device == NO_DEVICE else str(device)


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    # Rows by column, for a template: None for what is not known.
    return [
        {str(name): plain_value(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]

# What the tables of this topic share: NET_RX rows, gaps in the record, quantiles. Pure functions of
# frames.

from typing import Any

import numpy as np
import pandas as pd

from ...display.tables import plain as plain_value
from ...spans import Floats, Ints, Spans, columns, spans_of
from ...stats.histogram import Histogram, spread_of
from ...timeline.aggregate import NO_DEVICE
from ...timeline.group import KNOWN, Where
from ...timeline.timeline import Timeline
from ..inputs import once, rows


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


def in_order(rows: pd.DataFrame, *names: str) -> pd.DataFrame:
    # Rows by columns of integers without nulls, numbered anew, equal ones as they stood: several
    # times as fast as sort_values(), and what is in order already is not copied.
    keys = [rows[name].to_numpy("int64") for name in names]
    if not _is_ordered(keys):
        rows = rows.take(np.lexsort(keys[::-1]))
    return rows.reset_index(drop=True)


def _is_ordered(keys: list[Ints]) -> bool:
    # Told from neighbours: sorting them to see takes several times as long.
    tied = np.ones(max(len(keys[0]) - 1, 0), dtype=bool)
    for key in keys:
        if (tied & (key[1:] < key[:-1])).any():
            return False
        tied &= key[1:] == key[:-1]
    return True


def floats(values: "pd.Series[int]") -> Floats:
    # A column without nulls as an array of floats.
    return np.asarray(values.to_numpy(dtype="float64"))


@once
def record_gaps(timeline: Timeline) -> Spans:
    # Where a CPU's record has gaps: a row for each loss, so that there are few.
    return spans_of(rows(timeline, "coverage")[0], group="cpu")


def gaps_between(
    irqs: pd.DataFrame, record: Spans | None, lines: "pd.Series[int]"
) -> "pd.Series[int]":
    # Time from the interrupt before of the same line and CPU to each, in order; NA for the first
    # and across a gap of that CPU's record (record_gaps()). lines: which line of which CPU each is.
    before = irqs["entry_ns"].groupby(lines).shift()
    gap_ns = (irqs["entry_ns"] - before).astype("Int64")
    if record is None:
        return gap_ns
    known = irqs.assign(before=before)[before.notna()]
    crossed = record.crossed(*columns(known, "cpu", "before", "entry_ns"))
    return gap_ns.mask(gap_ns.index.isin(known.index[crossed]))


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

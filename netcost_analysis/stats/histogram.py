"""Histograms of lengths. Their counts add up, so the values are never all in memory."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .resampling import Floats, Ints

# Bins per octave of a histogram of lengths: each is at most an eighth of its lower end wide.
PARTS = 8
_POWERS = np.int64(1) << np.arange(63)
QUANTILES = {"median_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
_BIN = ["low", "high"]
_TOTALS = {"count": "sum", "total": "sum", "least": "min", "most": "max"}


class Histogram(NamedTuple):
    """How often each value occurred, by key.

    counts: a row per key and value, or bin of values, that occurred. The index has the keys, low
    and high (equal for a single value); the column is count. totals: a row per key with count,
    total, least and most, all exact. is_binned: whether there were too many values to count singly.
    """

    counts: pd.DataFrame
    totals: pd.DataFrame
    is_binned: bool


def bins(values: Ints) -> tuple[Ints, Ints]:
    """The bin of each non-negative value: its lowest and highest integer, both inclusive.

    Below 16 each integer has its own bin. Above, each power of two has 8 bins of equal width. These
    log-linear bins, like HdrHistogram's, are the same in every recording, so their counts add up.
    """
    integers = np.asarray(values, dtype="int64")
    # The position of the highest bit; log2 on floats would round up just below a power of two.
    exponent = np.searchsorted(_POWERS, integers, side="right") - 1
    shift = np.maximum(exponent - (PARTS.bit_length() - 1), 0)
    low = (integers >> shift) << shift
    return low, low + (np.int64(1) << shift) - 1


def spread_of(counted: Histogram) -> pd.DataFrame:
    """mean_ns, median_ns, p90_ns, p99_ns (float64) and longest_ns (int64) by key.

    mean_ns and longest_ns are exact. So are the others, unless values are binned: then they are off
    by less than 1 % (docs/definitions.md). Quantiles are interpolated linearly, as in numpy and
    pandas.
    """
    totals = counted.totals
    frame = pd.DataFrame({"mean_ns": totals["total"] / totals["count"]})
    for name, at in QUANTILES.items():
        frame[name] = quantile(counted, at)
    return frame.assign(longest_ns=totals["most"])


def quantile(counted: Histogram, at: float) -> "pd.Series[float]":
    """A quantile (0 to 1) of each key, computed like spread_of()'s; for any integers."""
    totals = counted.totals
    names = [str(name) for name in totals.index.names]
    rows = counted.counts.reset_index().sort_values([*names, "low"], kind="stable")
    # rows and sizes have the keys in the same order, so a key's values begin after the previous
    # key's.
    sizes = rows.groupby(names, dropna=False, sort=True)["count"].sum()
    begins = np.cumsum(sizes.to_numpy()) - sizes.to_numpy()
    ends = np.cumsum(rows["count"].to_numpy())
    rank = at * (sizes.to_numpy() - 1)
    below = rank.astype("int64")
    first, second = (
        _value(rows, ends, begins + np.minimum(below + step, sizes.to_numpy() - 1))
        for step in (0, 1)
    )
    values = pd.Series(first + (second - first) * (rank - below), index=sizes.index)
    if not values.index.equals(totals.index):
        values = values.reindex(totals.index)
    # Interpolation within a bin may pass the smallest or largest value.
    return values.clip(lower=totals["least"].astype("float64"), upper=totals["most"])


def _value(rows: pd.DataFrame, ends: Ints, places: Ints) -> Floats:
    # The values at positions of the sorted whole; a bin's values are assumed to be evenly spaced.
    row = np.searchsorted(ends, places, side="right")
    low, high, count = (rows[name].to_numpy("int64")[row] for name in (*_BIN, "count"))
    before = places - (ends[row] - count)
    value: Floats = low + (high - low) * (before + 0.5) / count
    return value


def narrowed(counted: Histogram, by: list[str], where: dict[str, Any]) -> Histogram:
    """A part of a histogram with only the keys `by`, in that order.

    where: values that other keys must have. Counts add up over the remaining keys.
    """
    counts, totals = counted.counts, counted.totals
    for name, value in where.items():
        counts = counts[counts.index.get_level_values(name) == value]
        totals = totals[totals.index.get_level_values(name) == value]
    return Histogram(
        counts.groupby(level=[*by, *_BIN], dropna=False).sum(),
        totals.groupby(level=by[0] if len(by) == 1 else by, dropna=False).agg(_TOTALS),
        counted.is_binned,
    )

"""How long things take, of values that are never all in memory: counts that add up."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from .resampling import Floats, Ints

# Bins of an octave in a histogram of lengths: each is at most an eighth of its lower end wide.
PARTS = 8
_POWERS = np.int64(1) << np.arange(63)
QUANTILES = {"median_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
_BIN = ["low", "high"]
_TOTALS = {"count": "sum", "total": "sum", "least": "min", "most": "max"}


class Histogram(NamedTuple):
    """How often each value occurred, by key.

    counts: a row per key and value, or bin of values, that occurred: index the keys, low and high
    (for a single value twice itself); count. totals: a row per key: count, total, least and most,
    all exact. is_binned: whether there were more values than could be kept apart.
    """

    counts: pd.DataFrame
    totals: pd.DataFrame
    is_binned: bool


def bins(values: Ints) -> tuple[Ints, Ints]:
    """The bin of each value, 0 or more: its lowest and its highest integer, both within it.

    Below 16 each integer has a bin of its own; above, each power of two has 8 bins of the same
    width. These are log-linear bins, as HdrHistogram has them: the same in every recording, so
    their counts add up.
    """
    whole = np.asarray(values, dtype="int64")
    # The place of the highest bit; floats would round what is just below a power of two.
    exponent = np.searchsorted(_POWERS, whole, side="right") - 1
    shift = np.maximum(exponent - (PARTS.bit_length() - 1), 0)
    low = (whole >> shift) << shift
    return low, low + (np.int64(1) << shift) - 1


def spread_of(counted: Histogram) -> pd.DataFrame:
    """By key mean_ns, median_ns, p90_ns, p99_ns (float64) and longest_ns (int64), of lengths in ns.

    mean_ns and longest_ns are exact, and the others too unless values are in bins: then they are
    off by less than 1 % of what they say (docs/definitions.md). A quantile between two values lies
    on the line between them, as in numpy and pandas.
    """
    totals = counted.totals
    frame = pd.DataFrame({"mean_ns": totals["total"] / totals["count"]})
    for name, at in QUANTILES.items():
        frame[name] = quantile(counted, at)
    return frame.assign(longest_ns=totals["most"])


def quantile(counted: Histogram, at: float) -> "pd.Series[float]":
    """One quantile of each key, from 0 to 1, as spread_of() has it; of any integers."""
    totals = counted.totals
    names = [str(name) for name in totals.index.names]
    rows = counted.counts.reset_index().sort_values([*names, "low"], kind="stable")
    # Keys in one order in both: a key's values follow each other, and begin behind the last one's.
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
    # No value of a bin's that did not occur at its end.
    return values.clip(lower=totals["least"].astype("float64"), upper=totals["most"])


def _value(rows: pd.DataFrame, ends: Ints, places: Ints) -> Floats:
    # The values at some places of all in order; within a bin they are taken to lie evenly.
    row = np.searchsorted(ends, places, side="right")
    low, high, count = (rows[name].to_numpy("int64")[row] for name in (*_BIN, "count"))
    before = places - (ends[row] - count)
    value: Floats = low + (high - low) * (before + 0.5) / count
    return value


def narrowed(counted: Histogram, by: list[str], where: dict[str, Any]) -> Histogram:
    """A part of a histogram, by fewer keys: by, in their order.

    where: the values that other keys have to have; over what is not named, counts add up.
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

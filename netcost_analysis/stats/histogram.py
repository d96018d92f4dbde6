"""How long things take, of values that are never all in memory: counts that add up."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from .bins import bins
from .resampling import Floats, Ints

if TYPE_CHECKING:
    from pandas.core.groupby import DataFrameGroupBy

QUANTILES = {"median_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
# Different values, over all keys, up to which every value is counted by itself: some 50 MB.
MAX_VALUES = 200_000
# Of an octave: a bin is at most a 128th of its values wide.
_PARTS = 128
_BIN = ["low", "high"]
_SUMS = ("count", "total")
_TOTALS = {"count": "sum", "total": "sum", "least": "min", "most": "max"}
_WIDEST = 2**62


class Histogram(NamedTuple):
    """How often each value occurred, by key; merging two is adding them up.

    counts: a row per key and value, or bin of values, that occurred: index the keys, low and high
    (for a single value twice itself); count. totals: a row per key: count, total, least and most,
    all exact. is_binned: whether there were more values than could be kept apart.
    """

    counts: pd.DataFrame
    totals: pd.DataFrame
    is_binned: bool


def histogram(
    values: "pd.Series[int]", keys: pd.DataFrame, most_values: int = MAX_VALUES
) -> Histogram:
    """Count integers, 0 or more, without nulls.

    keys: columns that tell apart what is counted, a row for each value; nulls are a key too.
    most_values: with more different ones, over all keys, they are put into bins.
    """
    number, known = told_apart(keys)
    groups = known.groupby(list(known), dropna=False, observed=True)
    index, place = groups.size().index, np.asarray(groups.ngroup(), "int64")
    key, value, count = _counted(place[number], np.asarray(values, "int64"), len(known))
    counts = pd.DataFrame({"count": count}, index=_of_values(index, key, value))
    # Values rise within a key.
    first = np.flatnonzero(np.diff(key, prepend=-1))
    last = np.append(first, len(key))[1:] - 1
    sums = np.append(0, np.cumsum(count)), np.append(0, np.cumsum(count * value))
    totals = {name: of[last + 1] - of[first] for name, of in zip(_SUMS, sums, strict=True)}
    totals |= {"least": value[first], "most": value[last]}
    return _within(Histogram(counts, pd.DataFrame(totals, index=index), False), most_values)


def told_apart(keys: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """The number of each row, by its keys, nulls among them, and the keys of each number.

    Numbers are in the order of the rows; names are objects in the keys.
    """
    number, width = np.zeros(len(keys), dtype="int64"), 1
    for name in keys:
        codes, size = _codes(keys[name])
        if width > _WIDEST // size:
            number, width = pd.factorize(number)[0].astype("int64"), len(keys)
        number, width = number * size + codes, width * size
    number, known = pd.factorize(number)
    first = np.zeros(len(known), dtype="int64")
    # Of equal places the last one written stays.
    first[number[::-1]] = np.arange(len(number))[::-1]
    rows = keys.take(first)
    named = [one for one in rows if isinstance(rows[one].dtype, pd.CategoricalDtype)]
    return number, rows.astype(dict.fromkeys(named, object))


def _codes(column: "pd.Series[Any]") -> tuple[Ints, int]:
    # Numbers from 0, the null's among them, and how many there may be.
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.codes.to_numpy().astype("int64") + 1, len(column.cat.categories) + 1
    codes, known = pd.factorize(column)
    return codes.astype("int64") + 1, len(known) + 1


def _of_values(index: Any, key: Ints, value: Ints) -> pd.MultiIndex:
    # By key, low and high. key: the place in the index.
    each: Any
    place: Any
    each, place = np.unique(value, return_inverse=True)
    is_one = not isinstance(index, pd.MultiIndex)
    levels, codes = ([index], [key]) if is_one else (index.levels, [of[key] for of in index.codes])
    names = [*index.names, *_BIN]
    return pd.MultiIndex([*levels, each, each], [*codes, place, place], names=names)


def _counted(key: Ints, value: Ints, keys: int) -> tuple[Ints, Ints, Ints]:
    # Each pair once, in their order, and how often it occurs.
    width = int(value.max(initial=0)) + 1
    if width <= _WIDEST // max(keys, 1):
        # As one number they are sorted in a fraction of the time.
        both = np.sort(key * width + value)
        begins = np.flatnonzero(np.diff(both, prepend=-1))
        key, value = np.divmod(both[begins], width)
        return key, value, np.diff(begins, append=len(both))
    order = np.lexsort((value, key))
    key, value = key[order], value[order]
    begins = np.flatnonzero(np.diff(key, prepend=-1) | np.diff(value, prepend=-1))
    return key[begins], value[begins], np.diff(begins, append=len(key))


def merged(one: Histogram | None, other: Histogram, most_values: int = MAX_VALUES) -> Histogram:
    """Two histograms as one; into which parts values were dealt before makes no difference."""
    if one is None:
        return other
    # What was counted by itself goes where the other's values are.
    binned = one.is_binned or other.is_binned
    one, other = (_binned(part) if binned else part for part in (one, other))
    counts = _by_index(pd.concat([one.counts, other.counts])).sum()
    totals = _by_index(pd.concat([one.totals, other.totals])).agg(_TOTALS)
    return _within(Histogram(counts, totals, binned), most_values)


def _by_index(frame: pd.DataFrame) -> "DataFrameGroupBy[Any, Any]":
    return frame.groupby(level=list(range(frame.index.nlevels)), dropna=False, sort=True)


def _within(counted: Histogram, most_values: int) -> Histogram:
    return _binned(counted) if len(counted.counts) > most_values else counted


def _binned(counted: Histogram) -> Histogram:
    if counted.is_binned:
        return counted
    rows = counted.counts.reset_index()
    rows["low"], rows["high"] = bins(rows["low"].to_numpy(), _PARTS)
    names = [str(name) for name in counted.counts.index.names]
    counts = rows.groupby(names, dropna=False, observed=True)[["count"]].sum()
    return Histogram(counts, counted.totals, True)


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
    """A part of one, told apart by fewer keys: by, in their order.

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

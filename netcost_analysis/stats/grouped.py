"""Rows told apart by their names and summed, by the codes of names: for a batch of many rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from .resampling import Ints

Numbers = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
_WIDEST = 2**62
_EXACT = 2**53
_BITS = 24
_LOW = 2**_BITS - 1


def is_any(column: "pd.Series[Any]", names: Sequence[str]) -> Flags:
    """Which values of a column of names are one of these; a null is none."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column.isin(list(names)).to_numpy(dtype=bool)
    known = np.append(column.cat.categories.isin(list(names)), False)
    # The code of a null is -1: the last.
    flags: Flags = known[column.cat.codes.to_numpy()]
    return flags


def sums_by(keys: pd.DataFrame, values: Mapping[str, Numbers]) -> pd.DataFrame:
    """Sums of values by keys, as groupby(dropna=False) has them, in the order of the rows.

    Names and integers tell rows apart, nulls among themselves; names are objects in the result's
    index, which is of the keys. values: by name an array of each row's, int64 or float64; sums of
    integers are exact.
    """
    number, known = told_apart(keys)
    is_one = len(known.columns) == 1
    index = pd.Index(known.iloc[:, 0]) if is_one else pd.MultiIndex.from_frame(known)
    sums = {name: _summed(number, of, len(known)) for name, of in values.items()}
    return pd.DataFrame(sums, index=index)


def told_apart(keys: pd.DataFrame) -> tuple[Ints, pd.DataFrame]:
    """Number rows by their keys, nulls among them, in the order of the rows.

    Returns the number of each row, and the keys of each number: names are objects there.
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


def _summed(number: Ints, values: Numbers, size: int) -> Numbers:
    if values.dtype.kind == "f":
        sums: Numbers = np.bincount(number, values, size)
        return sums
    # bincount adds floats, which hold whole numbers up to here to the last digit.
    if int(np.abs(values).max(initial=0)) * len(values) < _EXACT:
        return np.bincount(number, values, size).astype("int64")
    low, high = (np.bincount(number, part, size) for part in (values & _LOW, values >> _BITS))
    whole: Numbers = (high.astype("int64") << _BITS) + low.astype("int64")
    return whole

"""Rows told apart by the codes of their names, for many rows."""

from typing import Any

import numpy as np
import pandas as pd

from .resampling import Ints

_WIDEST = 2**62


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

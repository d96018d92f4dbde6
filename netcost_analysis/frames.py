# Native's Arrow tables as DataFrames: without a copy where pandas can hold the same bytes.

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def to_frame(source: Any, names: Iterable[str] | None = None) -> pd.DataFrame:
    # source: anything with the Arrow PyCapsule interface. names: the columns, None for all. A
    # column's dtype follows from its declared type, never from its values: a nullable integer is a
    # masked Int64 even without a null, so nanoseconds never pass through a float.
    table = pa.table(source)
    if names is not None:
        table = table.select(list(names))
    return _frame(table, _column)


def plain_frame(source: Any, unknown: str | None = None) -> pd.DataFrame:
    # Like to_frame(), for small tables, with strings instead of categories: groupby then makes no
    # row for a name that does not occur, and names of different tables compare. unknown replaces
    # nulls.
    def plain(array: Any, field: Any) -> Any:
        kind = field.type
        if not pa.types.is_dictionary(kind) or pa.types.is_integer(kind.value_type):
            return _column(array, field)
        names = np.array([*array.dictionary.to_pylist(), unknown], dtype=object)
        return pd.Series(names[_codes(array)], dtype=object)

    return _frame(pa.table(source), plain)


def _frame(table: Any, column: Callable[[Any, Any], Any]) -> pd.DataFrame:
    columns = {
        field.name: column(_one_chunk(table.column(position)), field)
        for position, field in enumerate(table.schema)
    }
    # copy=False keeps each column a view of Arrow's buffer: consolidating 2 M segments costs more
    # than decoding them.
    return pd.DataFrame(columns, copy=False)


def most_first(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    # The rows by falling values of a column, equal ones in their order, numbered anew.
    return frame.sort_values(name, ascending=False, kind="stable", ignore_index=True)


def is_list(kind: Any) -> bool:
    # Arrow has lists with 32-bit and with 64-bit offsets.
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _one_chunk(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks else pa.array([], type=column.type)


def _column(array: Any, field: Any) -> Any:
    kind = field.type
    if pa.types.is_dictionary(kind) and pa.types.is_integer(kind.value_type):
        # An address. Tables are joined on it, so it must have the same type in all of them.
        array = array.dictionary_decode()
        return pd.arrays.IntegerArray(_values(array), _mask(array))
    if pa.types.is_dictionary(kind):
        return _categorical(array)
    if pa.types.is_integer(kind):
        if not field.nullable:
            return array.to_numpy()
        return pd.arrays.IntegerArray(_values(array), _mask(array))
    if pa.types.is_boolean(kind):
        values = array.to_numpy(zero_copy_only=False) if not array.null_count else None
        if not field.nullable and values is not None:
            return values
        filled = pc.fill_null(array, False).to_numpy(zero_copy_only=False)
        return pd.arrays.BooleanArray(filled, _mask(array))
    if pa.types.is_floating(kind):
        return array.to_numpy(zero_copy_only=False)
    if is_list(kind):
        # Shares the buffer and keeps the value type on explode(). Lists as objects would make a
        # Python object of every value.
        return pd.arrays.ArrowExtensionArray(array)
    return array.to_pandas()


def _values(array: Any) -> Any:
    # The data buffer as numpy; the value at a null is whatever native left there.
    width = array.type.bit_width // 8
    sign = "i" if pa.types.is_signed_integer(array.type) else "u"
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, dtype=f"{sign}{width}")
    return np.frombuffer(data, dtype=f"{sign}{width}", count=array.offset + len(array))[
        array.offset :
    ]


def _mask(array: Any) -> Any:
    # True where null, from Arrow's validity bits, which are 1 where valid.
    if not array.null_count:
        return np.zeros(len(array), dtype=bool)
    bits = ~np.frombuffer(array.buffers()[0], dtype="u1")
    nulls = np.unpackbits(bits, count=array.offset + len(array), bitorder="little")
    return nulls[array.offset :].view(bool)


def _categorical(array: Any) -> pd.Categorical:
    dtype = _named(tuple(array.dictionary.to_pylist()))
    return pd.Categorical.from_codes(_codes(array), dtype=dtype, validate=False)


def _codes(array: Any) -> Any:
    codes = _values(array.indices)
    if array.indices.null_count:
        # pandas' code for a null is -1, which an unsigned type cannot hold.
        codes = codes if codes.dtype.kind == "i" else codes.astype("i8")
        codes = codes | np.negative(_mask(array.indices).view("i1"), dtype=codes.dtype)
    return codes


@lru_cache(maxsize=64)
def _named(names: tuple[str, ...]) -> pd.CategoricalDtype:
    # Batches repeat the same names, and building the dtype takes longer than converting the codes.
    return pd.CategoricalDtype(pa.array(names, pa.string()).to_pandas())

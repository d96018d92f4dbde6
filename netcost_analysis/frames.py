# Native's Arrow tables as DataFrames: without a copy where pandas can hold the same bytes.

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def to_frame(source: Any) -> pd.DataFrame:
    # source: anything with the Arrow PyCapsule interface. A column's dtype follows from its
    # declared type, never from its values: an integer that may be null is a masked Int64 even where
    # no null occurs, so nanoseconds never pass through a float.
    table = pa.table(source)
    columns = {
        field.name: _column(_one_chunk(table.column(position)), field)
        for position, field in enumerate(table.schema)
    }
    # copy=False keeps each column a view of Arrow's buffer; consolidating 2 M segments would cost
    # more than decoding.
    return pd.DataFrame(columns, copy=False)


def _one_chunk(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks() if column.num_chunks else pa.array([], type=column.type)


def _column(array: Any, field: Any) -> Any:
    kind = field.type
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
    return array.to_pandas()


def _values(array: Any) -> Any:
    # The data buffer as numpy; what lies under a null is whatever native left there.
    width = array.type.bit_width // 8
    sign = "i" if pa.types.is_signed_integer(array.type) else "u"
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, dtype=f"{sign}{width}")
    return np.frombuffer(data, dtype=f"{sign}{width}", count=array.offset + len(array))[
        array.offset :
    ]


def _mask(array: Any) -> Any:
    if not array.null_count:
        return np.zeros(len(array), dtype=bool)
    return pc.is_null(array).to_numpy(zero_copy_only=False)


def _categorical(array: Any) -> pd.Categorical:
    codes = array.indices
    if codes.null_count:
        values = _values(codes)
        # Native writes -1, pandas' code for a null, under its nulls; codes from elsewhere are
        # rewritten.
        if values.dtype.kind != "i" or np.count_nonzero(values < 0) != codes.null_count:
            values = np.where(_mask(codes), -1, values.astype(np.int32))
    else:
        values = codes.to_numpy()
    dtype = pd.CategoricalDtype(array.dictionary.to_pandas())
    return pd.Categorical.from_codes(values, dtype=dtype, validate=False)

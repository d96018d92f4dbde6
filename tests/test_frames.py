# Arrow to pandas: the dtype follows from the declared type; no nanosecond passes through a float.

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis.frames import to_frame

# One more than a float can tell from its neighbour.
BIG = (1 << 60) + 1


def frame(nullable: bool, **columns: Any) -> pd.DataFrame:
    schema = pa.schema([pa.field(name, value.type, nullable) for name, value in columns.items()])
    return to_frame(pa.Table.from_arrays(list(columns.values()), schema=schema))


def test_an_integer_that_is_never_null_is_a_view() -> None:
    source = pa.array([BIG, 2], pa.int64())
    made = frame(nullable=False, time_ns=source)["time_ns"]
    assert made.dtype == np.dtype("int64")
    assert made.tolist() == [BIG, 2]
    assert np.shares_memory(made.to_numpy(), source.to_numpy())


# With a null or not it is the same dtype.
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int32(), pa.uint8()])
def test_an_integer_that_may_be_null_is_masked(kind: Any) -> None:
    for values in ([None, 3, None, 5] * 5, [3] * 20):
        made = frame(nullable=True, id=pa.array(values, kind).slice(3))["id"]
        assert str(made.dtype).lower() == str(kind)
        assert [None if pd.isna(one) else one for one in made] == values[3:]
    assert frame(nullable=True, ns=pa.array([BIG], pa.int64()))["ns"][0] == BIG


def names(column: pd.Series) -> list[str | None]:  # type: ignore[type-arg]
    return list(column.astype(object).where(column.notna(), None))


# Codes of -1 under nulls are taken as they are, and chunks may have dictionaries of their own.
def test_dictionary_becomes_category() -> None:
    made = frame(nullable=True, device=pa.array(["eth0", None, "lo"]).dictionary_encode())
    assert made["device"].dtype == "category"
    assert names(made["device"]) == ["eth0", None, "lo"]
    codes = pa.Array.from_buffers(
        pa.int8(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, -1, 1], "i1"))]
    )
    made = frame(nullable=True, device=pa.DictionaryArray.from_arrays(codes, ["eth0", "lo"]))
    assert made["device"].cat.codes.tolist() == [0, -1, 1]
    one, two = (pa.array(names).dictionary_encode() for names in (["a", "b"], ["c", None, "a"]))
    chunks = {"comm": pa.chunked_array([one, two]), "n": pa.chunked_array([[1, 2], [3, 4, 5]])}
    made = to_frame(pa.table(chunks))
    assert names(made["comm"]) == ["a", "b", "c", None, "a"]
    assert made["n"].tolist() == [1, 2, 3, 4, 5]


def test_booleans_and_strings() -> None:
    made = frame(nullable=True, in_kthread=pa.array([True, None]), text=pa.array(["x", None]))
    assert made["in_kthread"].isna().tolist() == [False, True]
    assert made["text"][0] == "x"
    assert frame(nullable=False, flag=pa.array([True, False]))["flag"].dtype == np.dtype("bool")


# A million samples have some twenty million frames: exploded, they stay eight bytes each.
@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_lists_explode_into_their_own_type(kind: Any) -> None:
    chains = pa.array([[2**64 - 1, BIG], None, [], [3]], kind(pa.uint64()))
    made = frame(nullable=True, ip=pa.array([1, 2, 3, 4]), callchain=chains)
    flat = made.explode("callchain")
    assert flat["ip"].tolist() == [1, 1, 2, 3, 4]
    assert flat["callchain"].dtype == pd.ArrowDtype(pa.uint64())
    assert flat["callchain"].dropna().tolist() == [2**64 - 1, BIG, 3]
    assert made["callchain"].list.len().dropna().tolist() == [2, 0, 1]
    assert made["callchain"].isna().tolist() == [False, True, False, False]
    assert (made["callchain"].iloc[0], made["callchain"].iloc[2]) == ([2**64 - 1, BIG], [])


def test_no_rows_keep_their_types() -> None:
    made = frame(
        nullable=True,
        id=pa.array([], pa.uint64()),
        device=pa.array([], pa.string()).dictionary_encode(),
    )
    assert made.dtypes.map(str).tolist() == ["UInt64", "category"]
    assert len(to_frame(pa.table({"n": pa.chunked_array([], pa.int64())}))) == 0

# Arrow to pandas: the dtype follows from the declared type; no nanosecond passes through a float.

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis._native import columns
from netcost_analysis.frames import to_frame
from netcost_analysis.timeline.tables import TABLES
from support.kept import kept

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


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int32(), pa.uint8()])
def test_an_integer_that_may_be_null_is_masked(kind: Any) -> None:
    values = [None, 3, None, 5] * 5
    made = frame(nullable=True, id=pa.array(values, kind).slice(3))["id"]
    assert str(made.dtype).lower() == str(kind)
    assert [None if pd.isna(one) else one for one in made] == values[3:]


def test_null_or_not_it_is_the_same_dtype() -> None:
    whole = frame(nullable=True, ns=pa.array([BIG], pa.int64()))["ns"]
    assert whole.dtype == pd.Int64Dtype()
    assert whole[0] == BIG


def test_dictionary_becomes_category() -> None:
    names = pa.array(["eth0", None, "lo", "eth0"]).dictionary_encode()
    made = frame(nullable=True, device=names)["device"]
    assert made.dtype == "category"
    assert made.astype(object).where(made.notna(), None).tolist() == ["eth0", None, "lo", "eth0"]


def test_codes_of_minus_one_under_nulls_are_taken_as_they_are() -> None:
    codes = pa.Array.from_buffers(
        pa.int8(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(np.array([0, -1, 1], "i1"))]
    )
    names = pa.DictionaryArray.from_arrays(codes, ["eth0", "lo"])
    assert frame(nullable=True, device=names)["device"].cat.codes.tolist() == [0, -1, 1]


def test_chunks_with_their_own_dictionaries() -> None:
    one, two = (pa.array(names).dictionary_encode() for names in (["a", "b"], ["c", None, "a"]))
    table = pa.table(
        {"comm": pa.chunked_array([one, two]), "n": pa.chunked_array([[1, 2], [3, 4, 5]])}
    )
    made = to_frame(table)
    assert made["comm"].astype(object).where(made["comm"].notna(), None).tolist() == [
        *"abc",
        None,
        "a",
    ]
    assert made["n"].tolist() == [1, 2, 3, 4, 5]


def test_booleans_strings_and_lists() -> None:
    made = frame(
        nullable=True,
        in_kthread=pa.array([True, None]),
        text=pa.array(["x", None]),
        args=pa.array([[1, 2], []]),
    )
    assert made["in_kthread"].isna().tolist() == [False, True]
    assert made["text"][0] == "x"
    assert list(made["args"][0]) == [1, 2]
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


# Of every table and kind of column: numbers, names, both with and without nulls.
@pytest.mark.parametrize("sample", ["nic-stolen-time", "veth-stolen-time"])
def test_plain_columns_are_those_of_arrow(sample: str) -> None:
    native = kept(sample).native
    made = native.timeline(list(TABLES), end_ns=native.scan()["start_ns"] + 50_000_000)
    tables = made["tables"] | {name: made[name] for name in ("sums", "irqs", "longest")}
    for table in tables.values():
        assert columns(table) == pa.table(table).to_pydict()

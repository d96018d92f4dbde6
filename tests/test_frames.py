# Arrow to pandas: the dtype follows from the declared type; no nanosecond passes through a float.

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from netcost_analysis.arrow import columns, parts
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


# Native's tables as lists are what pyarrow makes of them, wherever a slice begins.


TYPES: list[tuple[pa.DataType, list[Any]]] = [
    *((kind, [1, None, 100]) for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16())),
    *((kind, [None, 2**31 - 1, 0]) for kind in (pa.int32(), pa.uint32(), pa.int64())),
    (pa.uint64(), [2**64 - 1, None, 1]),
    *((kind, [1.5, None, -0.0]) for kind in (pa.float32(), pa.float64())),
    (pa.bool_(), [True, None, False]),
    *((kind, ["", None, "µs"]) for kind in (pa.string(), pa.large_string())),
    *((kind, [b"\0a", None, b""]) for kind in (pa.binary(), pa.large_binary())),
    *((kind(pa.int32()), [[1, None], None, []]) for kind in (pa.list_, pa.large_list)),
    (pa.list_(pa.string()), [["a", ""], [], None]),
    (pa.dictionary(pa.int8(), pa.string()), ["eth0", None, "lo"]),
    (pa.int64(), [None] * 3),
]


def test_every_type_from_every_place_on() -> None:
    made = [pa.array(values * 7, kind) for kind, values in TYPES]
    # What lies under a null is no place in the dictionary.
    codes = [
        pa.py_buffer(0b101_101_101_101_101_101_101.to_bytes(3, "little")),
        pa.py_buffer(bytes([0, 99, 1] * 7)),
    ]
    made.append(pa.DictionaryArray.from_arrays(pa.Array.from_buffers(pa.int8(), 21, codes), "ab"))
    table = pa.Table.from_arrays(made, names=list(map(str, range(len(made)))))
    assert columns(table)["0"] == [1, None, 100] * 7
    for start in range(22):
        for number in (0, 1, 9, 21):
            some = table.slice(start, number)
            assert columns(some) == some.to_pydict(), (start, number)


def test_chunks_have_dictionaries_of_their_own() -> None:
    one, two = (pa.array(names).dictionary_encode() for names in (["a", "b"], ["c", None, "a"]))
    table = pa.table({"comm": pa.chunked_array([one, two])})
    assert columns(table) == {"comm": ["a", "b", "c", None, "a"]}
    lengths = [len(part["comm"]) for part in parts(table, 2)]
    assert lengths == [0, 2, 2, 1]


def test_another_type_is_named() -> None:
    with pytest.raises(TypeError, match="column when"):
        columns(pa.table({"when": pa.array([0], pa.date32())}))


# Of every table and kind of column: numbers, names, both with and without nulls.
@pytest.mark.parametrize("sample", ["nic-stolen-time", "veth-stolen-time"])
def test_plain_columns_are_those_of_arrow(sample: str) -> None:
    native = kept(sample).native
    made = native.timeline(list(TABLES), end_ns=native.scan()["start_ns"] + 50_000_000)
    tables = made["tables"] | {name: made[name] for name in ("sums", "irqs", "longest")}
    for table in tables.values():
        assert columns(table) == pa.table(table).to_pydict()

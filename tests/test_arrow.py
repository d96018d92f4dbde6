# Native's tables as lists are what pyarrow makes of them, wherever a slice begins.

from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis.arrow import columns, parts
from netcost_analysis.timeline.tables import TABLES
from support.kept import kept

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

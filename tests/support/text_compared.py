# A text beside another capture of the same events: tables agree, as far as a text can know.

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture

Value = Any
# What text cannot say: numbers of events, and of a handler only that it handled something.
ABSENT = {"common_type"}


def tables(path: Path, **options: Any) -> dict[str, pa.Table]:
    found = Capture(str(path), **options).all_events()
    read = {name: pa.table(table) for name, table in found.items()}
    return {name: table for name, table in read.items() if len(table)}


def as_text_has_it(name: str, values: list[Value], ns: int, half: int) -> list[Value]:
    if name == "time_ns":
        return [(value + half) // ns * ns for value in values]
    if name == "ret":
        return [min(value, 1) for value in values]
    return values


# Every event of one CPU after the other, each CPU's in its own order.
def by_cpu(table: pa.Table, names: list[str], ns: int, half: int = 0) -> list[tuple[Value, ...]]:
    columns = [as_text_has_it(name, table[name].to_pylist(), ns, half) for name in names]
    return sorted(zip(*columns, strict=True), key=lambda row: row[names.index("common_cpu")])


def assert_same(
    text: Path, other: Path, ns: int = 1, absent: frozenset[str] = frozenset(), half: int = 0
) -> Counter[str]:
    """
    Events and fields of both captures are the same; how many there are of each.

    :param ns: resolution of the text
    :param half: added before times are cut to it, where the writer rounds
    :param absent: columns that the text lacks besides `common_type`, or shows in another way
    """
    found, wanted = tables(text), tables(other)
    assert set(found) == set(wanted)
    for event, table in found.items():
        names = [name for name in wanted[event].column_names if name not in ABSENT | absent]
        assert set(names) <= set(table.column_names), event
        for name in names:
            assert kind(table, name) == kind(wanted[event], name), (event, name)
        theirs = by_cpu(wanted[event], names, ns, half)
        assert by_cpu(table, names, ns) == theirs, event
    return Counter({event: len(table) for event, table in found.items()})


def kind(table: pa.Table, name: str) -> pa.DataType:
    found = table.schema.field(name).type
    return found.value_type if pa.types.is_dictionary(found) else found

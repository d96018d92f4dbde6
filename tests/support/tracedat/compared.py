# A whole trace.dat as the decoder reads it, against what trace-cmd shows of the same file: every
# event, every field, every loss.

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture

from .report import Reported, number, report

COMMON = re.compile(r"common_|time_")
ARRAY = re.compile(r"ARRAY\[(.*)\]")


def fields(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if not COMMON.match(name)]


def plain(value: Any, element: int) -> Any:
    if isinstance(value, list):
        return b"".join((one % 2 ** (8 * element)).to_bytes(element, "little") for one in value)
    return value if isinstance(value, (str, bytes)) or value is None else int(value) % 2**64


# What trace-cmd shows, as the value that it may stand for.
def shown(text: str, base: int) -> Any:
    if array := ARRAY.fullmatch(text):
        return bytes(int(one, 16) for one in array[1].split(", ") if one)
    try:
        return (number(text) if base == 10 else int(text, base)) % 2**64
    except ValueError:
        return text


# Numbers stand in the base of their print format, which does not always say so: a column is right
# if it is in one of them. Text is what it is.
def same(mine: list[Any], theirs: list[str]) -> bool:
    if all(isinstance(one, str) for one in mine):
        return mine == theirs
    for base in (10, 16, 8):
        pairs = [(one, shown(text, base)) for one, text in zip(mine, theirs, strict=True)]
        if all(one == other or is_named(one, other) for one, other in pairs):
            return True
    return False


# trace-cmd shows what it knows of an address instead, its name or the text there; and bytes that a
# print format takes for text end where that does.
def is_named(mine: Any, theirs: Any) -> bool:
    if not isinstance(theirs, str):
        return False
    if isinstance(mine, bytes):
        return mine.split(b"\0")[0] == theirs.encode(errors="surrogateescape")
    return isinstance(mine, int) and mine >= 1 << 30


# trace-cmd shows as many addresses as the format says, and reads on behind the record for them.
def same_stacks(mine: list[Any], theirs: list[str]) -> bool:
    wanted = [shown(text, 10) for text in theirs]
    return all(
        one[: len(other)] == other[: len(one)] for one, other in zip(mine, wanted, strict=True)
    )


def width(kind: pa.DataType) -> int:
    return kind.value_type.bit_width // 8 if pa.types.is_list(kind) else 0


def assert_same(path: Path, buffer: str = "") -> dict[str, int]:
    """
    Compare all events of one buffer.

    :return: how many there are of each event
    """
    capture = Capture(str(path), buffer=buffer)
    unit = capture.header()["time_unit"]
    tables = {name.partition(":")[2]: pa.table(one) for name, one in capture.all_events().items()}
    tables = {name: table for name, table in tables.items() if len(table)}
    reported = report(path, {name: fields(table) for name, table in tables.items()}, "--nodate")
    wanted = [one for one in reported if one.buffer == buffer]
    assert Counter(one.event for one in wanted) == {name: len(one) for name, one in tables.items()}
    for event, table in tables.items():
        theirs = [one for one in wanted if one.event == event]
        widths = {name: width(table.schema.field(name).type) for name in fields(table)}
        rows = table.to_pylist()
        # Both are in the order of time; CPUs that tie come in either order.
        rows.sort(key=lambda row: (row[f"time_{unit}"], row["common_cpu"]))
        theirs.sort(key=lambda one: (one.time, one.cpu))
        for row, one in zip(rows, theirs, strict=True):
            where = (row[f"time_{unit}"], row["common_cpu"], row["common_pid"])
            assert where == (one.time, one.cpu, one.pid), event
        for name, element in widths.items():
            mine = [plain(row[name], element) for row in rows]
            texts = [one.fields[name] for one in theirs]
            check = same_stacks if (event, name) == ("kernel_stack", "caller") else same
            assert check(mine, texts), (event, name, mine[:5], texts[:5])
    assert_same_losses(capture, wanted)
    return {name: len(table) for name, table in tables.items()}


# A loss ends at the event that trace-cmd marks.
def assert_same_losses(capture: Capture, reported: list[Reported]) -> None:
    scan = capture.scan()
    marked = [one for one in reported if one.dropped]
    assert scan["lost_events"] == sum(one.dropped for one in marked if one.dropped > 0)
    assert scan["lost_unknown"] == sum(one.dropped < 0 for one in marked)
    coverage = pa.table(scan["coverage"]).to_pylist()
    ends = sorted((row["cpu"], row["end_ns"], max(row["lost"] or 0, 0)) for row in coverage)
    assert ends == sorted((one.cpu, one.time, max(one.dropped, 0)) for one in marked)

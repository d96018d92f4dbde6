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
# trace-cmd shows names of kernel addresses in these, even in its raw format.
NAMED = re.compile(r"[a-zA-Z_][\w.]*(\+0x[0-9a-f]+)?")


def fields(table: pa.Table) -> list[str]:
    return [name for name in table.column_names if not COMMON.match(name)]


def plain(value: Any, element: int) -> Any:
    if isinstance(value, list):
        order = "little"
        return b"".join((one % 2 ** (8 * element)).to_bytes(element, order) for one in value)
    return value if isinstance(value, (str, bytes)) or value is None else int(value) % 2**64


# What trace-cmd's text would be as our value: a number, bytes, text. None where it shows a symbol.
def understood(text: str, mine: Any) -> Any:
    if array := ARRAY.fullmatch(text):
        return bytes(int(one, 16) for one in array[1].split(", ") if one)
    if isinstance(mine, int):
        return None if NAMED.fullmatch(text) else number(text) % 2**64
    return text


def assert_same_field(event: str, name: str, mine: Any, theirs: str) -> None:
    wanted = understood(theirs, mine)
    if event == "kernel_stack" and name == "caller":
        # trace-cmd shows as many as the format says, and reads on behind the record for them.
        shorter = min(len(wanted), len(mine))
        mine, wanted = mine[:shorter], wanted[:shorter]
    assert wanted is None or mine == wanted, (event, name, mine, theirs)


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
                assert_same_field(event, name, plain(row[name], element), one.fields[name])
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

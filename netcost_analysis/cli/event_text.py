# Events and samples as text tables, with the names of functions.

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..display.tables import Table
from .table import fitting, width

if TYPE_CHECKING:
    from ..capture.event_rows import Row
    from ..questions.samples.names import Names

# Shown as one last column: the addresses of ftrace's kernel_stack and user_stack, or the parts of
# a sample's callchain.
_STACK, _CHAIN = "caller", "callchain"
_PARTS = (_CHAIN, "kernel_frames", "symbols", "dsos", "stack")
# A narrow terminal shows when, where and in whose context first, and rarely needed fields last.
_FIRST = ("time_ns", "common_cpu", "common_comm")
_LAST = ("common_pid", "common_type", "common_flags", "common_preempt_count")
# Addresses and bit fields are hexadecimal; counts, sizes and ids are decimal.
_HEX = ("ip", "addr", "phys_addr", "data_src", "transaction")


def event_table(
    columns: Sequence[str], rows: "list[Row]", start_ns: int, names: "Names | None" = None
) -> Table:
    """Events or samples as a table; chains come last, as they may be long."""
    rows = names.put_in(rows) if names else rows
    if _CHAIN in columns:
        table = _table([name for name in columns if name not in _PARTS], rows, start_ns)
        frames = [(row[_CHAIN] or [], row.get("kernel_frames") or 0) for row in rows]
    elif _STACK in columns and any(isinstance(row[_STACK], list) for row in rows):
        table = _table([name for name in columns if name != _STACK], rows, start_ns)
        frames = [(row[_STACK] or [], 0) for row in rows]
    else:
        return _table(columns, rows, start_ns)
    # Characters left beside the table on a terminal. A pipe has no limit.
    room = None
    if sys.stdout.isatty():
        room = width() - max(map(len, table.text().splitlines())) - 4
    chains = [
        _chain(addresses, row.get("symbols"), kernel, room)
        for row, (addresses, kernel) in zip(rows, frames, strict=True)
    ]
    return Table(
        [*table.header, _CHAIN if _CHAIN in columns else _STACK],
        [[*cells, chain] for cells, chain in zip(table.rows, chains, strict=True)],
        left={0, len(table.header)},
    )


def fitted(
    every: Sequence[str], rows: "list[Row]", start_ns: int, names: "Names | None" = None
) -> list[str]:
    """The columns that fit the terminal, and those of chains, which event_table() shortens."""
    columns = [name for name in every if name not in (*_PARTS, _STACK)]
    table = _table(columns, names.put_in(rows) if names else rows, start_ns)
    order = sorted(range(len(columns)), key=lambda place: _rank(columns[place]))
    places = fitting(table, order, width())
    return [name for name in every if name not in columns or columns.index(name) in places]


def _rank(name: str) -> int:
    return int(name not in _FIRST) + (name in _LAST) + (name in _LAST[1:])


def _table(names: Sequence[str], rows: "list[Row]", start_ns: int) -> Table:
    # A time in time_cycles or time_order has no known length, so it is printed as recorded.
    def cell(name: str, value: Any) -> str:
        if value is None:
            return ""
        if name == "time_ns":
            return f"{(value - start_ns) / 1e9:.9f}"
        return f"{value:x}" if name in _HEX and isinstance(value, int) else str(value)

    heads = ["time (s)" if name == "time_ns" else name for name in names]
    return Table(heads, [[cell(name, row[name]) for name in names] for row in rows])


def _chain(
    addresses: list[int], symbols: Sequence[str | None] | None, kernel: int, room: int | None
) -> str:
    # As many frames as fit, always the innermost, and the number of frames cut.
    named = symbols or [None] * len(addresses)
    words = [name or f"{at:x}" for at, name in zip(addresses, named, strict=True)]
    if 0 < kernel < len(words):
        words[kernel] = f"| {words[kernel]}"
    text = " ".join(words)
    shown = len(words)
    while room is not None and len(text) > room and shown > 1:
        shown -= 1
        text = f"{' '.join(words[:shown])} +{len(words) - shown}"
    return text

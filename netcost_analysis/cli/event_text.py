# Events and samples as tables for a reader, with the names of functions.

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..display.tables import Table
from .table import fitting, width

if TYPE_CHECKING:
    from ..capture.event_rows import Row
    from ..questions.samples.names import Names

# What is shown as one column behind all others: the addresses of ftrace's kernel_stack and
# user_stack, and the parts of a sample's chain.
_STACK, _CHAIN = "caller", "callchain"
_PARTS = (_CHAIN, "kernel_frames", "symbols", "dsos", "stack")
# What a narrow terminal shows first: when, where and in whose context; and last.
_FIRST = ("time_ns", "common_cpu", "common_comm")
_LAST = ("common_pid", "common_type", "common_flags", "common_preempt_count")
# Addresses and bit fields; counts, sizes and ids are decimal.
_HEX = ("ip", "addr", "phys_addr", "data_src", "transaction")


def event_table(
    columns: Sequence[str], rows: "list[Row]", start_ns: int, names: "Names | None" = None
) -> Table:
    """Events or samples, their chains, which may be long, last.

    names: what functions are called, where that is known.
    """
    rows = names.put_in(rows) if names else rows
    if _CHAIN in columns:
        table = _table([name for name in columns if name not in _PARTS], rows, start_ns)
        frames = [(row[_CHAIN] or [], row.get("kernel_frames") or 0) for row in rows]
    elif _STACK in columns and any(isinstance(row[_STACK], list) for row in rows):
        table = _table([name for name in columns if name != _STACK], rows, start_ns)
        frames = [(row[_STACK] or [], 0) for row in rows]
    else:
        return _table(columns, rows, start_ns)
    # Characters that a terminal has left beside the table; a pipe takes any number.
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
    """The columns that fit a terminal beside the innermost frame of chains."""
    columns = [name for name in every if name not in (*_PARTS, _STACK)]
    table = _table(columns, names.put_in(rows) if names else rows, start_ns)
    order = sorted(range(len(columns)), key=lambda place: _rank(columns[place]))
    places = fitting(table, order, width())
    return [name for name in every if name not in columns or columns.index(name) in places]


def _rank(name: str) -> int:
    # Common fields that few need come last.
    return int(name not in _FIRST) + (name in _LAST) + (name in _LAST[1:])


def _table(names: Sequence[str], rows: "list[Row]", start_ns: int) -> Table:
    # Cycles of unknown length and places in an order stand as they were recorded.
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
    # As many frames as fit, at least the innermost, and the number of others.
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

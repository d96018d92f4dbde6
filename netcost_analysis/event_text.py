# Events and samples as tables for a reader.

import shutil
import sys
from typing import TYPE_CHECKING, Any

from .export import rows
from .tables import Table

if TYPE_CHECKING:
    import pandas as pd

# Addresses and bit fields; counts, sizes and ids are decimal.
_HEX = {"ip", "addr", "phys_addr", "data_src", "transaction"}


def event_table(frame: "pd.DataFrame", start_ns: int) -> Table:
    names = [str(name) for name in frame.columns]
    # Cycles of unknown length and places in an order stand as they were recorded.
    if names[0] != "time_ns":
        return Table(names, [[_cell(row[name]) for name in names] for row in rows(frame)])
    return Table(
        ["time (s)", *names[1:]],
        [
            [_seconds(row["time_ns"], start_ns), *(_cell(row[name]) for name in names[1:])]
            for row in rows(frame)
        ],
    )


def sample_table(frame: "pd.DataFrame", start_ns: int) -> Table:
    # The callchain comes last: it is as long as it is.
    names = [str(name) for name in frame.columns if name not in ("callchain", "kernel_frames")]
    samples = rows(frame)
    table = Table(
        ["time (s)", *names[1:]],
        [
            [
                _seconds(row["time_ns"], start_ns),
                *(_hex(row[name]) if name in _HEX else _cell(row[name]) for name in names[1:]),
            ]
            for row in samples
        ],
    )
    if "callchain" not in frame.columns:
        return table
    room = _room(table)
    chains = [_chain(row["callchain"] or [], row["kernel_frames"] or 0, room) for row in samples]
    return Table(
        [*table.header, "callchain"],
        [[*row, chain] for row, chain in zip(table.rows, chains, strict=True)],
        left={0, len(names)},
    )


def _seconds(time_ns: int | None, start_ns: int) -> str:
    return "" if time_ns is None else f"{(time_ns - start_ns) / 1e9:.9f}"


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _hex(value: int | None) -> str:
    return "" if value is None else f"{value:x}"


def _room(table: Table) -> int | None:
    # Characters that a terminal has left beside the table; a pipe takes any number.
    if not sys.stdout.isatty():
        return None
    used = max(map(len, table.text().splitlines()))
    return shutil.get_terminal_size().columns - used - 4


def _chain(chain: list[int], kernel_frames: int, room: int | None) -> str:
    # As many frames as there is room for, at least the innermost, and how many more there are.
    words = [f"{address:x}" for address in chain]
    if 0 < kernel_frames < len(words):
        words[kernel_frames] = f"| {words[kernel_frames]}"
    text = " ".join(words)
    if room is None or len(text) <= room or len(words) < 2:
        return text
    shown = len(words) - 1
    while shown > 1 and len(_cut(words, shown)) > room:
        shown -= 1
    return _cut(words, shown)


def _cut(words: list[str], shown: int) -> str:
    return f"{' '.join(words[:shown])} +{len(words) - shown}"

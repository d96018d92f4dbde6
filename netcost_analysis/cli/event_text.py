# Events and samples as tables for a reader, with the names of functions.

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .._native import folded
from ..arrow import columns
from ..display.tables import Table
from ..progress import progress
from ..questions.samples.sampled import search
from ..questions.samples.stacks import with_file
from .table import fitting, width

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..capture.event_rows import Row

# The parts of a sample that are shown as one column behind all others.
_OF_CHAINS = ("callchain", "kernel_frames", "symbols", "dsos", "stack")
# What ftrace calls the addresses of kernel_stack and user_stack.
_STACK = "caller"
# The first to be left out on a narrow terminal.
_SELDOM = {"common_type", "common_flags", "common_preempt_count"}
# Addresses and bit fields; counts, sizes and ids are decimal.
_HEX = {"ip", "addr", "phys_addr", "data_src", "transaction"}


def event_table(columns: Sequence[str], events: "list[Row]", start_ns: int) -> Table:
    """Events with their stack, which may be long, last."""
    if _STACK not in columns or not any(isinstance(row[_STACK], list) for row in events):
        return _table(columns, events, start_ns)
    table = _table([name for name in columns if name != _STACK], events, start_ns)
    return _with_chains(table, _STACK, [(_words(row[_STACK] or []), 0) for row in events])


def sample_table(
    columns: Sequence[str], samples: "list[Row]", start_ns: int, names: "Names | None" = None
) -> Table:
    """Samples with their callchain, which may be long, last.

    names: what functions are called, where that is known.
    """
    samples = names.put_in(samples) if names else samples
    shown = [name for name in columns if name not in _OF_CHAINS]
    table = _table(shown, samples, start_ns, _HEX)
    if "callchain" not in columns:
        return table
    return _with_chains(
        table,
        "callchain",
        [
            (_words(row["callchain"] or [], row.get("symbols")), row.get("kernel_frames") or 0)
            for row in samples
        ],
    )


def fitted(
    every: Sequence[str], rows: "list[Row]", start_ns: int, names: "Names | None" = None
) -> list[str]:
    """The columns that fit a terminal beside the innermost frame of chains."""
    columns = [name for name in every if name not in (*_OF_CHAINS, _STACK)]
    rows = names.put_in(rows) if names else rows
    table = _table(columns, rows, start_ns, _HEX)
    order = sorted(range(len(columns)), key=lambda i: (_rank(columns[i]), i))
    places = fitting(table, order, width())
    out = {name for i, name in enumerate(columns) if i not in places}
    return [name for name in every if name not in out]


def _rank(name: str) -> int:
    # When, where and in whose context; then the event's fields; then common fields that few need.
    if name in ("common_pid", *_SELDOM):
        return 2 + (name in _SELDOM)
    return int(name not in ("time_ns", "common_cpu", "common_comm"))


def _table(
    names: Sequence[str], events: "list[Row]", start_ns: int, in_hex: Collection[str] = ()
) -> Table:
    # Cycles of unknown length and places in an order stand as they were recorded.
    def cell(name: str, value: Any) -> str:
        if value is None:
            return ""
        if name == "time_ns":
            return f"{(value - start_ns) / 1e9:.9f}"
        return f"{value:x}" if name in in_hex and isinstance(value, int) else str(value)

    return Table(
        ["time (s)" if name == "time_ns" else name for name in names],
        [[cell(name, row[name]) for name in names] for row in events],
    )


def _with_chains(table: Table, name: str, chains: list[tuple[list[str], int]]) -> Table:
    # Characters that a terminal has left beside the table; a pipe takes any number.
    room = None
    if sys.stdout.isatty():
        room = width() - max(map(len, table.text().splitlines())) - 4
    return Table(
        [*table.header, name],
        [
            [*row, _chain(words, kernel_frames, room)]
            for row, (words, kernel_frames) in zip(table.rows, chains, strict=True)
        ],
        left={0, len(table.header)},
    )


def _words(addresses: list[int], symbols: list[str | None] | None = None) -> list[str]:
    # Where the capture names the function, its name.
    if symbols is None:
        return [f"{address:x}" for address in addresses]
    return [symbol or f"{address:x}" for address, symbol in zip(addresses, symbols, strict=True)]


def _chain(words: list[str], kernel_frames: int, room: int | None) -> str:
    # As many frames as fit, at least the innermost, and the number of others.
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


class Names(NamedTuple):
    """What functions are called.

    kernel: by address. programs: by the number of a sample's stack and address, for the same
    address is another function in another process.
    """

    kernel: Mapping[int, str]
    programs: Mapping[tuple[int, int], str] = {}

    def put_in(self, samples: "list[Row]") -> "list[Row]":
        """The samples with names, as perf script prints them."""
        for row in samples:
            stack = row.get("stack", -1)
            chain, inside = row.get("callchain") or [], row.get("kernel_frames") or 0
            row["symbols"] = [
                self.kernel.get(address) if place < inside else self.programs.get((stack, address))
                for place, address in enumerate(chain)
            ]
            if "ip" in row:
                address, mode = row["ip"], row.get("cpu_mode", "kernel")
                known = self.programs.get((stack, address)) if mode == "user" else None
                known = self.kernel.get(address) if mode == "kernel" else known
                row["ip"] = known or address
        return samples


def names_of(capture: "Capture", event: str, user: bool) -> tuple[Names, list[int]]:
    """The names of an event's samples, and the number of each sample's stack."""
    with progress(f"reading the samples of {event}") as advance:
        where = search(capture) if user else None
        found = capture.native.stacks(
            event, capture.kallsyms_beside(), not user, user, where, advance
        )
    frames = columns(found["frames"])
    [stacks], samples = columns(found["stacks"]).values(), columns(found["samples"])["stack"]
    known = zip(frames["address"], frames["in_kernel"], frames["symbol"], strict=True)
    kernel = {address: symbol for address, inside, symbol in known if inside and symbol is not None}
    if not user:
        return Names(kernel), samples
    named = ("" if symbol is None else folded(symbol) for symbol in frames["symbol"])
    labels = list(map(with_file, named, frames["dso"]))
    of_programs: dict[tuple[int, int], str] = {}
    for number, places in enumerate(stacks):
        inlined: list[str] = []
        for place in places:
            if frames["inlined"][place]:
                inlined.append(labels[place])
            elif labels[place] and not frames["in_kernel"][place]:
                # Of one address those that are inlined first.
                address = frames["address"][place]
                of_programs[number, address] = " < ".join([*inlined, labels[place]])
                inlined = []
    return Names(kernel, of_programs), samples

# netcost events: the records of one event as text, JSON, CSV or Parquet.

import json
import sys
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from ..capture.event_rows import Chosen, EventRows, events_table, in_parts, samples_table
from ..capture.recorder import has_samples
from ..capture.within import require_cpus
from ..display.tables import Table
from ..questions.samples.names import names_of
from ..units import plural
from . import options
from .table import columns_option, fitting, known_columns, left_out, show, width

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture
    from ..capture.event_rows import Row
    from ..questions.samples.names import Names

_ON_A_TERMINAL = 50
# Shown as one last column: the addresses of ftrace's kernel_stack and user_stack, or the parts of
# a sample's callchain.
_STACK, _CHAIN = "caller", "callchain"
_PARTS = (_CHAIN, "kernel_frames", "symbols", "dsos", "stack")
# A narrow terminal shows when, where and in whose context first, and rarely needed fields last.
_FIRST = ("time_ns", "common_cpu", "common_comm")
_LAST = ("common_pid", "common_type", "common_flags", "common_preempt_count")
# Addresses and bit fields are hexadecimal; counts, sizes and ids are decimal.
_HEX = ("ip", "addr", "phys_addr", "data_src", "transaction")


@click.command(
    "events", short_help="List the events of a tracepoint, or the samples of any other event."
)
@options.capture_arguments
@click.argument("name")
@options.output_option(".parquet", ".csv", help="Write to FILE.parquet or FILE.csv instead.")
@click.option(
    "--limit",
    type=options.COUNT,
    help=f"At most so many rows (on a terminal {_ON_A_TERMINAL}).",
)
@columns_option
@options.wide_option
@options.names_options
@options.window_options
@options.json_option
def command(
    path: str,
    name: str,
    output: str | None,
    limit: int | None,
    columns: tuple[str, ...] | None,
    as_json: bool,
) -> None:
    """List one event's records, NAME as `netcost info` writes it.

    A tracepoint (napi:napi_poll) has its recorded fields. Any other event (cycles:u, cpu-clock,
    page-faults) has its samples: where each was taken, and its callchain, innermost frame first,
    with a bar between the kernel's frames and the task's.
    """
    asked = options.part()
    capture = options.opened(path)
    on_terminal = sys.stdout.isatty() and not output and not as_json
    cut = _ON_A_TERMINAL if on_terminal and limit is None else None
    start, end = asked.timeline(capture).window[:2] if asked.is_given else (None, None)
    chosen = Chosen(limit if cut is None else cut + 1, start, end, asked.cpus)
    # Only perf records samples. Other recorders, and their texts, have tracepoints alone.
    known = capture.header["events"] if has_samples(capture.header) else ()
    sampled = any(event["name"] == name and not event["tracepoint"] for event in known)
    if output:
        from ..display.export import write

        frame = _frame(capture, name, sampled, chosen)
        if columns is not None:
            frame = frame[known_columns(list(map(str, frame.columns)), columns)]
        write(frame, output)
        if as_json:
            options.print_json({"event": name, "rows": len(frame), "output": output})
        else:
            what = plural(len(frame), "sample" if sampled else "event")
            print(f"{what} of {name} in {output}")
        return
    if sampled:
        require_cpus(capture, asked.cpus)
        table = samples_table(capture, name, None if asked.is_given else chosen.most)
    else:
        table = events_table(capture, name, chosen)
    events = EventRows(capture, table, chosen)
    shown = events.columns if columns is None else known_columns(events.columns, columns)
    if as_json:
        # Stream one array, with an event per line.
        separator = "["
        for row in events:
            fields = {column: row[column] for column in shown}
            sys.stdout.write(separator + json.dumps(fields, allow_nan=False))
            separator = ",\n "
        sys.stdout.write("[]\n" if separator == "[" else "]\n")
        return
    names = None
    may_have_names = "ip" in events.columns and (capture.info["kallsyms"] or options.wants_user())
    if sampled and may_have_names and next(iter(events), None):
        names, stacks = names_of(capture, name, options.wants_user())
        events = events.with_columns({"stack": stacks})
    has_value = {name for row in islice(events, cut) for name in shown if row[name] is not None}
    # --limit 0 or a capture without times has nothing to count seconds from.
    start_ns = capture.start_ns if "time_ns" in has_value else 0
    fitting = shown
    if sampled:
        # Hide columns that have no value for this event.
        fitting = [name for name in shown if name in has_value or name == "time_ns"]
    every = len(fitting)
    if sys.stdout.isatty() and not options.given("wide") and not columns:
        fitting = fitted(fitting, list(islice(events, cut)), start_ns, names)
    for rows in in_parts(islice(events, cut)):
        show(event_table(fitting, rows, start_ns, names), wide=True)
    more = cut is not None and next(islice(events, cut, None), None) is not None
    cut_note = f"the first {cut} rows: --limit shows more, a pipe or -o has all" if more else ""
    left_out(every - len(fitting), len(shown), cut_note)


def _frame(capture: "Capture", name: str, sampled: bool, chosen: Chosen) -> "pd.DataFrame":
    from ..capture.within import within

    most, start, end, cpus = chosen
    if not sampled:
        return capture.events(name, most, start, end, list(cpus))
    if chosen == Chosen(most):
        return capture.samples(name, most)
    require_cpus(capture, cpus)
    return within(capture.samples(name), capture, start, end, cpus)[:most]


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

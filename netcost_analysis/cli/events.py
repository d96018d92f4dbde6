# netcost events: one event's recorded happenings as text, JSON, CSV or Parquet.

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING

import click

from ..capture.event_rows import (
    Chosen,
    EventRows,
    events_table,
    in_parts,
    samples_table,
)
from ..capture.recorder import has_samples
from ..capture.within import require_cpus
from ..units import plural
from .event_text import Names, event_table, fitted, names_of, sample_table
from .options import (
    COUNT,
    Part,
    capture_arguments,
    json_option,
    names_options,
    opened,
    output_option,
    print_json,
    window_options,
)
from .table import columns_option, known_columns, left_out, show, wide_option, with_columns

if TYPE_CHECKING:
    from ..capture.capture import Capture

_ON_A_TERMINAL = 50


@click.command(
    "events", short_help="List the events of a tracepoint, or the samples of any other event."
)
@capture_arguments
@click.argument("name")
@output_option(".parquet", ".csv", help="Write to FILE.parquet or FILE.csv instead.")
@click.option(
    "--limit",
    type=COUNT,
    help=f"At most so many rows (on a terminal {_ON_A_TERMINAL}).",
)
@columns_option
@wide_option
@names_options
@window_options
@json_option
def command(
    path: str,
    name: str,
    output: str | None,
    limit: int | None,
    columns: tuple[str, ...] | None,
    wide: bool,
    part: Part,
    as_json: bool,
    user: bool,
) -> None:
    """List one event's records, NAME as `netcost info` writes it.

    A tracepoint (napi:napi_poll) has its recorded fields. Any other event (cycles:u, cpu-clock,
    page-faults) has its samples: where each was taken, and its callchain, innermost frame first,
    with a bar between the kernel's frames and the task's.
    """
    capture = opened(path)
    on_terminal = sys.stdout.isatty() and not output and not as_json
    cut = _ON_A_TERMINAL if on_terminal and limit is None else None
    start, end = part.timeline(capture).window[:2] if part.is_given else (None, None)
    chosen = Chosen(limit if cut is None else cut + 1, start, end, part.cpus)
    # Of recorders other than perf all are events, and so are those of their texts.
    known = capture.header["events"] if has_samples(capture.header) else ()
    sampled = any(one["name"] == name and not one["tracepoint"] for one in known)
    if output:
        _export(capture, name, sampled, chosen, columns, output, as_json)
        return
    if sampled:
        require_cpus(capture, part.cpus)
        table = samples_table(capture, name, None if part.is_given else chosen.most)
    else:
        table = events_table(capture, name, chosen)
    events = EventRows(capture, table, chosen)
    shown = events.columns if columns is None else known_columns(events.columns, columns)
    if as_json:
        _print_json(events, shown)
        return
    names = None
    may_have_names = "ip" in events.columns and (capture.info["kallsyms"] or user)
    if sampled and may_have_names and next(iter(events), None):
        names, stacks = names_of(capture, name, user)
        events = events.with_columns({"stack": stacks})
    _print_text(capture, events, shown, sampled, wide or bool(columns), cut, names)


def _export(
    capture: "Capture",
    name: str,
    sampled: bool,
    chosen: Chosen,
    columns: tuple[str, ...] | None,
    output: str,
    as_json: bool,
) -> None:
    from ..capture.within import within
    from ..display.export import write

    most, start, end, cpus = chosen
    if not sampled:
        frame = capture.events(name, most, start, end, list(cpus))
    elif chosen == Chosen(most):
        frame = capture.samples(name, most)
    else:
        require_cpus(capture, cpus)
        frame = within(capture.samples(name), capture, start, end, cpus)[:most]
    if columns is not None:
        frame = with_columns(frame, columns)
    write(frame, output)
    if as_json:
        print_json({"event": name, "rows": len(frame), "output": output})
        return
    print(f"{plural(len(frame), 'sample' if sampled else 'event')} of {name} in {output}")


def _print_json(events: EventRows, columns: list[str]) -> None:
    # One array, an event a line, written as it is made.
    separator = "["
    for row in events:
        chosen = {column: row[column] for column in columns}
        sys.stdout.write(separator + json.dumps(chosen, allow_nan=False))
        separator = ",\n "
    sys.stdout.write("[]\n" if separator == "[" else "]\n")


def _print_text(
    capture: "Capture",
    events: EventRows,
    columns: list[str],
    sampled: bool,
    wide: bool,
    cut: int | None,
    names: "Names | None",
) -> None:
    known = {name for row in islice(events, cut) for name in columns if row[name] is not None}
    # --limit 0 or a capture without times has nothing to count seconds from.
    start_ns = capture.start_ns if "time_ns" in known else 0
    every = len(columns)
    if sampled:
        # A column that this event has no value for says nothing to a reader.
        columns = [name for name in columns if name in known or name == "time_ns"]
    room_for = columns
    if sys.stdout.isatty() and not wide:
        room_for = fitted(columns, list(islice(events, cut)), start_ns, names)
    for part in in_parts(islice(events, cut)):
        if sampled:
            show(sample_table(room_for, part, start_ns, names), wide=True)
        else:
            show(event_table(room_for, part, start_ns), wide=True)
    more = cut is not None and next(islice(events, cut, None), None) is not None
    rows = f"the first {cut} rows: --limit shows more, a pipe or -o gets all" if more else ""
    left_out(len(columns) - len(room_for), every, rows)

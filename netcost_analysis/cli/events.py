# netcost events: the records of one event as text, JSON, CSV or Parquet.

import json
import sys
from itertools import islice
from typing import TYPE_CHECKING

import click

from ..capture.event_rows import Chosen, EventRows, events_table, in_parts, samples_table
from ..capture.recorder import has_samples
from ..capture.within import require_cpus
from ..questions.samples.names import names_of
from ..units import plural
from . import options
from .event_text import event_table, fitted
from .table import columns_option, known_columns, left_out, show

if TYPE_CHECKING:
    import pandas as pd

    from ..capture.capture import Capture

_ON_A_TERMINAL = 50


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
    cut_note = f"the first {cut} rows: --limit shows more, a pipe or -o gets all" if more else ""
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

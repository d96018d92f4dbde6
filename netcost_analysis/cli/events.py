# netcost events: one event's recorded happenings as text, JSON, CSV or Parquet.

import json
import sys
from typing import TYPE_CHECKING

import click

from ..capture.recorder import has_samples
from ..capture.within import require_cpus, within
from ..units import plural
from .event_text import Names
from .options import (
    COUNT,
    Part,
    capture_arguments,
    json_option,
    opened,
    output_option,
    print_json,
    window_options,
)
from .sampled import names_options, wants_user
from .table import columns_option, left_out, show, wide_option, with_columns

if TYPE_CHECKING:
    import pandas as pd

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
    sampled = _is_sampled(capture, name)
    most = limit if cut is None else cut + 1
    if sampled and not part.is_given:
        frame = capture.samples(name, most)
    else:
        start, end = part.timeline(capture).window[:2]
        if sampled:
            require_cpus(capture, part.cpus)
            frame = within(capture.samples(name), capture, start, end, part.cpus)[:most]
        else:
            frame = capture.events(name, most, start, end, list(part.cpus))
    if columns is not None:
        frame, wide = with_columns(frame, columns), True
    if output:
        _write(frame, output)
        if as_json:
            print_json({"event": name, "rows": len(frame), "output": output})
            return
        print(f"{plural(len(frame), 'sample' if sampled else 'event')} of {name} in {output}")
    elif as_json:
        _print_json(frame)
    else:
        # --limit 0 or a capture without times has nothing to count seconds from.
        timed = "time_ns" in frame and frame["time_ns"].notna().any()
        shown = frame[:cut]
        start_ns = capture.start_ns if timed else 0
        names = None
        if sampled and len(shown):
            shown, names = _with_names(capture, name, shown, wants_user(user))
        missing = _print_text(shown, start_ns, sampled, wide, names)
        more = cut is not None and len(frame) > cut
        rows = f"the first {cut} rows: --limit shows more, a pipe or -o gets all" if more else ""
        left_out(missing, len(frame.columns), rows)


def _is_sampled(capture: "Capture", name: str) -> bool:
    # Of recorders other than perf all are events, and so are those of their texts.
    events = capture.header["events"] if has_samples(capture.header) else ()
    return any(one["name"] == name and not one["tracepoint"] for one in events)


def _with_names(
    capture: "Capture", name: str, frame: "pd.DataFrame", user: bool
) -> "tuple[pd.DataFrame, Names | None]":
    # What functions these samples are in, by stack and address: the kernel's where /proc/kallsyms
    # is known, and if wanted those of programs; and the samples with their stacks.
    if not (capture.info["kallsyms"] or user) or "ip" not in frame:
        return frame, None
    from ..questions.functions.profile import profile_of

    one = profile_of(capture, name, not user, user)
    known = one.frames[one.frames["in_kernel"] & one.frames["symbol"].notna()]
    kernel = dict(zip(known["address"].tolist(), known["symbol"].astype(str), strict=True))
    if not user:
        return frame, Names(kernel)
    # Rows are those of all samples, numbered through.
    stacks = one.samples["stack"].to_numpy()[frame.index]
    addresses, inside = one.frames["address"].tolist(), one.frames["in_kernel"].tolist()
    names, is_inlined = one.labels, one.frames["inlined"].tolist()
    of_programs: dict[tuple[int, int], str] = {}
    for stack in set(stacks.tolist()):
        inlined: list[str] = []
        for place in one.places[one.begins[stack] : one.begins[stack + 1]].tolist():
            label = names[place]
            if is_inlined[place]:
                inlined.append(label)
            elif label and not inside[place]:
                # Of one address those that are inlined first.
                of_programs[stack, addresses[place]] = " < ".join([*inlined, label])
                inlined = []
    return frame.assign(stack=stacks), Names(kernel, of_programs)


def _write(frame: "pd.DataFrame", output: str) -> None:
    from ..display.export import write_csv, write_parquet
    from ..files import replacing

    with replacing(output) as draft:
        (write_csv if draft.suffix == ".csv" else write_parquet)(frame, draft)


def _print_json(frame: "pd.DataFrame") -> None:
    # One array, an event a line, written as it is made.
    from ..display.export import chunks, rows

    separator = "["
    for chunk in chunks(frame):
        for row in rows(chunk):
            sys.stdout.write(separator + json.dumps(row, allow_nan=False))
            separator = ",\n "
    sys.stdout.write("]\n" if len(frame) else "[]\n")


def _print_text(
    frame: "pd.DataFrame",
    start_ns: int,
    sampled: bool,
    wide: bool,
    names: "Names | None" = None,
) -> int:
    # Returns how many columns a terminal had no room for.
    from ..display.export import chunks
    from .event_text import event_table, fitted, sample_table

    if sampled:
        # A column that this event has no value for says nothing to a reader.
        frame = frame.loc[:, frame.notna().any() | (frame.columns == "time_ns")]
    missing = 0
    if sys.stdout.isatty() and not wide:
        frame, missing = fitted(frame, start_ns, names)
    for chunk in chunks(frame):
        table = sample_table(chunk, start_ns, names) if sampled else event_table(chunk, start_ns)
        show(table, wide=True)
    return missing

# netcost convert: a capture as Parquet files or a trace for Perfetto. netcost mask: without names.

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..display.tables import Table
from ..export.folder import require_free as require_free_folder
from ..export.perfetto import SUFFIXES, require_free
from ..timeline.task import Task
from ..units import printable
from . import options
from .arguments import TASK
from .table import say, show

if TYPE_CHECKING:
    from ..capture.capture import Capture

# Suffixes of other programs' traces: hardly the name of a folder.
_OTHER_TRACES = (".json", ".json.gz", ".pb", ".trace")
# --events and --samples without a name select all of them.
_ALL = "*"


def _recorded(name: str, what: str) -> options.Decorator:
    return options.option(
        name,
        "[A,B,...]",
        f"Also the {what}; of all of them if no name is given.",
        is_flag=False,
        flag_value=_ALL,
        callback=options.names,
    )


@click.command(
    "convert", short_help="Write a capture's tables as Parquet files, or a trace for Perfetto."
)
@options.capture_arguments
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="DIR|FILE",
    help="A new folder for the dataset, or a new file ending in .perfetto-trace or .pftrace.",
)
@options.option(
    "--tables",
    "A,B,...",
    "Which tables: segments, softirqs, hardirqs, polls, slices, migrations, coverage, sums, irqs, "
    "or none. Default: all.",
    callback=options.names,
)
@_recorded("--events", "events of these tracepoints")
@_recorded("--samples", "samples of these other events")
@click.option(
    "--victim",
    "victims",
    type=TASK,
    multiple=True,
    help="A task whose counters the trace shows, instead of the bundle's victim. May be repeated.",
)
@options.flag("--overwrite", "Replace an existing dataset or trace.")
@options.window_options
@options.json_option
def command(
    path: str,
    output: str,
    tables: tuple[str, ...] | None,
    events: tuple[str, ...] | None,
    samples: tuple[str, ...] | None,
    victims: tuple[Task, ...],
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write a capture's tables as Parquet, which pandas, Polars, DuckDB and Spark read as it is.

    DIR gets a folder for each table, with a file for each CPU, sorted by time. A FILE that ends in
    .perfetto-trace is a trace for ui.perfetto.dev: the events, and who owned each CPU. Either is
    there as a whole or not at all. Captures larger than memory are written too.
    """
    if output.endswith(SUFFIXES):
        if tables or events or samples:
            raise click.UsageError("a trace has no tables: leave out --tables, --events, --samples")
        require_free(output, overwrite)
        timeline = options.part().timeline(options.opened(path))
        trace = timeline.to_perfetto(output, victims or None, overwrite=overwrite)
        if as_json:
            options.print_json(asdict(trace))
            return
        size = f"{trace.bytes / 1e6:,.1f} MB"
        print(f"{trace.events:,} events, {trace.slices:,} slices of owners, {size}")
        say(f"counters: {', '.join(map(printable, trace.counters)) or 'none'}")
        for note in dict.fromkeys(trace.notes):
            say(f"note: {printable(note)}")
        say("Open it at https://ui.perfetto.dev, which reads it on this machine: docs/perfetto.md")
        return
    if victims:
        raise click.UsageError("--victim needs a trace as output: name it FILE.perfetto-trace")
    is_folder = bool(tables or events or samples) or Path(output).is_dir()
    if output.endswith(_OTHER_TRACES) and not is_folder:
        raise click.UsageError(
            f"a trace cannot be written under that name: name it FILE{SUFFIXES[0]}"
        )
    require_free_folder(output, overwrite)
    asked = options.part()
    capture = options.opened(path)
    done = asked.timeline(capture).to_parquet(
        output,
        () if tables == ("none",) else tables,
        events=_chosen(capture, events, tracepoints=True),
        samples=_chosen(capture, samples, tracepoints=False),
        overwrite=overwrite,
    )
    if as_json:
        options.print_json(asdict(done))
        return
    rows = [
        (name, f"{table.rows:,}", f"{table.files:,}", f"{table.bytes / 1e6:,.1f}")
        for name, table in done.tables.items()
    ]
    show(Table(("table", "rows", "files", "MB"), rows))
    first = next(iter(done.tables.values())).folder
    print(f"pandas.read_parquet({f'{done.folder}/{first}'!r})")


def _chosen(
    capture: "Capture", names: tuple[str, ...] | None, tracepoints: bool
) -> tuple[str, ...]:
    if names != (_ALL,):
        return names or ()
    kinds = {event["name"]: event["tracepoint"] for event in capture.header.get("events", ())}
    # Text formats do not list their events; all of them are tracepoints.
    counted = capture.info["events"].items()
    return tuple(name for name, count in counted if count and kinds.get(name, True) == tracepoints)


@click.command("mask", short_help="Replace names and addresses in a recording or bundle.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--map",
    "map_path",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help=(
        "A file of names and their replacements, reused and extended. Keep it to yourself: it "
        "undoes the masking."
    ),
)
@options.option(
    "--name",
    "NAME",
    "The name of the folder in a packed OUT. Default: bundle or experiment.",
)
@options.json_option
def mask(source: str, target: str, map_path: str | None, name: str | None, as_json: bool) -> None:
    """Write OUT, of the same kind as IN, with host names, IP and MAC addresses, command lines and
    names of tasks and files replaced; kernel threads stay readable.

    IN is a bundle or an experiment, packed or not, or a recording; a folder is packed where OUT
    ends in .tar.zst or .tar.gz. OUT.masked.txt says what was replaced, zeroed, left out and not
    masked: docs/mask.md.
    """
    from .. import masking

    if source == "-":
        raise click.UsageError("mask reads the recording more than once: give it a file")
    masked = masking.mask(source, target, map_path, name)
    if as_json:
        fields = {name: getattr(masked, name) for name in ("replaced", "changes", "not_masked")}
        options.print_json({"output": target, **fields})
        return
    click.echo(masked.summary, nl=False)
    click.echo(f"masked: {target}; {target}.masked.txt has the same list")

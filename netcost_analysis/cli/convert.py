# netcost convert: a capture's tables as a dataset of Parquet files.

from typing import TYPE_CHECKING, Any

import click

from .main import capture_arguments, json_option, opened, print_json, window_options
from .table import show

if TYPE_CHECKING:
    from ..capture.capture import Capture

# What --events and --samples have alone: all that there are.
_ALL = "*"


def _names(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = tuple(name for name in (part.strip() for part in value.split(",")) if name)
    if not names:
        raise click.UsageError("give names, with commas between them")
    return names


@click.command("convert", short_help="Write a capture's tables as a dataset of Parquet files.")
@capture_arguments
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(),
    metavar="DIR",
    help="The dataset's folder, one that is not there yet.",
)
@click.option(
    "--tables",
    metavar="A,B,...",
    callback=_names,
    help="These tables, of segments, softirqs, hardirqs, polls, slices, migrations, coverage, "
    "sums and irqs, or none; all of them unless given.",
)
@click.option(
    "--events",
    metavar="[A,B,...]",
    is_flag=False,
    flag_value=_ALL,
    callback=_names,
    help="Also the events of these tracepoints, of all of them without a name.",
)
@click.option(
    "--samples",
    metavar="[A,B,...]",
    is_flag=False,
    flag_value=_ALL,
    callback=_names,
    help="Also the samples of these other events, of all of them without a name.",
)
@click.option("--overwrite", is_flag=True, help="Replace a dataset that is there.")
@window_options
@json_option
def command(
    path: str,
    output: str,
    tables: tuple[str, ...] | None,
    events: tuple[str, ...] | None,
    samples: tuple[str, ...] | None,
    overwrite: bool,
    start: float | None,
    end: float | None,
    cpus: tuple[int, ...],
    as_json: bool,
) -> None:
    """Write a capture's tables as Parquet, which pandas, Polars, DuckDB and Spark read as it is.

    DIR gets a folder for each table, with a file for each CPU, sorted by time. It is there as a
    whole or not at all. Captures larger than memory are written too.
    """
    from dataclasses import asdict

    from ..export.folder import require_free

    require_free(output, overwrite)
    capture = opened(path)
    done = capture.timeline(start, end, list(cpus) or None).to_parquet(
        output,
        () if tables == ("none",) else tables,
        events=_chosen(capture, events, tracepoints=True),
        samples=_chosen(capture, samples, tracepoints=False),
        overwrite=overwrite,
    )
    if as_json:
        print_json(asdict(done))
        return
    _print(done.folder, asdict(done)["tables"])


def _chosen(
    capture: "Capture", names: tuple[str, ...] | None, tracepoints: bool
) -> tuple[str, ...]:
    if names != (_ALL,):
        return names or ()
    counted = capture.info["events"]
    kinds = {one["name"]: one["tracepoint"] for one in capture.header.get("events", ())}
    # Texts do not list them beforehand: all are tracepoints.
    return tuple(
        name for name, count in counted.items() if count and kinds.get(name, True) == tracepoints
    )


def _print(folder: str, tables: dict[str, dict[str, Any]]) -> None:
    from ..display.tables import Table

    rows = [
        (name, f"{one['rows']:,}", f"{one['files']:,}", f"{one['bytes'] / 1e6:,.1f}")
        for name, one in tables.items()
    ]
    show(Table(("table", "rows", "files", "MB"), rows))
    first = next(iter(tables.values()))["folder"]
    print(f"pandas.read_parquet({f'{folder}/{first}'!r})")

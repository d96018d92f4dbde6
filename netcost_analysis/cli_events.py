# netcost events: one tracepoint's events as text, JSON, CSV or Parquet.

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .cli import json_option, path_argument

if TYPE_CHECKING:
    import pandas as pd

_CHUNK = 10_000
_ON_A_TERMINAL = 50


@click.command("events", short_help="List the events of one tracepoint.")
@path_argument
@click.argument("name")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    help="Write to FILE.parquet or FILE.csv instead.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"At most so many rows (on a terminal {_ON_A_TERMINAL}).",
)
@json_option
def command(path: str, name: str, output: str | None, limit: int | None, as_json: bool) -> None:
    """List the events of one tracepoint, NAME as perf writes it: napi:napi_poll."""
    suffix = Path(output).suffix if output else None
    if output and suffix not in (".parquet", ".csv"):
        raise click.UsageError(f"-o takes a file ending in .parquet or .csv, not {output!r}")
    from .capture import open_capture

    capture = open_capture(path)
    cut = (
        _ON_A_TERMINAL
        if limit is None and not output and not as_json and sys.stdout.isatty()
        else None
    )
    frame = capture.events(name, limit if cut is None else cut + 1)
    if output:
        _write(frame, output)
        print(f"{len(frame):,} events of {name} in {output}")
    elif as_json:
        _print_json(frame)
    else:
        # --limit 0 or a capture without times has nothing to count seconds from.
        start = capture.start_ns if len(frame) and frame["time_ns"].notna().any() else 0
        _print_text(frame[:cut], start)
        if cut is not None and len(frame) > cut:
            print(f"the first {cut}; --limit shows more, a pipe or -o gets all", file=sys.stderr)


def _write(frame: "pd.DataFrame", output: str) -> None:
    from .files import replacing

    with replacing(output) as draft:
        if draft.suffix == ".csv":
            frame.to_csv(draft, index=False)
        else:
            frame.to_parquet(draft, index=False)


def _rows(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    # Plain Python values; NA and NaN become None.
    import pandas as pd

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if isinstance(value, bytes):
            return value.hex()
        return None if not isinstance(value, list) and pd.isna(value) else value

    names = [str(name) for name in frame.columns]
    return [
        dict(zip(names, map(plain, row), strict=True))
        for row in frame.itertuples(index=False, name=None)
    ]


def _print_json(frame: "pd.DataFrame") -> None:
    # One array, an event a line, written as it is made: a capture may hold millions.
    separator = "["
    for at in range(0, len(frame), _CHUNK):
        for row in _rows(frame[at : at + _CHUNK]):
            sys.stdout.write(separator + json.dumps(row, allow_nan=False))
            separator = ",\n "
    sys.stdout.write("]\n" if len(frame) else "[]\n")


def _print_text(frame: "pd.DataFrame", start_ns: int) -> None:
    from .tables import Table, show

    names = [str(name) for name in frame.columns]
    header = ["time (s)", *names[1:]]
    for at in range(0, max(len(frame), 1), _CHUNK):
        rows = [
            [
                "" if row["time_ns"] is None else f"{(row['time_ns'] - start_ns) / 1e9:.9f}",
                *("" if row[name] is None else str(row[name]) for name in names[1:]),
            ]
            for row in _rows(frame[at : at + _CHUNK])
        ]
        show(Table(header, rows))

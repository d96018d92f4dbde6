# Tables and sentences on the command line. A terminal gets what fits its width, a pipe gets all.

import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..display.names import columns_of
from ..display.tables import lines_of
from .options import given, names, option

if TYPE_CHECKING:
    from ..display.tables import Table

_GAP = 2
# Sentences longer than _SENTENCE wrap. A column of them can do with _NARROW: a terminal has 60.
_SENTENCE, _NARROW = 40, 30
# In a pipe, sentences longer than _LONG go below their row, in lines of _PIPE characters.
_LONG, _PIPE = 100, 80
_BOUND = re.compile(r"_(low|high|max|min|least|most|unrecorded)(_|$)|(window|interval)_error")
# In these columns 0 is an id, not an absent amount.
_ID = re.compile(r"(^|_)(cpu|tid|irq|vec|episode|handover|call|ordinal)$")
_NOTHING = {"", "0", "0.0 %"}


def width() -> int:
    return shutil.get_terminal_size().columns


def by_importance(table: "Table", main: Sequence[str] = ()) -> list[int]:
    """The indices of a table's columns, the most important first.

    main: the columns that the question declares as its main ones, which come first. The others
    follow in their order, then bounds, then columns that are empty or zero in every row.
    """

    def rank(place: int) -> tuple[int, int]:
        name, cells = table.header[place], {row[place] for row in table.rows}
        if cells <= {""} or (name not in main and not _ID.search(name) and cells <= _NOTHING):
            return 3, place
        if name in main:
            return 0, main.index(name)
        return (2 if _BOUND.search(name) else 1), place

    return sorted(range(len(table.header)), key=rank)


def fitting(table: "Table", order: Sequence[int], room: int) -> list[int]:
    """The columns that fit into `room` characters, in the table's order.

    Columns are taken in `order` up to the first that does not fit, so that a wider terminal shows
    all that a narrower one does. The first is always taken.
    """
    shown: list[int] = []
    for place in order:
        room -= _needed(table, place) + (_GAP if shown else 0)
        if room < 0 and shown:
            break
        shown.append(place)
    return sorted(shown)


def _width(table: "Table", place: int) -> int:
    return max(columns_of(row[place]) for row in [table.header, *table.rows])


def _needed(table: "Table", place: int) -> int:
    full = _width(table, place)
    return max(len(table.header[place]), _NARROW) if _wraps(table, place, full) else full


def _wraps(table: "Table", place: int, full: int) -> bool:
    return full > _SENTENCE and place in table.left and any(" " in row[place] for row in table.rows)


def show(
    table: "Table",
    main: Sequence[str] | None = (),
    rows: str = "",
    *,
    wide: bool = False,
    by_name: bool = False,
) -> None:
    """Print a table, and on a terminal say what did not fit.

    main: as for by_importance(); None keeps the columns in order. rows, by_name: as for left_out().
    wide: show all columns, however wide the terminal.
    """
    wide = wide or bool(given("wide"))
    if not sys.stdout.isatty():
        print(table.text() if wide else _piped(table))
        left_out(0, 0, rows)
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    every = list(range(len(table.header)))
    order = every if main is None else by_importance(table, main)
    places = every if wide else fitting(table, order, width())
    rich = RichTable(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for i in places:
        unwrapped = wide or not _wraps(table, i, _width(table, i))
        rich.add_column(
            table.header[i],
            justify="left" if i in table.left else "right",
            no_wrap=unwrapped,
            # rich would cut a figure to make room for a sentence.
            min_width=_needed(table, i) if unwrapped else None,
        )
    for number, row in enumerate(table.rows):
        rich.add_row(*(row[i] for i in places), style="bold" if number in table.strong else None)
    # rich would cut what cannot wrap, so give it at least that width.
    size = _width if wide else _needed
    least = sum(size(table, i) + _GAP for i in places) - _GAP
    # A name such as "[napi]" is text, not markup.
    console = Console(markup=False, highlight=False, emoji=False, width=max(least, width()))
    console.print(rich)
    left_out(len(every) - len(places), len(every), rows, by_name)


def _piped(table: "Table") -> str:
    places = range(len(table.header))
    below = [i for i in places if _width(table, i) > _LONG and _wraps(table, i, _LONG)]
    if not below:
        return table.text()
    lines = table.only([i for i in places if i not in below]).text().split("\n")
    printed = lines[:1]
    for line, row in zip(lines[1:], table.rows, strict=True):
        printed.append(line)
        for place in below:
            text = f"  {table.header[place]}: {row[place]}"
            printed += lines_of(text, _PIPE, "    ") if row[place] else []
    return "\n".join(printed)


def left_out(columns: int, of: int, rows: str = "", by_name: bool = True) -> None:
    """Say on stderr what the terminal did not show.

    columns: how many of the `of` columns. rows: a sentence on rows. by_name: mention --columns.
    """
    lines = [rows] if rows else []
    if columns:
        how = "--wide shows all" + (", --columns A,B,... those named" if by_name else "")
        lines.append(f"{columns} of {of} columns hidden: {how}")
    sys.stdout.flush()
    for line in lines:
        print("\n".join(lines_of(f"({line})", width())), file=sys.stderr)


def say(text: str) -> None:
    """Print lines. A terminal gets them wrapped between words, with a hanging indent."""
    for line in text.split("\n"):
        if sys.stdout.isatty() and len(line) > width():
            hang = re.match(r" *(note: |\w+ {2,})?", line)
            indent = " " * (len(hang[0]) if hang and hang[0] else 2)
            print("\n".join(lines_of(line, width(), indent)))
        else:
            print(line)


columns_option = option(
    "--columns",
    "A,B,...",
    "Show these columns, in this order; also in JSON, CSV and Parquet.",
    callback=names,
)


def known_columns(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted columns without repeats. Raises click.UsageError for an unknown one."""
    from ..errors import no_such

    for name in wanted:
        if name not in known:
            raise click.UsageError(no_such("column", name, known))
    return list(dict.fromkeys(wanted))

# Formats any frame of figures as a text or HTML table. Column names determine units. cli/table.py
# fits tables to a terminal.

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..units import absent, are_near, duration, figure, last_digit, printable, ranges, share, since
from .names import columns_of, padded, wrap_columns

if TYPE_CHECKING:
    import pandas as pd

# The space between a figure and its unit.
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|pp)(?!\w))")
_TIED = "\N{NO-BREAK SPACE}"
_LEFT = ' style="text-align:left"'


@dataclass
class Table:
    # strong: rows in bold. left: columns aligned left; others are aligned right. places: each row's
    # place in a report's timeline, or "".
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    strong: set[int] = field(default_factory=set)
    left: set[int] = field(default_factory=lambda: {0})
    places: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.header = [printable(cell) for cell in self.header]
        self.rows = [[printable(cell) for cell in row] for row in self.rows]

    def text(self) -> str:
        widths = [
            max(columns_of(row[i]) for row in [self.header, *self.rows])
            for i in range(len(self.header))
        ]

        def line(row: Sequence[str]) -> str:
            cells = [
                padded(cell, width, i in self.left)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        return "\n".join(line(row) for row in [self.header, *self.rows])

    def only(self, places: Sequence[int]) -> "Table":
        return Table(
            [self.header[place] for place in places],
            [[row[place] for place in places] for row in self.rows],
            left={at for at, place in enumerate(places) if place in self.left},
        )

    def html(self) -> str:
        # Its table of entities takes a millisecond to import, which a terminal need not spend.
        from html import escape

        def row(cells: Iterable[str], tag: str, strong: bool = False, place: str = "") -> str:
            style = ' style="font-weight:bold"' if strong else ""
            style += f' data-place="{place}"' if place else ""
            # The page's style aligns the first column left.
            aligned = (
                f"<{tag}{_LEFT if i and i in self.left else ''}>{escape(cell)}</{tag}>"
                for i, cell in enumerate(cells)
            )
            return f"<tr{style}>{''.join(aligned)}</tr>"

        rows = zip_longest(self.rows, self.places, fillvalue="")
        body = "".join(
            row(cells, "td", i in self.strong, str(place)) for i, (cells, place) in enumerate(rows)
        )
        return f"<table><thead>{row(self.header, 'th')}</thead><tbody>{body}</tbody></table>"


def summary_html(lines: Sequence[tuple[str, str]]) -> str:
    # The first line is the heading, then come rows of name and text.
    from html import escape

    (_, title), *rest = lines
    style = ' style="text-align:left;white-space:normal;vertical-align:top"'
    rows = "".join(
        f"<tr><th{style}>{escape(name)}</th><td{style}>{escape(text)}</td></tr>"
        for name, text in rest
    )
    return f"<p><b>{escape(title)}</b></p><table><tbody>{rows}</tbody></table>"


def summary_text(lines: Sequence[tuple[str, str]]) -> str:
    (_, title), *rest = lines
    return "\n".join([printable(title), *(f"{name:<9} {printable(text)}" for name, text in rest)])


def between(low_ns: Any, high_ns: Any) -> str:
    # A duration between two bounds; empty if the upper one is 0.
    if not high_ns:
        return ""
    return _range(low_ns, high_ns, duration, last_digit(high_ns))


def share_between(low: Any, high: Any) -> str:
    return _range(low, high, share, 0.001) if high else ""


def _range(low: Any, high: Any, text: Callable[[Any], str], digit: float) -> str:
    # If the ends differ by less than the last digit shown, give the higher one alone.
    ends = text(low), text(high)
    if ends[0] == ends[1] or ends[1].startswith("<") or (low and are_near(low, high, digit)):
        return ends[1]
    return f"{ends[0]} – {ends[1]}" if low else f"≤ {ends[1]}"


def plain(value: Any) -> Any:
    # A pandas or numpy scalar as a Python one. NA and NaN become None.
    if absent(value):
        return None
    return value.item() if hasattr(value, "item") else value


def listed(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    # Rows of plain scalars, for templates and JSON.
    rows = frame.to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def first_row(frame: "pd.DataFrame") -> dict[str, Any] | None:
    # As listed() has it; None of a frame without rows.
    return next(iter(listed(frame[:1])), None)


def label(key: Any) -> str:
    # A victim's key as text: "openssl", "openssl (1234)", "CPU 0".
    if isinstance(key, tuple):
        tid, comm = key
        return f"{comm} ({tid})"
    return f"CPU {key}" if isinstance(key, int) else str(key)


def window_text(window_ns: int, cpus: Sequence[int], during: str) -> str:
    where = f"{duration(window_ns)} on CPU{'s' if len(cpus) > 1 else ''} {ranges(cpus)}"
    return f"{during}, {where}" if during else f"in {where}"


def questions_table(rows: "pd.DataFrame", topics: Mapping[str, str]) -> Table:
    # rows: from Ask.table or listed(). topics: headings by topic.
    columns = ["question", "answers", "why"]
    if "why" not in rows or bool((rows["why"] == "").all()):
        columns.pop()
    cells: list[list[str]] = []
    heads: set[int] = set()
    above = None
    for topic, row in zip(rows["topic"], rows[columns].itertuples(index=False), strict=True):
        if topic != above:
            heads.add(len(cells))
            cells.append([topics[topic], *("" for _ in columns[1:])])
        cells.append([f"  {row[0]}", *row[1:]])
        above = topic
    heading = [{"why": "missing"}.get(name, name) for name in columns]
    return Table(heading, cells, strong=heads, left=set(range(len(columns))))


def lines_of(text: str, width: int, hang: str = "", breaks: bool = False) -> list[str]:
    """A line wrapped at a width.

    hang: the indent of all lines but the first. breaks: break a word that is longer than a line;
    else it stays whole, so that it can be copied.
    """
    lines = wrap_columns(
        _UNIT.sub(_TIED, text),
        width,
        subsequent_indent=hang,
        break_long_words=breaks,
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " ") for line in lines]


def figures(
    frame: "pd.DataFrame",
    start_ns: int | None = None,
    rows: int | None = None,
    names: Mapping[str, str] | None = None,
    shares: Collection[str] = (),
) -> Table:
    # start_ns: the origin of times; None leaves them as numbers. rows: the maximum. names: headings
    # that differ from the column's name. shares: share columns not named _share.
    named = any(name is not None for name in frame.index.names)
    shown = (frame if rows is None else frame[:rows]).reset_index(drop=not named)
    keys = frame.index.nlevels if named else 0
    # The columns of a matrix are named after thieves.
    is_matrix = frame.columns.name == "thief"
    cells, heads, left = [], [], {0}
    for i, name in enumerate(map(str, shown.columns)):
        values = shown.iloc[:, i]
        thing = is_matrix and i >= keys
        kind = f"{name}_ns" if thing else f"{name}_share" if name in shares else name
        cells.append(_column(kind, values, start_ns))
        if name in shares and "measure" in shown:
            # Instructions per cycle share a column with shares, but are none.
            ratios = shown["measure"] == "ipc"
            cells[-1] = [
                _plain(value) if ratio else cell
                for value, ratio, cell in zip(values, ratios, cells[-1], strict=True)
            ]
        # A column named by a number gets the matrix's word for it: "CPU 3".
        called = f"{frame.columns.name} {name}" if name.isdigit() else name
        heads.append((names or {}).get(name) or (called if thing else heading(name, start_ns)))
        if values.dtype.kind not in "iuf":
            left.add(i)
    return Table(heads, list(zip(*cells, strict=True)), left=left)


def heading(name: str, start_ns: int | None = None) -> str:
    # "stolen_share" -> "stolen share": cells have the units. Import here, because loading the
    # columns' declarations takes 10 ms, which commands without frames need not spend.
    from ..schema import is_instant

    if is_instant(name) and start_ns is not None:
        return f"{name.removesuffix('_ns').replace('_', ' ')}, s"
    if name == "ns":
        return "time"
    return name.removesuffix("_ns").replace("_per_s", "/s").replace("_", " ")


def _column(name: str, values: "pd.Series[Any]", start_ns: int | None) -> list[str]:
    from ..schema import is_instant, unit_of

    if is_instant(name):
        if start_ns is None:
            return ["" if absent(value) else str(int(value)) for value in values]
        return ["" if absent(value) else since(value, start_ns) for value in values]
    match unit_of(name):
        case "ns":
            return ["" if absent(value) else _ns(value) for value in values]
        case "share":
            return [share(value) for value in values]
        case "address":
            return ["" if absent(value) else f"{int(value):#x}" for value in values]
        case "id":
            return ["" if absent(value) else str(value) for value in values]
    return [_plain(value) for value in values]


def _ns(value: Any) -> str:
    # Averages and estimates may have fractions of a nanosecond.
    return f"{value:.1f} ns" if 0 < abs(value) < 10 and value != int(value) else duration(value)


def _plain(value: Any) -> str:
    if absent(value):
        return ""
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return "yes" if value else "no"
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return figure(value)
    return f"{value:,}" if isinstance(value, int) else str(value)

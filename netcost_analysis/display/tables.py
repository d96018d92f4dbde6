# Tables for a reader: text and HTML from one description; a terminal's are in cli_table.

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..coverage import coverage_words
from ..units import absent, duration, printable, ranges, share

if TYPE_CHECKING:
    import pandas as pd

    from ..questions.ledger import Cell, Column, Ledger


NO_TASK = "No task was seen in the window."
# Characters that fit into a report's page.
_PAGE = 110
_LEFT = ' style="text-align:left"'


@dataclass
class Table:
    # header: one per column. strong: rows to set apart. left: columns aligned left, the others
    # right. places: by row, where it is in a report's timeline, "" for nowhere (viewed.py).
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
            max(len(row[i]) for row in [self.header, *self.rows]) for i in range(len(self.header))
        ]

        def line(row: Sequence[str]) -> str:
            cells = [
                cell.ljust(width) if i in self.left else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(cells).rstrip()

        return "\n".join(line(row) for row in [self.header, *self.rows])

    def html(self) -> str:
        def row(cells: Iterable[str], tag: str, strong: bool = False, place: str = "") -> str:
            style = ' style="font-weight:bold"' if strong else ""
            style += f' data-place="{place}"' if place else ""
            # The page's first column is aligned left as it is.
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
    # A heading, then rows of name and text.
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
    # A cell whose truth lies between two values; nothing for nothing.
    if not high_ns:
        return ""
    low, high = duration(low_ns), duration(high_ns)
    return _range(low, high, low_ns)


def share_between(low: Any, high: Any) -> str:
    return _range(share(low), share(high), low) if high else ""


def _range(low: str, high: str, lowest: Any) -> str:
    if low == high or high.startswith("<"):
        return high
    return f"{low} – {high}" if lowest else f"≤ {high}"


def plain(value: Any) -> Any:
    # A pandas or numpy scalar as JSON has it; NA and NaN become None.
    if absent(value):
        return None
    return value.item() if hasattr(value, "item") else value


def listed(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    # Its rows, of plain scalars, as templates and JSON take them.
    rows = frame.to_dict("records")
    return [{str(name): plain(value) for name, value in row.items()} for row in rows]


def label(key: Any) -> str:
    # A victim's index entry as text: "openssl", "openssl (1234)", "CPU 0".
    if isinstance(key, tuple):
        tid, comm = key
        return f"{comm} ({tid})"
    return f"CPU {key}" if isinstance(key, int) else str(key)


def ledger_table(ledger: "Ledger", width: int = 132) -> Table:
    # Thieves down, victims across: thieves have the long names. As many victims as the width takes,
    # those who lost most first; the others share the last column.
    known = ledger.own is not None
    for count in range(min(len(ledger.victims), 8), -1, -1):
        gathered = ledger.gathered(count)
        names = [*(("on CPU", "the task itself") if known else ()), *gathered.thieves]
        names.append("stolen in all")
        header = ["thief", *(cell for one in gathered.columns for cell in (one.name, ""))]
        columns = [_cells(one, known) for one in gathered.columns]
        rows = [
            [name, *(cell for column in columns for cell in column[row])]
            for row, name in enumerate(names)
        ]
        table = Table(header, rows, strong={names.index("stolen in all")})
        if count <= 1 or max(map(len, table.text().splitlines())) <= width:
            break
    return table


def _cells(column: "Column", known: bool) -> list[tuple[str, str]]:
    cells = [*column.thieves, column.stolen]
    if not known or column.task is None:
        return [cell_text(cell) for cell in cells]
    head = (between(column.on_cpu_ns, column.on_cpu_ns), "")
    return [head, *(cell_text(cell) for cell in (column.task, *cells))]


def cell_text(cell: "Cell") -> tuple[str, str]:
    # A time and its share of the time on CPU; no share where that is unknown.
    return between(cell.ns, cell.max_ns), share_between(cell.share, cell.max_share)


def window_text(window_ns: int, cpus: Sequence[int], during: str) -> str:
    where = f"{duration(window_ns)} on CPU{'s' if len(cpus) > 1 else ''} {ranges(cpus)}"
    return f"{during}, {where}" if during else f"in {where}"


def ledger_title(ledger: "Ledger") -> str:
    window = window_text(ledger.window_ns, ledger.cpus, ledger.during)
    coverages = coverage_words(ledger.recorded_share, ledger.owned_share)
    return f"Time stolen from tasks {window} ({coverages})"


def ledger_elsewhere(ledger: "Ledger") -> list[str]:
    # What interrupts and kthreads took from nobody, or did for the task itself: a line per class.
    names = {
        "from_idle": "from idle",
        "scheduled": "scheduled (in ksoftirqd and other kernel threads)",
        "synchronous": "synchronous (the tasks' own traffic)",
    }
    lines = []
    for cost_class, total, most in ledger.elsewhere_most:
        largest = ", ".join(f"{thief} {duration(ns)}" for thief, ns in most if ns)
        name = names.get(cost_class, cost_class or "no class")
        lines.append(printable(f"{name}: {duration(total)} ({largest})"))
    return lines


def ledger_footer(ledger: "Ledger", verdict: str | None = None) -> str:
    # What stands below the table. verdict: on the recording's completeness, None where unknown.
    lines = [f"  {line}" for line in ledger_elsewhere(ledger)]
    if lines:
        lines = ["", "Not stolen from a task:", *lines]
    if verdict:
        lines += ["", f"verdict    {printable(verdict)}"]
    return "\n".join([*lines, *(f"note: {printable(note)}" for note in ledger.notes)])


def ledger_text(ledger: "Ledger") -> str:
    table = ledger_table(ledger).text() if ledger.victims else NO_TASK
    return "\n".join([ledger_title(ledger), "", table, ledger_footer(ledger)])


def ledger_html(ledger: "Ledger") -> str:
    notes = [*ledger_elsewhere(ledger), *(f"note: {note}" for note in ledger.notes)]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    title = escape(ledger_title(ledger))
    table = ledger_table(ledger, _PAGE).html() if ledger.victims else f"<p>{NO_TASK}</p>"
    return f"<p><b>{title}</b></p>{table}<ul>{items}</ul>"


def questions_table(rows: "pd.DataFrame", topics: Mapping[str, str]) -> Table:
    # rows: of Ask.table, or of listed(). topics: their headings.
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

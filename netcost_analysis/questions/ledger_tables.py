"""The matrix of victims and thieves as it is shown: thieves down, victims across."""

from html import escape

from ..answers.answer import Answer
from ..coverage import coverage_words
from ..display.tables import Table, between, share_between, window_text
from ..timeline.timeline import Timeline
from ..units import absent, duration, printable
from .completeness.unrecorded import note_of
from .ledger import Cell, Column, Ledger, ledger_of
from .ledger import ledger as ledger

# Of the table on a page.
_VICTIMS, _THIEVES = 4, 14
# On a terminal and in a pipe, however wide: the same for whoever reads about it; and with --wide.
_FEW, _MANY = 3, 8
_REST = "own traffic, scheduled, unknown"


def ledger_table(matrix: Ledger, wide: bool = False) -> Table:
    # Thieves down, since they have the long names, victims across: those who lost most first; the
    # others share the last column.
    known = matrix.on_cpu is not None
    thieves, columns = matrix.gathered(_MANY if wide else _FEW)
    names = [*(("on CPU", "the task itself") if known else ()), *thieves, "stolen in all"]
    names += [_REST] if any(column.rest.ns for column in columns) else []
    header = ["thief", *(cell for column in columns for cell in (column.name, ""))]
    cells = [_cells(column) for column in columns]
    rows = [
        [name, *(text for column in cells for text in column[row])]
        for row, name in enumerate(names)
    ]
    return Table(header, rows, strong={names.index("stolen in all")})


def _cells(column: Column) -> list[tuple[str, str]]:
    cells = [cell_text(cell) for cell in (*column.thieves, column.stolen)]
    if column.task is None:
        return cells
    return [
        (between(column.on_cpu_ns, column.on_cpu_ns), ""),
        cell_text(column.task),
        *cells,
        cell_text(column.rest),
    ]


def cell_text(cell: Cell) -> tuple[str, str]:
    # A time and its share of the time on CPU, which may be unknown.
    return between(cell.ns, cell.max_ns), share_between(cell.share, cell.max_share)


def ledger_title(timeline: Timeline) -> str:
    window = window_text(timeline.duration_ns, timeline.summary["cpus"], timeline.window.during)
    return f"Time stolen from tasks {window} ({coverage_words(timeline.recorded, timeline.owned)})"


def ledger_footer(matrix: Ledger, timeline: Timeline, verdict: str | None) -> str:
    # The lines below the table. verdict: on the recording's completeness, None where unknown.
    lines = [f"  {line}" for line in matrix.elsewhere_lines()]
    if lines:
        lines = ["", "Not stolen from a task:", *lines]
    if verdict:
        lines += ["", f"verdict    {printable(verdict)}"]
    notes = (*timeline.notes, *note_of(timeline))
    return "\n".join([*lines, *(f"note: {printable(note)}" for note in notes)])


@ledger.table
def _html(answer: Answer) -> str:
    # For a page: small thieves as one, shaded by their share of the victim's time on CPU.
    matrix = ledger_of(answer.timeline, answer.options.get("by", "comm"))
    if not matrix.victims:
        return ""
    thieves, columns = matrix.gathered(_VICTIMS, _THIEVES)
    head = "".join(f'<th colspan="2">{escape(column.name)}</th>' for column in columns)
    rows = []
    if matrix.on_cpu is not None:
        times = [(duration(column.on_cpu_ns), "", 0.0) for column in columns]
        own = [(*cell_text(column.task), 0.0) for column in columns if column.task]
        rows += [_row("on CPU", times), _row("the task itself", own)]
    for place, thief in enumerate(thieves):
        rows.append(_row(thief, [_shaded(column.thieves[place]) for column in columns]))
    rows.append(_row("stolen in all", [_shaded(column.stolen) for column in columns], "total"))
    if any(column.rest.ns for column in columns):
        rows.append(_row(_REST, [(*cell_text(column.rest), 0.0) for column in columns]))
    return (
        f'<table class="ledger"><thead><tr><th>thief</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _shaded(cell: Cell) -> tuple[str, str, float]:
    return (*cell_text(cell), 0.0 if absent(cell.max_share) else cell.max_share)


def _row(name: str, cells: list[tuple[str, str, float]], kind: str = "") -> str:
    from ..plots.palette import shade

    text = ""
    for time, part, fraction in cells:
        tint = shade("stolen_network", fraction)
        style = f' style="background:{tint}"' if fraction >= 0.001 else ""
        text += f"<td{style}>{escape(time)}</td><td{style}>{escape(part)}</td>"
    mark = f' class="{kind}"' if kind else ""
    return f"<tr{mark}><td>{escape(name)}</td>{text}</tr>"

"""The matrix of victims and thieves, and how it is shown: thieves down, victims across."""

from html import escape
from typing import TYPE_CHECKING

from ..coverage import coverage_words
from ..display.tables import Table, between, share_between, window_text
from ..units import duration, printable
from .ledger import Cell, Column, Ledger

if TYPE_CHECKING:
    pass

NO_TASK = "No task was seen in the window."
# Characters that fit into a report's page.
_PAGE = 110


def ledger_table(ledger: Ledger, width: int = 132) -> Table:
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


def _cells(column: Column, known: bool) -> list[tuple[str, str]]:
    cells = [*column.thieves, column.stolen]
    if not known or column.task is None:
        return [cell_text(cell) for cell in cells]
    head = (between(column.on_cpu_ns, column.on_cpu_ns), "")
    return [head, *(cell_text(cell) for cell in (column.task, *cells))]


def cell_text(cell: Cell) -> tuple[str, str]:
    # A time and its share of the time on CPU; no share where that is unknown.
    return between(cell.ns, cell.max_ns), share_between(cell.share, cell.max_share)


def ledger_title(ledger: Ledger) -> str:
    window = window_text(ledger.window_ns, ledger.cpus, ledger.during)
    coverages = coverage_words(ledger.recorded_share, ledger.owned_share)
    return f"Time stolen from tasks {window} ({coverages})"


def ledger_elsewhere(ledger: Ledger) -> list[str]:
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


def ledger_footer(ledger: Ledger, verdict: str | None = None) -> str:
    # What stands below the table. verdict: on the recording's completeness, None where unknown.
    lines = [f"  {line}" for line in ledger_elsewhere(ledger)]
    if lines:
        lines = ["", "Not stolen from a task:", *lines]
    if verdict:
        lines += ["", f"verdict    {printable(verdict)}"]
    return "\n".join([*lines, *(f"note: {printable(note)}" for note in ledger.notes)])


def ledger_text(ledger: Ledger) -> str:
    table = ledger_table(ledger).text() if ledger.victims else NO_TASK
    return "\n".join([ledger_title(ledger), "", table, ledger_footer(ledger)])


def ledger_html(ledger: Ledger) -> str:
    notes = [*ledger_elsewhere(ledger), *(f"note: {note}" for note in ledger.notes)]
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    title = escape(ledger_title(ledger))
    table = ledger_table(ledger, _PAGE).html() if ledger.victims else f"<p>{NO_TASK}</p>"
    return f"<p><b>{title}</b></p>{table}<ul>{items}</ul>"

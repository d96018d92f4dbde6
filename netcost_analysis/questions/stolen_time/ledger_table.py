# The victim x thief table as a page shows it: shares as shading, the many small ones as one.

from html import escape
from typing import TYPE_CHECKING

from ...plots.palette import shade
from ...units import absent, duration
from ..ledger import ledger as ledger
from ..ledger_tables import cell_text, ledger_elsewhere

if TYPE_CHECKING:
    from ...answers.answer import Answer
    from ..ledger import Cell, Ledger

_VICTIMS = 4
_THIEVES = 14


@ledger.figures
def _elsewhere(answer: "Answer") -> dict[str, list[str] | bool]:
    found: Ledger = answer.result
    return {"nobody": not found.victims, "elsewhere": ledger_elsewhere(found)}


@ledger.table
def _html(answer: "Answer") -> str:
    # Thieves down, victims across, the others summed in the last. A cell has time and share of the
    # victim's time on CPU; its shading grows with the share.
    found: Ledger = answer.result
    if not found.victims:
        return ""
    table = found.gathered(_VICTIMS, _THIEVES)
    columns = table.columns
    head = "".join(f'<th colspan="2">{escape(one.name)}</th>' for one in columns)
    rows = []
    if any(one.on_cpu_ns is not None for one in columns):
        rows.append(_row("on CPU", [(duration(one.on_cpu_ns), "", 0.0) for one in columns]))
        own = [(*_cell(one.task)[:2], 0.0) if one.task else ("unknown", "", 0.0) for one in columns]
        rows.append(_row("the task itself", own))
    for place, thief in enumerate(table.thieves):
        rows.append(_row(thief, [_cell(one.thieves[place]) for one in columns]))
    rows.append(_row("stolen in all", [_cell(one.stolen) for one in columns], "total"))
    return (
        f'<table class="ledger"><thead><tr><th>thief</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(cell: "Cell") -> tuple[str, str, float]:
    return (*cell_text(cell), 0.0 if absent(cell.max_share) else cell.max_share)


def _row(name: str, cells: list[tuple[str, str, float]], kind: str = "") -> str:
    text = ""
    for time, part, fraction in cells:
        tint = shade("stolen_network", fraction)
        style = f' style="background:{tint}"' if fraction >= 0.001 else ""
        text += f"<td{style}>{escape(time)}</td><td{style}>{escape(part)}</td>"
    mark = f' class="{kind}"' if kind else ""
    return f"<tr{mark}><td>{escape(name)}</td>{text}</tr>"

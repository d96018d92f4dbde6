"""The victim x thief table as a page shows it: shares as shading, the many small ones as one."""

from html import escape
from typing import TYPE_CHECKING

from .plots_palette import PART
from .tables import NO_TASK, between, label, ledger_elsewhere, plain_key, share_between
from .units import absent, duration, plural

if TYPE_CHECKING:
    import pandas as pd

    from .matrix import Ledger

_VICTIMS = 4
_THIEVES = 14


def html(ledger: "Ledger", victims: int = _VICTIMS, thieves: int = _THIEVES) -> str:
    """A ledger as an HTML table, thieves down, victims across.

    victims, thieves: how many have a column and a row; the others are summed in the last. A cell
    has time and share of the victim's time on CPU; its shading grows with the share. Names are
    escaped.
    """
    if not len(ledger.max_ns):
        return f"<p class='missing'>{NO_TASK}</p>" + _elsewhere(ledger)
    low, high = _summed(ledger.ns, victims, thieves), _summed(ledger.max_ns, victims, thieves)
    groups = _groups(len(ledger.max_ns), victims)
    wholes = [_total(ledger.on_cpu_ns, group) for group in groups]
    owns = [[_total(ns, group) for ns in (ledger.task_min_ns, ledger.task_ns)] for group in groups]
    names = [_name(ledger, group) for group in groups]
    head = "".join(f'<th colspan="2">{escape(name)}</th>' for name in names)
    rows = []
    if any(whole is not None for whole in wholes):
        rows.append(_row("on CPU", [(duration(whole), "", 0.0) for whole in wholes]))
        own = [
            ("unknown", "", 0.0)
            if low_ns is None or high_ns is None
            else (
                between(low_ns, high_ns),
                share_between(low_ns / whole, high_ns / whole) if whole else "",
                0.0,
            )
            for (low_ns, high_ns), whole in zip(owns, wholes, strict=True)
        ]
        rows.append(_row("the task itself", own))
    rows += [
        _row(str(thief), _cells(list(low[thief]), list(high[thief]), wholes))
        for thief in high.columns
    ]
    everything = _cells(list(low.sum(axis=1)), list(high.sum(axis=1)), wholes)
    rows.append(_row("stolen in all", everything, "total"))
    return (
        f'<table class="ledger"><thead><tr><th>thief</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{_elsewhere(ledger)}"
    )


def _elsewhere(ledger: "Ledger") -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in ledger_elsewhere(ledger))
    return f"<p>Interrupts that stole from no task:</p><ul>{lines}</ul>" if lines else ""


def _groups(count: int, most: int) -> list[list[int]]:
    # One victim each, then the others; a single other has a column of its own.
    kept = count if count <= most + 1 else most
    rest = list(range(kept, count))
    return [[place] for place in range(kept)] + ([rest] if rest else [])


def _summed(frame: "pd.DataFrame", victims: int, thieves: int) -> "pd.DataFrame":
    import pandas as pd

    columns = {
        " / ".join(str(frame.columns[place]) for place in group)
        if len(group) == 1
        else plural(len(group), "other"): frame.iloc[:, group].sum(axis=1)
        for group in _groups(frame.shape[1], thieves)
    }
    narrow = pd.DataFrame(columns, index=frame.index)
    groups = _groups(len(frame), victims)
    return pd.DataFrame([narrow.iloc[group].sum() for group in groups], columns=narrow.columns)


def _total(ns: "pd.Series[int]", group: list[int]) -> int | None:
    total = ns.iloc[group].sum(skipna=False)
    return None if absent(total) else int(total)


def _name(ledger: "Ledger", group: list[int]) -> str:
    if len(group) > 1:
        return plural(len(group), "other")
    return label(plain_key(ledger.max_ns.index[group[0]]))


def _cells(
    low: list[int], high: list[int], wholes: list[int | None]
) -> list[tuple[str, str, float]]:
    return [
        (between(a, b), share_between(a / whole, b / whole), b / whole)
        if whole
        else (between(a, b), "", 0.0)
        for a, b, whole in zip(low, high, wholes, strict=True)
    ]


def _row(name: str, cells: list[tuple[str, str, float]], kind: str = "") -> str:
    red, green, blue = (int(PART["stolen_network"][at : at + 2], 16) for at in (1, 3, 5))
    text = ""
    for time, part, fraction in cells:
        # The square root: a percent is still seen beside a half.
        tint = f"rgba({red},{green},{blue},{0.6 * min(fraction, 1) ** 0.5:.2f})"
        style = f' style="background:{tint}"' if fraction >= 0.001 else ""
        text += f"<td{style}>{escape(time)}</td><td{style}>{escape(part)}</td>"
    mark = f' class="{kind}"' if kind else ""
    return f"<tr{mark}><td>{escape(name)}</td>{text}</tr>"

# The remedies: what each could give back at most, and how much of that others would pay.

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..units import absent, duration, share
from .bars import beside
from .marks import label_rows, legend_above
from .palette import FAINT, INK, PART, PART_NAMES, time_unit

_NAMES = {
    "rps": "RPS to another CPU",
    "irq_affinity": "interrupts to another CPU",
    "deferral_off": "no deferral of frees",
    "larger_batches": "larger batches",
}
_PARTS = {"stolen_network": "from_stolen_ns", "synchronous": "from_synchronous_ns"}
_BAR = 0.6


def remedies(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw what each remedy could give back to a victim.

    rows: as questions.remedies.remedies returns it. Filled: what no other task would lose. Framed:
    what the victim would get at another's cost.
    """
    most = max((int(ns) for ns in rows["removable_ns"].dropna()), default=0)
    divisor, unit = time_unit(most)
    drawn, framed = set(), False
    for place, row in enumerate(rows.to_dict("records")):
        if absent(row["removable_ns"]):
            ax.text(0, place, f" {row['finding']}", va="center", color=FAINT)
            continue
        left, free = 0, 0 if absent(row["gain_max_ns"]) else int(row["gain_max_ns"])
        for part, column in _PARTS.items():
            ns = int(row[column])
            filled = min(ns, free)
            free -= filled
            framed |= filled < ns
            look: Any = {"edgecolor": PART[part], "linewidth": 0.8}
            for width, color in ((filled, PART[part]), (ns - filled, "white")):
                if width:
                    ax.barh(place, width / divisor, _BAR, left=left / divisor, color=color, **look)
                left += width
            if ns:
                drawn.add(part)
        text = "nothing"
        if row["removable_ns"]:
            known = f"{duration(row['removable_ns'])}  {share(row['removable_share'])}".strip()
            text = f"{known}, {row['certainty']}"
        end = left / divisor
        beside(ax, text, end, place, 5, color=INK)
        if not absent(row["gain_least_ns"]):
            least = int(row["gain_least_ns"]) / divisor
            ax.plot([least, end], [place, place], color=INK, marker="|", linewidth=0.8)
    label_rows(ax, [_NAMES[name] for name in rows["remedy"]], beyond=0.6)
    ax.set_xlim(0, max(most, 1) / divisor * 1.42)
    ax.set_xlabel(f"of its time on CPU, at most, {unit}")
    ax.grid(axis="x")
    shown = [part for part in _PARTS if part in drawn]
    handles = [Patch(facecolor=PART[part], label=PART_NAMES[part]) for part in shown]
    if framed:
        name = "at other tasks' cost, or not known"
        handles.append(Patch(facecolor="white", edgecolor=FAINT, label=name))
    legend_above(ax, handles, columns=3)

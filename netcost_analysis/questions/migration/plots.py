"""Pictures of migrations: each takes tidy DataFrames and an Axes."""

import pandas as pd
from matplotlib.axes import Axes

from ...plots.marks import interval, intervals, label_rows, legend_above, short
from ...plots.palette import CAUSE, INK, KIND, PART, time_unit
from ...units import plural

_ROWS = 10
# Colour and mark of a cause: they are told apart without colours too.
CAUSES = {
    "wake-up": (CAUSE["wake-up"], "o"),
    "balance": (CAUSE["balance"], "s"),
    "stopper": (CAUSE["stopper"], "^"),
    "stopper: exec": (CAUSE["stopper: exec"], "x"),
}
_MEASURES = {
    "run": ("ran itself, share of the window", KIND["softirq"], 100, "points"),
    "wait": ("waited for a CPU, share of the window", PART["stolen_network"], 100, "points"),
    "softirq": ("softirqs, share of its time on CPU", KIND["softirq_other"], 100, "points"),
    "ipc": ("instructions per cycle", INK, 1, ""),
}
_EFFECT = ("effect", "effect_low", "effect_high")


def moves(
    ax: Axes, rows: pd.DataFrame, window: tuple[int, int], first: tuple[int, ...] = ()
) -> None:
    """Draw when which task was migrated, and why.

    rows: of migrations(). window: from when to when, ns; the axis counts from its start. first:
    tids whose rows stand on top; the rest are by name, the most often migrated first.
    """
    own = rows["tid"].isin(first)
    names = rows["comm"].map(lambda name: short(name, 18))
    names = names.mask(own, names + " " + rows["tid"].astype(str))
    of_first = rows[own.to_numpy()].assign(of=names[own])
    counts = names[~own].value_counts()
    on_top = [name for tid in first for name in of_first["of"][of_first["tid"] == tid].unique()]
    shown = [*on_top, *counts.index[: max(_ROWS - len(on_top), 1)]]
    if len(counts) > _ROWS - len(on_top):
        rest = ~names.isin(shown)
        shown.append(plural(len(counts) - (_ROWS - len(on_top)), "other name"))
        names = names.mask(rest, shown[-1])
    place = names.map({name: row for row, name in enumerate(shown)})
    unit_ns, unit = time_unit(window[1] - window[0])
    for cause, (color, mark) in CAUSES.items():
        here = (rows["cause"] == cause).to_numpy()
        if here.any():
            ax.scatter(
                (rows["time_ns"][here] - window[0]) / unit_ns,
                place[here],
                s=22,
                marker=mark,
                color=color,
                linewidths=1,
                label=f"{cause} ({int(here.sum()):,})",
            )
    total = names.value_counts()
    labels = [f"{name} ({total.get(name, 0):,})" for name in shown]
    label_rows(ax, labels)
    ax.set_xlim(0, max((window[1] - window[0]) / unit_ns, 1e-9))
    ax.set_xlabel(f"time since the window's start, {unit}")
    ax.grid(axis="y")
    legend_above(ax)


def effects(ax: Axes, rows: pd.DataFrame, measure: str) -> None:
    """Draw the effect of migrations on one measure, with its interval, by length of the window.

    rows: of migration_effect(), of one cause.
    """
    name, color, scale, unit = _MEASURES[measure]
    own = rows[(rows["measure"] == measure).to_numpy()].sort_values("width_ns")
    names, figures = [], []
    for place, row in enumerate(own.to_dict("records")):
        unit_ns, of = time_unit(2 * int(row["width_ns"]))
        names.append(f"{row['width_ns'] / unit_ns:g} {of} (n={row['studied']:,})")
        if pd.isna(row["effect"]):
            ax.annotate("not known", (0, place), (5, 0), textcoords="offset points", va="center")
        else:
            figures.append(interval(place, row, _EFFECT, color, scale, markersize=4))
    intervals(ax, names, figures)
    ends = [abs(end) for one in figures for end in (one.low, one.high)]
    reach = 1.15 * max(ends, default=1.0)
    ax.set_xlim(-max(reach, 1e-3), max(reach, 1e-3))
    ax.set_title(name, fontsize=9.5, fontweight="normal")
    ax.set_xlabel(f"effect, {unit}" if unit else "effect")
    ax.grid(axis="x")

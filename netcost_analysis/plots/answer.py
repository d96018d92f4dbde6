# The headline: one victim's time on CPU beside what a monitor shows, and who took the rest.

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..units import absent, duration, plural, share
from .bars import beside
from .marks import label_rows, legend_above
from .palette import (
    FAINT,
    HATCH,
    INK,
    KIND,
    KIND_NAMES,
    PART,
    PART_NAMES,
    WAITED,
    printable,
    time_unit,
)

# A part narrower than this share of the axis has no label.
_LABEL_WIDTH = 0.085
_BAR = 0.62
# A bar shorter than this share would be a mere line.
_SEEN = 0.005
_DARK = ("stolen_network", "stolen_other", "synchronous", "scheduled")


def answer(
    ax: Axes,
    parts: pd.DataFrame,
    victim: str,
    monitor_ns: int | None = None,
    displaced_ns: int = 0,
) -> None:
    """Draw where a victim's time on CPU went, under it what a monitor shows.

    parts: as parts_of returns it. monitor_ns: utime + stime, None where unknown. displaced_ns: what
    it waited off CPU for scheduled network work; drawn to the same scale where it can be seen.
    """
    total = int(parts["ns"].sum())
    extent = max(total, monitor_ns or 0, displaced_ns, 1)
    divisor, unit = time_unit(extent)
    # Without shares, its time on CPU is not known.
    known = bool(parts["share"].notna().all())
    names = [f"{printable(victim)} on CPU" if known else f"from {printable(victim)}"]
    left = 0
    for part, ns, of in zip(parts["part"], map(int, parts["ns"]), parts["share"], strict=True):
        look = _look(part)
        ax.barh(0, ns / divisor, _BAR, left=left / divisor, clip_on=False, **look)
        if ns >= _LABEL_WIDTH * extent:
            text = f"{duration(ns)}\n{share(of)}".strip()
            color = "white" if part in _DARK else INK
            at = (left + ns / 2) / divisor
            ax.text(at, 0, text, ha="center", va="center", color=color, linespacing=1.25)
        left += ns
    if not absent(monitor_ns):
        names.append("a monitor shows")
        shown, row = int(monitor_ns or 0), len(names) - 1
        ax.barh(row, shown / divisor, _BAR, clip_on=False, **{**_look("own"), "facecolor": "white"})
        text = f"{duration(monitor_ns)} of CPU time charged to {printable(victim)}"
        ax.text(0.012 * extent / divisor, row, text, va="center", color=INK, linespacing=1.25)
    if displaced_ns >= _SEEN * extent:
        names.append("waited, off CPU")
        row = len(names) - 1
        ax.barh(row, displaced_ns / divisor, _BAR, **WAITED)
        text = f"{duration(displaced_ns)} behind network work in kernel threads"
        at = ((displaced_ns if displaced_ns < 0.5 * extent else 0) + 0.012 * extent) / divisor
        ax.text(at, row, text, va="center", color=INK, linespacing=1.25)
    label_rows(ax, names)
    ax.set_xlim(0, extent / divisor)
    ax.set_xlabel(f"CPU time, {unit}")
    ax.spines["left"].set_visible(False)
    handles = [
        Patch(label=f"{PART_NAMES[part]}: {duration(ns)}", **_look(part))
        for part, ns in zip(parts["part"], parts["ns"], strict=True)
    ]
    legend_above(ax, handles, columns=3)


def _look(part: str) -> dict[str, Any]:
    hatch = HATCH if part == "unknown" else None
    return {"facecolor": PART[part], "edgecolor": FAINT, "linewidth": 0.5, "hatch": hatch}


_NETWORK = {"yes": ", network", "unknown": ", perhaps network", "no": ", no network"}


def thieves(ax: Axes, rows: pd.DataFrame, most: int = 8) -> None:
    """Draw what took a victim's time, a bar per thief.

    rows: as by_thief returns it. most: how many have a bar of their own; the others share the last.
    """
    head, rest = rows.iloc[:most], rows.iloc[most:]
    # A vector may have two rows: runs for the network, and others.
    names = [printable(name) for name in head["thief"]]
    for place, twice in enumerate(head["thief"].duplicated(keep=False)):
        if twice:
            names[place] += _NETWORK[head["is_network"].iloc[place]]
    values = [int(ns) for ns in head["stolen_max_ns"]]
    shares = list(head["stolen_max_share"])
    colors = [KIND[kind] for kind in head["kind"]]
    if len(rest):
        names.append(plural(len(rest), "other"))
        values.append(int(rest["stolen_max_ns"].sum()))
        shares.append(rest["stolen_max_share"].sum(min_count=1))
        colors.append("white")
    largest = max(values, default=0)
    divisor, unit = time_unit(largest)
    places = range(len(values))
    lengths = [value / divisor for value in values]
    ax.barh(places, lengths, 0.66, color=colors, edgecolor=FAINT, linewidth=0.5)
    for place, value, of in zip(places, values, shares, strict=True):
        beside(ax, f"{duration(value)}  {share(of)}".strip(), value / divisor, place, 5)
    label_rows(ax, names, beyond=0.6)
    ax.set_xlim(0, max(largest, 1) / divisor * 1.18)
    ax.set_xlabel(f"time stolen, {unit}")
    ax.grid(axis="x")
    kinds = list(dict.fromkeys(head["kind"]))
    handles = [Patch(facecolor=KIND[kind], label=KIND_NAMES[kind]) for kind in kinds]
    legend_above(ax, handles, columns=4)

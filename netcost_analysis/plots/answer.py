# The headline: one victim's time on CPU beside what a monitor shows, and who took the rest.

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..units import absent, duration, plural, share
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

# Of the axis; a label in a narrower piece would leave it.
_LABEL_WIDTH = 0.085
_BAR = 0.62
# A bar shorter than this would be a line.
_SEEN = 0.005


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
    # Without shares its time on CPU is not known.
    known = bool(parts["share"].notna().all())
    rows = [f"{printable(victim)} on CPU" if known else f"from {printable(victim)}"]
    left = 0
    for part, ns, of in zip(parts["part"], map(int, parts["ns"]), parts["share"], strict=True):
        _piece(ax, 0, left / divisor, ns / divisor, PART[part], part == "unknown")
        if ns >= _LABEL_WIDTH * extent:
            text = f"{duration(ns)}\n{share(of)}".strip()
            dark = part in ("stolen_network", "stolen_other", "synchronous", "scheduled")
            _inside(ax, (left + ns / 2) / divisor, 0, text, "white" if dark else INK)
        left += ns
    if not absent(monitor_ns):
        rows.append("a monitor shows")
        _piece(ax, len(rows) - 1, 0, int(monitor_ns or 0) / divisor, "white", False)
        text = f"{duration(monitor_ns)} of CPU time charged to {printable(victim)}"
        _inside(ax, 0.012 * extent / divisor, len(rows) - 1, text, INK, left=True)
    if displaced_ns >= _SEEN * extent:
        rows.append("waited, off CPU")
        ax.barh(len(rows) - 1, displaced_ns / divisor, _BAR, **WAITED)
        text = f"{duration(displaced_ns)} behind network work in kernel threads"
        at = (displaced_ns if displaced_ns < 0.5 * extent else 0) + 0.012 * extent
        _inside(ax, at / divisor, len(rows) - 1, text, INK, left=True)
    label_rows(ax, rows)
    ax.set_xlim(0, extent / divisor)
    ax.set_xlabel(f"CPU time, {unit}")
    ax.spines["left"].set_visible(False)
    handles = [
        Patch(
            facecolor=PART[part],
            edgecolor=FAINT,
            linewidth=0.5,
            label=f"{PART_NAMES[part]}: {duration(ns)}",
            hatch=HATCH if part == "unknown" else None,
        )
        for part, ns in zip(parts["part"], parts["ns"], strict=True)
    ]
    if handles:
        legend_above(ax, handles, columns=3)


def _piece(ax: Axes, row: int, left: float, width: float, color: str, unknown: bool) -> None:
    ax.barh(
        row,
        width,
        _BAR,
        left=left,
        color=color,
        edgecolor=FAINT,
        linewidth=0.5,
        hatch=HATCH if unknown else None,
        # The last edge lies on the frame.
        clip_on=False,
    )


def _inside(ax: Axes, x: float, row: int, text: str, color: str, left: bool = False) -> None:
    side = "left" if left else "center"
    ax.text(x, row, text, ha=side, va="center", color=color, linespacing=1.25)


_NETWORK = {"yes": ", network", "unknown": ", perhaps network", "no": ", no network"}


def thieves(ax: Axes, rows: pd.DataFrame, most: int = 8) -> None:
    """Draw what took a victim's time, a bar per thief.

    rows: as by_thief returns it. most: how many have a bar of their own; the others share the last.
    """
    head, rest = rows.iloc[:most], rows.iloc[most:]
    # A vector has a row for its runs that were the network's, and one for the others.
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
        ax.annotate(
            f"{duration(value)}  {share(of)}".strip(),
            (value / divisor, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
        )
    label_rows(ax, names, beyond=0.6)
    ax.set_xlim(0, max(largest, 1) / divisor * 1.18)
    ax.set_xlabel(f"time stolen, {unit}")
    ax.grid(axis="x")
    kinds = list(dict.fromkeys(head["kind"]))
    handles = [Patch(facecolor=KIND[kind], label=KIND_NAMES[kind]) for kind in kinds]
    if handles:
        legend_above(ax, handles, columns=4)

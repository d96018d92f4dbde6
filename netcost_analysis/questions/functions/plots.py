# The pictures of this topic.

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...plots.marks import short
from ...plots.palette import COMPONENT_GROUPS, INK, KIND, ink_on, printable
from ...units import duration
from ..samples.contexts import CONTEXTS
from ..samples.flame import Graph
from ..samples.flame_formats import on_white
from ..samples.rules import (
    GROUPS,
    HIDDEN,
    INTERRUPT,
    IPI,
    MAJOR,
    NIC,
    OTHER,
    PATH,
    group_of,
    off_part,
)

_LIGHTER, _INTERVAL = "#8a8f96", "#444444"
# The parts of a bar from below: name, colour and hatch. Interrupts off by what ran without them.
_PARTS = [(group, COMPONENT_GROUPS[group], "") for group in (*GROUPS, OTHER)]
_PARTS += [
    (f"{HIDDEN}: {IPI}", _LIGHTER, "////"),
    (f"{HIDDEN}: {INTERRUPT}", _LIGHTER, "...."),
    (f"{HIDDEN}: {PATH}", COMPONENT_GROUPS[HIDDEN], ""),
]
_PARTS.sort(key=lambda part: [*GROUPS, OTHER].index(part[0].partition(":")[0]))
# So many bars can be told apart.
MOST = 16
# Per cent: a lower part has no room for its figure.
_READ = 4
_SIDES = ("transmit", "receive")
# Parts of a flame graph's width: what is narrower is not drawn, and what has room for a letter.
_NARROW, _LETTER = 1 / 800, 1 / 175
# A page has room for so many rows of frames.
_MOST_DEEP = 26


def _by_part(rows: pd.DataFrame, keys: str | list[str], column: str) -> pd.DataFrame:
    # Sums of a column by group of components; interrupts off by what they were off in.
    group = rows["component_group"].astype(object)
    off = f"{HIDDEN}: " + rows["interrupts_off_in"].astype(object).map(off_part)
    part = group.mask(group.eq(HIDDEN), off)
    return rows.assign(part=part).pivot_table(
        index=keys, columns="part", values=column, aggfunc="sum"
    )


def _stacked(
    ax: Axes, place: Any, by: pd.DataFrame, width: float, figures: bool, rows: bool = False
) -> pd.DataFrame:
    # Draws bars with a part for each column, as rows or upright; returns where the parts end.
    parts = [part for part in _PARTS if part[0] in by]
    ends = by[[name for name, _, _ in parts]].cumsum(axis=1)
    for name, colour, hatch in parts:
        size, end = by[name].to_numpy(), ends[name].to_numpy()
        draw = ax.barh if rows else ax.bar
        bars = draw(place, size, width, end - size, color=colour, label=name, hatch=hatch)
        if not figures:
            continue
        texts = [f"{each:.0f}" if each >= _READ else "" for each in size]
        labels = ax.bar_label(bars, texts, label_type="center", fontsize=8, color=ink_on(colour))
        for label in labels if hatch else ():
            # On a hatch a figure is not read.
            label.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 0.8})
    return ends


def _legend(ax: Axes, reverse: bool = False) -> None:
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), reverse=reverse, fontsize=8)


def shares_by_size(ax: Axes, rows: pd.DataFrame, side: str) -> None:
    """Draw what a side's work on packets is, a bar for each size.

    rows: by_size of one protocol. Beside each bar stand driver with buffer release, and both with
    the copy, as Liao and Bhuyan (2012) have them.
    """
    by = _by_part(rows[rows["io_side"] == side], "io_bytes", "path_share")
    # Repeats at one size are one bar.
    by = 100 * by.div(by.sum(axis=1), axis=0).fillna(0)
    place = np.arange(len(by))
    ends = _stacked(ax, place, by, 0.6, figures=True)
    marks = []
    for at, names in enumerate((NIC, MAJOR)):
        # These are the lowest.
        top = ends[[name for name in names if name in ends]].max(axis=1).fillna(0).to_numpy()
        beside = place + 0.33 + 0.05 * at
        ax.vlines(beside, 0, top, color=INK, linewidth=2.5 - at, capstyle="butt")
        marks.append(top)
    words = [
        f"{size:,}\ndriver + release {nic:.0f}\nwith copy {major:.0f}"
        for size, nic, major in zip(by.index, *marks, strict=True)
    ]
    ax.set_xticks(place, words)
    ax.set_xlabel("bytes of each write and read")
    ax.set_ylabel("share of its work on packets (%)")
    _legend(ax, reverse=True)


def cost_by_size(ax: Axes, rows: pd.DataFrame, sides: pd.DataFrame, per: str) -> None:
    """Draw what a packet, or a KiB, costs, for each size a bar of either side.

    rows, sides: by_size and sides of one protocol. per: "packet", with the 95 % interval of the
    whole, or "KiB".
    """
    column = {"packet": "weight_per_packet", "KiB": "weight_per_kib"}[per]
    keys = ["io_bytes", "io_side"]
    is_timed = set(sides["weight_unit"]) <= {"ns"}
    scale = 1e-3 if is_timed else 1.0
    sizes = sorted(sides["io_bytes"].unique())
    repeats = sides.groupby(keys, observed=True).size()
    by = scale * _by_part(rows, keys, column).div(repeats, axis=0).fillna(0)
    shown = [(size, side) for size in sizes for side in _SIDES if (size, side) in by.index]
    by = by.reindex(pd.MultiIndex.from_tuples(shown))
    place = np.array(
        [sizes.index(size) + (0.2 if side == "receive" else -0.2) for size, side in shown]
    )
    _stacked(ax, place, by, 0.36, figures=False)
    tops = below = by.sum(axis=1).to_numpy()
    if per == "packet" and (repeats == 1).all():
        ends = sides.set_index(keys).loc[shown]
        low, high = (scale * ends[f"{column}{end}"].to_numpy() for end in ("_low", "_high"))
        around = [np.maximum(below - low, 0), np.maximum(high - below, 0)]
        ax.errorbar(place, below, yerr=around, fmt="none", ecolor=_INTERVAL, capsize=2)
        tops = np.maximum(below, high)
    for x, top, whole, (_, side) in zip(place, tops, below, shown, strict=True):
        text = ax.annotate(f"{side}\n{whole:,.3g}", (x, top), (0, 2), textcoords="offset points")
        text.set(horizontalalignment="center", verticalalignment="bottom", fontsize=7.5)
    ax.margins(y=0.16)
    ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    ax.set_xlabel("bytes of each write and read")
    unit = "µs of a CPU" if is_timed else str(sides["weight_unit"].iloc[0])
    ax.set_ylabel(f"{unit} for each {per}")
    _legend(ax, reverse=True)


def bars(
    ax: Axes,
    rows: pd.DataFrame,
    column: str,
    label: str,
    scale: float = 1.0,
    names: Iterable[str] | None = None,
    colours: list[str] | None = None,
) -> None:
    """Draw a bar for each row of a column, the first on top, with its 95 % interval if it has one.

    label: of the axis. names: those of the components unless given; so are colours.
    """
    place = np.arange(len(rows))[::-1]
    value = scale * rows[column].to_numpy(dtype=float)
    of_groups = rows["component"].map(group_of).map(COMPONENT_GROUPS)
    ax.barh(place, value, color=colours or of_groups.tolist())
    if f"{column}_low" in rows:
        low, high = (scale * rows[f"{column}_{end}"].to_numpy(float) for end in ("low", "high"))
        around = [np.maximum(value - low, 0), np.maximum(high - value, 0)]
        ax.errorbar(value, place, xerr=around, fmt="none", ecolor=_INTERVAL, capsize=2)
    texts = [printable(name) for name in (rows["component"] if names is None else names)]
    ax.set_yticks(place, texts, fontsize=8.5)
    ax.margins(y=0.01)
    ax.set_xlabel(label)


def grouped_shares(ax: Axes, rows: pd.DataFrame, key: str, column: str, label: str) -> None:
    """Draw a bar for each value of a key, the first on top, of shares by group of components."""
    by = rows.assign(group=rows["component"].map(group_of)).pivot_table(
        index=key, columns="group", values=column, aggfunc="sum", sort=False
    )
    by = 100 * by.fillna(0).iloc[::-1]
    _stacked(ax, by.index, by, 0.7, figures=True, rows=True)
    ax.set_xlabel(label)
    _legend(ax)


def flame(ax: Axes, graph: Graph, unit: str) -> None:
    """Draw one capture's flame graph, the outermost frames below, as netcost flame does.

    unit: "ns", or what was sampled.
    """
    total, cut = graph.weights[0][0], ""
    drawn, waiting = [], [(0, 0.0)]
    while waiting:
        node, right = waiting.pop()
        for child in graph.children[node]:
            width, row = graph.weights[0][child] / total, graph.depth[child] - 1
            left, right = right, right + width
            if width < _NARROW:
                continue
            if row >= _MOST_DEEP:
                cut = f"; deeper than {_MOST_DEEP} frames is not drawn"
                continue
            waiting.append((child, left))
            # Light enough for dark letters.
            colour = on_white(KIND[CONTEXTS[graph.context[child]]], 0.5)
            drawn.append((row, width, left, colour))
            letters = int(width / _LETTER) - 1
            if letters >= 3:
                name, x, y = short(graph.label(child), letters), left + 0.002, row + 0.5
                ax.text(x, y, name, fontsize=6.5, va="center", color=INK, clip_on=True)
    rows, widths, lefts, colours = zip(*drawn, strict=True) if drawn else [()] * 4
    ax.barh(rows, widths, 1, lefts, align="edge", color=colours, edgecolor="white", linewidth=0.5)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, max(rows, default=0) + 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xticks(np.linspace(0, 1, 5), [f"{share} %" for share in (0, 25, 50, 75, 100)])
    whole = duration(total) if unit == "ns" else f"{total:,} {unit}"
    ax.set_xlabel(f"of {whole}{cut}")

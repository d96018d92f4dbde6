# The pictures of this topic.

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...plots.palette import COMPONENT_GROUPS, INK, ink_on, printable
from ..samples.interrupts import HIDDEN
from .groups import GROUPS, INTERRUPT, IPI, MAJOR, NIC, OTHER, PATH, group_of, off_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_LIGHTER, _INTERVAL = "#8a8f96", "#444444"
# Interrupts off by what ran without them: name, colour and hatch.
_INTERRUPTS_OFF = (
    (f"{HIDDEN}: {IPI}", _LIGHTER, "////"),
    (f"{HIDDEN}: {INTERRUPT}", _LIGHTER, "...."),
    (f"{HIDDEN}: {PATH}", COMPONENT_GROUPS[HIDDEN], ""),
)
# So many bars can be told apart.
MOST = 16
# A lower part has no room for its figure.
_READ = 4
_SIDES = ("transmit", "receive")


def _by_part(rows: pd.DataFrame, keys: str | list[str], column: str) -> pd.DataFrame:
    # Sums of a column by group of components; interrupts off by what they were off in.
    group = rows["component_group"].astype(object)
    off = f"{HIDDEN}: " + rows["interrupts_off_in"].astype(object).map(off_part)
    part = group.mask(group.eq(HIDDEN), off)
    return rows.assign(part=part).pivot_table(
        index=keys, columns="part", values=column, aggfunc="sum"
    )


def _order(there: "pd.Index[str]") -> list[tuple[str, str, str]]:
    # Of the parts that there are, from below: name, colour, hatch.
    parts: list[tuple[str, str, str]] = []
    for group in (*GROUPS, OTHER):
        parts += _INTERRUPTS_OFF if group == HIDDEN else [(group, COMPONENT_GROUPS[group], "")]
    return [part for part in parts if part[0] in there]


def _legend(ax: "Axes", reverse: bool = False) -> None:
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), reverse=reverse, fontsize=8)


def shares_by_size(ax: "Axes", rows: pd.DataFrame, side: str) -> None:
    """Draw what a side's work on packets is, a bar for each size.

    rows: by_size of one protocol. Beside each bar stand driver with buffer release, and both with
    the copy, as document 001 has them.
    """
    by = _by_part(rows[rows["io_side"] == side], "io_bytes", "path_share")
    # Repeats at one size are one bar.
    by = 100 * by.div(by.sum(axis=1), axis=0).fillna(0)
    place, below = np.arange(len(by)), np.zeros(len(by))
    tops: dict[str, NDArray[np.float64]] = {}
    for name, colour, hatch in _order(by.columns):
        share = by[name].to_numpy()
        bars = ax.bar(place, share, bottom=below, color=colour, label=name, width=0.6, hatch=hatch)
        texts = [f"{height:.0f}" if height >= _READ else "" for height in share]
        labels = ax.bar_label(bars, texts, label_type="center", fontsize=8, color=ink_on(colour))
        for label in labels if hatch else ():
            # On a hatch a figure is not read.
            label.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 0.8})
        tops[name] = below = below + share
    marks = []
    for at, names in enumerate((NIC, MAJOR)):
        # These are the lowest.
        top = np.max([np.zeros(len(by)), *(tops[name] for name in names if name in tops)], axis=0)
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


def cost_by_size(ax: "Axes", rows: pd.DataFrame, sides: pd.DataFrame, per: str) -> None:
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
    below = np.zeros(len(by))
    for name, colour, hatch in _order(by.columns):
        ax.bar(place, by[name], bottom=below, color=colour, label=name, width=0.36, hatch=hatch)
        below = below + by[name].to_numpy()
    tops = below
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
    ax: "Axes",
    rows: pd.DataFrame,
    column: str,
    scale: float = 1.0,
    names: Iterable[str] | None = None,
    colours: list[str] | None = None,
) -> None:
    """Draw a bar for each row of a column, the first on top, with its 95 % interval if it has one.

    names: those of the components unless given; so are colours.
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


def grouped_shares(ax: "Axes", rows: pd.DataFrame, keys: str, column: str) -> None:
    """Draw a bar for each of what keys has, the first on top, of shares by group of components."""
    by = rows.assign(group=rows["component"].map(group_of)).pivot_table(
        index=keys, columns="group", values=column, aggfunc="sum", sort=False
    )
    by = 100 * by.fillna(0).iloc[::-1]
    left = np.zeros(len(by))
    for name in (name for name in (*GROUPS, OTHER) if name in by):
        share, colour = by[name].to_numpy(), COMPONENT_GROUPS[name]
        drawn = ax.barh(by.index, share, left=left, color=colour, label=name, height=0.7)
        texts = [f"{width:.0f}" if width >= _READ else "" for width in share]
        ax.bar_label(drawn, texts, label_type="center", fontsize=8, color=ink_on(colour))
        left += share
    _legend(ax)

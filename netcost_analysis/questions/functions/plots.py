# The pictures of this topic.

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...plots.palette import COMPONENT_GROUPS, INK, ink_on, printable
from ...units import absent
from ..samples.interrupts import HIDDEN
from .groups import GROUPS, INTERRUPT, IPI, MAJOR, NIC, OTHER, PATH, group_of, off_part

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

# What ran with interrupts off, as hatches.
_HATCHES = {IPI: "////", INTERRUPT: "....", PATH: ""}
_LIGHTER = "#8a8f96"
# So many bars can be told apart.
MOST = 16
# A lower part has no room for its figure.
_READ = 4
_SIDES = ("transmit", "receive")


def _parts(rows: pd.DataFrame) -> "pd.Series[str]":
    # What each row is drawn as: its group, interrupts off by what they were off in.
    parts = rows["component_group"].astype(object)
    is_off = parts.eq(HIDDEN).to_numpy(dtype=bool)
    off = f"{HIDDEN}: " + rows["interrupts_off_in"].astype(object).map(off_part)
    return parts.where(~is_off, off)


def _order(there: "pd.Index[str]") -> list[tuple[str, str, str]]:
    # Of the parts that there are, from below: name, colour, hatch.
    found = []
    for group in (*GROUPS, OTHER):
        if group != HIDDEN:
            found.append((group, COMPONENT_GROUPS[group], ""))
            continue
        found += [
            (f"{HIDDEN}: {part}", COMPONENT_GROUPS[HIDDEN] if part == PATH else _LIGHTER, hatch)
            for part, hatch in _HATCHES.items()
        ]
    return [one for one in found if one[0] in there]


def shares_by_size(ax: "Axes", rows: pd.DataFrame, side: str) -> None:
    """Draw what a side's work on packets is, a bar for each size.

    rows: by_size of one protocol. Beside each bar stand driver with buffer release, and both with
    the copy, as document 001 has them.
    """
    rows = rows[rows["io_side"] == side]
    by = rows.assign(part=_parts(rows)).pivot_table(
        index="io_bytes", columns="part", values="path_share", aggfunc="sum"
    )
    # Repeats at one size are one bar.
    by = by.div(by.sum(axis=1), axis=0).fillna(0)
    place, below = np.arange(len(by)), np.zeros(len(by))
    tops: dict[str, NDArray[np.float64]] = {}
    for name, colour, hatch in _order(by.columns):
        share = 100 * by[name].to_numpy()
        bars = ax.bar(place, share, bottom=below, color=colour, label=name, width=0.6, hatch=hatch)
        texts = [f"{height:.0f}" if height >= _READ else "" for height in share]
        labels = ax.bar_label(bars, texts, label_type="center", fontsize=8, color=ink_on(colour))
        for label in labels if hatch else ():
            # On a hatch a figure is not read.
            label.set_bbox({"facecolor": colour, "edgecolor": "none", "pad": 0.8})
        below = below + share
        tops[name] = below
    marks = [_marked(ax, len(by), tops, names, at) for at, names in enumerate((NIC, MAJOR))]
    words = [
        f"{size:,}\ndriver + release {nic:.0f}\nwith copy {major:.0f}"
        for size, nic, major in zip(by.index, *marks, strict=True)
    ]
    ax.set_xticks(place, words)
    ax.set_xlabel("bytes of each write and read")
    ax.set_ylabel("share of its work on packets (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), reverse=True, fontsize=8)


def _marked(
    ax: "Axes",
    number: int,
    tops: "dict[str, NDArray[np.float64]]",
    names: tuple[str, ...],
    at: int,
) -> list[float]:
    # A line beside each bar as high as these parts, the lowest; returns their tops.
    there = [tops[name] for name in names if name in tops]
    found = [max((float(one[place]) for one in there), default=0.0) for place in range(number)]
    for place, top in enumerate(found):
        x = place + 0.33 + 0.05 * at
        ax.plot([x, x], [0, top], color=INK, linewidth=2.5 - at, solid_capstyle="butt")
    return found


def cost_by_size(ax: "Axes", rows: pd.DataFrame, sides: pd.DataFrame, per: str) -> None:
    """Draw what a packet, or a KiB, costs, for each size a bar of either side.

    rows, sides: by_size and sides of one protocol. per: "packet", with the 95 % interval of the
    whole, or "KiB".
    """
    column = {"packet": "weight_per_packet", "KiB": "weight_per_kib"}[per]
    is_timed = set(sides["weight_unit"]) <= {"ns"}
    scale = 1e-3 if is_timed else 1.0
    sizes = sorted(sides["io_bytes"].unique())
    repeats = sides.groupby(["io_bytes", "io_side"], observed=True).size()
    by = scale * rows.assign(part=_parts(rows)).pivot_table(
        index=["io_bytes", "io_side"], columns="part", values=column, aggfunc="sum"
    ).div(repeats, axis=0).fillna(0)
    shown = [(size, side) for size in sizes for side in _SIDES if (size, side) in by.index]
    by = by.reindex(pd.MultiIndex.from_tuples(shown))
    place = np.array(
        [sizes.index(size) + (0.2 if side == "receive" else -0.2) for size, side in shown]
    )
    below = np.zeros(len(by))
    for name, colour, hatch in _order(by.columns):
        values = by[name].to_numpy()
        ax.bar(place, values, bottom=below, color=colour, label=name, width=0.36, hatch=hatch)
        below = below + values
    if per == "packet" and (repeats == 1).all():
        ends = sides.set_index(["io_bytes", "io_side"]).loc[shown]
        low, high = (scale * ends[f"{column}{end}"].to_numpy() for end in ("_low", "_high"))
        around = [np.maximum(below - low, 0), np.maximum(high - below, 0)]
        ax.errorbar(place, below, yerr=around, fmt="none", ecolor="#444444", capsize=2)
        tops = np.maximum(below, high)
    else:
        tops = below
    for x, top, whole, (_, side) in zip(place, tops, below, shown, strict=True):
        ax.annotate(
            f"{side}\n{whole:,.3g}",
            (x, top),
            (0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=7.5,
        )
    ax.margins(y=0.16)
    ax.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    ax.set_xlabel("bytes of each write and read")
    unit = "µs of a CPU" if is_timed else str(sides["weight_unit"].iloc[0])
    ax.set_ylabel(f"{unit} for each {per}")
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), reverse=True, fontsize=8)


def label_of(row: dict[Any, Any]) -> str:
    """A component's name; of interrupts off with what they were off in."""
    hidden = row["interrupts_off_in"]
    return str(row["component"]) if absent(hidden) else f"{HIDDEN}: {hidden}"


def bars(
    ax: "Axes",
    names: Iterable[str],
    components: Iterable[str],
    value: "NDArray[np.float64]",
    ends: "tuple[NDArray[np.float64], NDArray[np.float64]] | None" = None,
) -> None:
    """Draw a bar for each name, the first on top, in its component's colour.

    ends: both of the 95 % intervals.
    """
    place = np.arange(len(value))[::-1]
    colours = [COMPONENT_GROUPS[group_of(one)] for one in components]
    ax.barh(place, value, color=colours)
    if ends is not None:
        around = [np.maximum(value - ends[0], 0), np.maximum(ends[1] - value, 0)]
        ax.errorbar(value, place, xerr=around, fmt="none", ecolor="#444444", capsize=2)
    ax.set_yticks(place, [printable(name) for name in names], fontsize=8.5)
    ax.margins(y=0.01)

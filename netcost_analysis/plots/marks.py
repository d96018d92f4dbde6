# Shared parts of pictures: a legend above the axes, named rows with bars and intervals, a marked
# limit, shortened names, and a figure over the steps of an experiment.

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes as Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter

from .palette import FAINT, INK, printable

# Kinds of interrupts in stacking order.
STACKED = ("poll", "softirq", "hardirq", "vector", "softirq_other", "nmi")


# Characters across a page, and those that a legend's mark and margin take.
_PAGE_LETTERS, _MARK_LETTERS = 120, 8


def legend_above(
    ax: Axes, handles: Sequence[Any] | None = None, columns: int = 4, **look: Any
) -> None:
    """Draw a legend above the axes, at their left, unless it would be empty.

    handles: entries; None for everything drawn with a label. columns: the maximum, and no more than
    fit a page's width. look: arguments of Axes.legend.
    """
    named = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not named:
        return
    longest = max(len(str(handle.get_label())) for handle in named)
    columns = min(columns, max(_PAGE_LETTERS // (longest + _MARK_LETTERS), 1))
    placed = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0}
    ax.legend(
        handles=named,
        ncols=min(columns, len(named)),
        **{**placed, "handlelength": 1.2, "columnspacing": 1.5, **look},
    )


def label_rows(ax: Axes, names: Sequence[str], beyond: float = 0.5) -> None:
    """Name rows on the y axis, the first at the top. beyond: room above the first row's middle."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 1 + beyond, -beyond)
    ax.tick_params(axis="y", length=0)


def limit(ax: Axes, x: float, text: str) -> None:
    """Draw a limit on the x axis: a dashed line, named at its left."""
    ax.axvline(x, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    place = {"xycoords": ("data", "axes fraction"), "xytext": (-3, -1)}
    look = {"textcoords": "offset points", "ha": "right", "va": "top", "color": FAINT}
    ax.annotate(text, (x, 1), **place, **look)  # type: ignore[arg-type]


def short(name: object, most: int) -> str:
    """A printable name, cut to `most` letters."""
    text = printable(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain_log(axis: Axis) -> None:
    """Label a log axis with plain numbers. Call it when the axis has its limits."""
    # Over less than two decades, powers of ten would be one tick or none.
    low, high = sorted(axis.get_view_interval())
    marks = (1.0, 2.0, 5.0) if low > 0 and high / low < 150 else (1.0,)
    axis.set_major_locator(LogLocator(10, subs=marks))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter(NullFormatter())


def stacked_bars(
    ax: Axes,
    rows: pd.DataFrame,
    looks: Mapping[str, Mapping[str, Any]],
    height: float = 0.66,
    places: Sequence[float] | None = None,
) -> npt.NDArray[np.float64]:
    """Draw a bar for each row, in parts from the left, and return the bars' lengths.

    rows: a column for each part. looks: by column, from the left, arguments of Axes.barh; a part
    that no row has is left out. places: the rows' positions, by default 0, 1, ...
    """
    at = range(len(rows)) if places is None else places
    ends = np.zeros(len(rows))
    for name, look in looks.items():
        if name in rows and rows[name].sum():
            widths = rows[name].astype("float64").fillna(0).to_numpy()
            ax.barh(at, widths, height, left=ends, **look)
            ends = ends + widths
    return ends


def beside(ax: Axes, text: str, x: float, row: float, gap: float = 6, **look: Any) -> None:
    """Write beside a row's bar, `gap` points from its end. look: arguments of Axes.annotate."""
    at = {"xytext": (gap, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (x, row), **{**at, **look})


CHANGE = ("change", "change_low", "change_high")


class Interval(NamedTuple):
    """A figure with its interval; low and high are NaN if it has none.

    place: the row's position, 0 at the top. look: arguments of Axes.plot for the dot.
    """

    place: float
    at: float
    low: float
    high: float
    color: str
    look: Mapping[str, Any]


def interval(
    place: float,
    row: Mapping[Any, Any],
    columns: Sequence[str],
    color: str,
    times: float = 1,
    **look: Any,
) -> Interval:
    """An Interval from a table's row. columns: figure, lower end and upper end."""
    at, low, high = (times * float(row[name]) for name in columns)
    return Interval(place, at, low, high, color, look)


def intervals(ax: Axes, names: Sequence[str], figures: Sequence[Interval]) -> None:
    """Draw each figure as a dot on the line of its interval, beside a line at 0."""
    for figure in figures:
        if figure.low == figure.low:
            ends, place = [figure.low, figure.high], [figure.place, figure.place]
            ax.plot(ends, place, color=figure.color, linewidth=2, solid_capstyle="butt")
        ax.plot(figure.at, figure.place, "o", color=figure.color, **figure.look)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)


Curve = tuple[str, str, pd.DataFrame]


def over_steps(
    ax: Axes, curves: Sequence[Curve], name: str, label: str, thin: Sequence[Curve] = ()
) -> None:
    """Draw a figure of each curve over the steps.

    curves: name, colour, and rows with step, io_bytes (Int64) and the figure; unknown figures are
    left out. name: the figure's column. label: of the axis. thin: curves to draw dashed.
    """
    every = pd.concat([rows for _, _, rows in (*curves, *thin)])
    known = every[every[name].notna()]
    sized = bool((known["io_bytes"] > 0).fillna(False).all())
    steps = list(dict.fromkeys(known["step"]))
    for number, (called, color, rows) in enumerate((*curves, *thin)):
        of = rows[rows[name].notna()]
        of = of.sort_values("io_bytes", kind="stable") if sized else of
        x = of["io_bytes"].astype("float64") if sized else of["step"].map(steps.index)
        style, width = ("-", 1.5) if number < len(curves) else ("--", 0.9)
        if len(of):
            look = {"linestyle": style, "linewidth": width, "marker": "o", "markersize": 4}
            ax.plot(x, of[name], color=color, label=called, **look)  # type: ignore[arg-type]
    if sized:
        sizes = sorted(known["io_bytes"].astype("int64").unique())
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.set_xlabel("bytes of each read and write (log scale)")
    else:
        ax.set_xticks(range(len(steps)), [short(step, 16) for step in steps], rotation=30)
        ax.set_xlabel("step")
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.set_ylim(bottom=0)
    ax.set_ylabel(label)
    ax.grid(axis="y")
    legend_above(ax, columns=5)

# What pictures share: a legend above the axes, named rows, a marked limit, a name that fits.

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, NullFormatter

from .palette import FAINT, INK, printable

# Kinds of interrupts in the order in which they are stacked.
STACKED = ("poll", "softirq", "hardirq", "vector", "softirq_other", "nmi")


# Characters across a page, and those that a legend's mark and its margin take.
_PAGE_LETTERS, _MARK_LETTERS = 120, 8


def legend_above(
    ax: Axes, handles: Sequence[Any] | None = None, columns: int = 4, **look: Any
) -> None:
    """A legend over the axes, beginning at their left; none without anything in it.

    handles: what it names, None for what was drawn with a label. columns: at most so many, and no
    more than fit a page's width. look: as Axes.legend takes it.
    """
    named = ax.get_legend_handles_labels()[0] if handles is None else handles
    if not named:
        return
    longest = max(len(str(one.get_label())) for one in named)
    columns = min(columns, max(_PAGE_LETTERS // (longest + _MARK_LETTERS), 1))
    placed = {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0}
    ax.legend(
        handles=named,
        ncols=min(columns, len(named)),
        **{**placed, "handlelength": 1.2, "columnspacing": 1.5, **look},
    )


def label_rows(ax: Axes, names: Sequence[str], beyond: float = 0.5) -> None:
    """Names of rows on the y axis, the first at the top. beyond: room over the first's middle."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 1 + beyond, -beyond)
    ax.tick_params(axis="y", length=0)


def limit(ax: Axes, x: float, text: str) -> None:
    """A limit on the x axis: a dashed line, named at its left."""
    ax.axvline(x, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    place = {"xycoords": ("data", "axes fraction"), "xytext": (-3, -1)}
    look = {"textcoords": "offset points", "ha": "right", "va": "top", "color": FAINT}
    ax.annotate(text, (x, 1), **place, **look)  # type: ignore[arg-type]


def short(name: object, most: int) -> str:
    """A name as it can be drawn, cut to so many letters."""
    text = printable(name)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain_log(axis: Axis) -> None:
    """Marks of a log axis as plain numbers: call it when the axis has its limits."""
    # Over less than two decades, powers of ten would be one tick or none.
    low, high = sorted(axis.get_view_interval())
    marks = (1.0, 2.0, 5.0) if low > 0 and high / low < 150 else (1.0,)
    axis.set_major_locator(LogLocator(10, subs=marks))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter(NullFormatter())

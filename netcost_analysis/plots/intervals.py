# Figures with their intervals, row by row.

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from .palette import INK

CHANGE = ("change", "change_low", "change_high")


class Interval(NamedTuple):
    """A figure with its interval, low and high NaN where it has none.

    place: of its row, 0 at the top. look: as Axes.plot takes it, of the dot.
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
    """That of a table's row. columns: of the figure, the lower end and the upper."""
    at, low, high = (times * float(row[name]) for name in columns)
    return Interval(place, at, low, high, color, look)


def intervals(ax: Axes, names: Sequence[str], figures: Sequence[Interval]) -> None:
    """Draw each figure as a dot on the line of its interval, beside a line at 0."""
    for one in figures:
        if one.low == one.low:
            ends, place = [one.low, one.high], [one.place, one.place]
            ax.plot(ends, place, color=one.color, linewidth=2, solid_capstyle="butt")
        ax.plot(one.at, one.place, "o", color=one.color, **one.look)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)

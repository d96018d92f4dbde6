# Three answers to what the victim got, one under the other.

import pandas as pd
from matplotlib.axes import Axes

from ..units import absent, share
from .marks import label_rows
from .palette import FAINT, HATCH, INK, TASK, UNKNOWN

# Per cent: left of this the note fits between a bar and the end of the axis.
_ROOM = 52
_NAMES = {
    "ticks": "ticks: what its clock says",
    "traced": "traced: when it ran",
    "work": "work: what it got done",
}


def estimates(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the estimates of the share of wall time that the victim got. rows: of estimates."""
    shares = rows["got_share"].astype(float)
    names = [name for name in _NAMES if name in shares.index]
    for place, name in enumerate(names):
        got = float(shares[name])
        if absent(got):
            ax.text(1, place, "the bundle cannot say", va="center", color=FAINT)
            continue
        ax.barh(place, 100 * got, 0.6, color=TASK, edgecolor=FAINT, linewidth=0.5)
        ax.annotate(
            share(got),
            (100 * got, place),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            color=INK,
            fontweight="bold",
        )
    if {"traced", "work"} <= set(names) and shares["traced"] > shares["work"]:
        place, width = names.index("work"), 100 * float(shares["traced"] - shares["work"])
        left = 100 * float(shares["work"])
        ax.barh(
            place, width, 0.6, left=left, color=UNKNOWN, edgecolor=FAINT, linewidth=0.5, hatch=HATCH
        )
        # Beside the bar where there is room, else at its root.
        beside = left + width < _ROOM
        ax.annotate(
            f"{width:.1f} points more went than the trace accounts for",
            (left + width if beside else 0, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
        )
    label_rows(ax, [_NAMES[name] for name in names])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")

# Three estimates of what the victim got, one below the other.

import pandas as pd
from matplotlib.axes import Axes

from ..units import absent, share
from .bars import beside
from .marks import label_rows
from .palette import FAINT, HATCH, INK, TASK, UNKNOWN

# If a bar ends left of this percentage, the note fits behind it.
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
        beside(ax, share(got), 100 * got, place, -6, ha="right", color=INK, fontweight="bold")
    if {"traced", "work"} <= set(names) and shares["traced"] > shares["work"]:
        place, width = names.index("work"), 100 * float(shares["traced"] - shares["work"])
        left = 100 * float(shares["work"])
        look = {"color": UNKNOWN, "edgecolor": FAINT, "linewidth": 0.5, "hatch": HATCH}
        ax.barh(place, width, 0.6, left=left, **look)  # type: ignore[arg-type]
        # At the bar's end where there is room, else at its root.
        text = f"{width:.1f} points more went than the trace accounts for"
        beside(ax, text, left + width if left + width < _ROOM else 0, place)
    label_rows(ax, [_NAMES[name] for name in names])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x")

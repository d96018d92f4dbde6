# Bars in rows, one above the other: in parts, and with words beside them.

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes


def stacked_bars(
    ax: Axes,
    rows: pd.DataFrame,
    looks: Mapping[str, Mapping[str, Any]],
    height: float = 0.66,
    places: Sequence[float] | None = None,
) -> npt.NDArray[np.float64]:
    """Draw a bar for each row, in parts from the left; returns how long the bars are.

    rows: a column for each part. looks: by column, from the left, as Axes.barh takes it; a part
    that no row has is left out. places: of the rows, from 0 on unless given.
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
    """Words beside a row's bar, so many points from where it ends. look: as Axes.annotate's."""
    at = {"xytext": (gap, 0), "textcoords": "offset points", "va": "center"}
    ax.annotate(text, (x, row), **{**at, **look})

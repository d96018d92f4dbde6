# Bars made of parts, a row each.

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..spans import Floats
from .marks import label_rows


def stacked_bars(
    ax: Axes,
    widths: pd.DataFrame,
    looks: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    height: float = 0.62,
) -> Floats:
    """Draw a bar for each row of a table, and return where they end.

    widths: a column per part. looks: of each part, from left to right, as Axes.barh takes it; parts
    that no row has are not drawn. names: of the rows.
    """
    ends = np.zeros(len(widths))
    for part, look in looks.items():
        width = widths[part].to_numpy("float64", na_value=0.0)
        if width.any():
            ax.barh(np.arange(len(widths)), width, height, left=ends, **look)
            ends = ends + width
    label_rows(ax, names)
    return ends

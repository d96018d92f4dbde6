# How long things take, as counts in the bins of stats.histogram.

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..stats.histogram import PARTS
from .marks import legend_above, plain_log
from .palette import KIND, path_colors, time_unit


def lengths(ax: Axes, groups: Mapping[str, pd.DataFrame], counted: str) -> None:
    """Draw each group's histogram over a log axis, on which all bins are equally wide.

    groups: by name ("" of the only one) rows with length_low_ns, length_high_ns and counted, the
    column with how many. Of several groups each is drawn as a share of its own.
    """
    known = {name: rows[rows["length_low_ns"] > 0] for name, rows in groups.items()}
    highest = max((int(rows["length_high_ns"].max()) for rows in known.values() if len(rows)),
                  default=1)  # fmt: skip
    scale, unit = time_unit(highest)
    colors = path_colors(list(known))
    for name, rows in known.items():
        total = rows[counted].sum() if len(known) > 1 else 1
        edges, heights = _stairs(rows, counted)
        color = colors[name] if len(known) > 1 else KIND["softirq"]
        ax.stairs(heights / total, edges / scale, color=color, label=name or None,
                  fill=len(known) == 1, linewidth=1.4)  # fmt: skip
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_xlabel(f"{unit} (log scale; {PARTS} bins to each power of two)")
    ax.set_ylabel("share of all" if len(known) > 1 else counted)
    ax.set_ylim(bottom=0)
    ax.grid(axis="y")
    if len(known) > 1:
        legend_above(ax, columns=3)


def _stairs(rows: pd.DataFrame, counted: str) -> "tuple[np.ndarray, np.ndarray]":
    # The edges of all bins from the lowest to the highest, including bins without a row.
    rows = rows.sort_values("length_low_ns")
    edges: list[int] = []
    heights: list[int] = []
    for low, high, number in zip(
        rows["length_low_ns"], rows["length_high_ns"], rows[counted], strict=True
    ):
        if not edges:
            edges.append(int(low))
        elif edges[-1] != low:
            heights.append(0)
            edges.append(int(low))
        heights.append(int(number))
        edges.append(int(high) + 1)
    return np.array(edges or [1, 2], dtype="float64"), np.array(heights or [0], dtype="float64")

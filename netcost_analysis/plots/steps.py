# A figure over the steps of an experiment: by size of I/O, else in their order.

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from .marks import legend_above, short

Curve = tuple[str, str, pd.DataFrame]


def over_steps(
    ax: Axes, curves: Sequence[Curve], name: str, label: str, thin: Sequence[Curve] = ()
) -> None:
    """Draw a figure of each curve over the steps.

    curves: its name, its colour, and rows with step, io_bytes (Int64) and the figure; what is not
    known is left out. name: of the column; label: of the axis. thin: curves to draw dashed.
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

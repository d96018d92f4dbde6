# A victim's time on CPU over the window, by what ran, with gaps in the record.

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..timeline.owners import KIND_COLUMNS
from .marks import STACKED, legend_above
from .palette import FAINT, HATCH, KIND, KIND_NAMES, PART, PART_NAMES, time_unit

# Stacked above stolen time: its own traffic, kernel threads, the task itself, and unknown time.
_REST = ("synchronous", "scheduled", "task", "unknown")
_COLUMNS = {**KIND_COLUMNS, **{one: f"{one}_ns" for one in _REST}}
_WIDEST_GAPS = 200


def stolen_over_time(
    ax: Axes,
    bins: pd.DataFrame,
    gaps: pd.DataFrame,
    window: tuple[int, int],
    bin_ns: int,
    origin_ns: int = 0,
    cpus: int = 1,
) -> None:
    """Draw a victim's time on CPU, bin by bin, as a share of one CPU.

    bins: as rolling_stolen returns it, of windows of one bin. gaps: coverage of the victim's CPU
    (start_ns, end_ns). window: from when to when, ns. bin_ns: the width of a bin; bins start on its
    multiples. origin_ns: what the axis counts from. cpus: how many CPUs make 100 %.
    """
    start_ns, end_ns = window
    unit_ns, unit = time_unit(max(abs(start_ns - origin_ns), abs(end_ns - origin_ns)))
    first = start_ns // bin_ns * bin_ns
    starts = np.arange(first, max(end_ns, first + 1), bin_ns, dtype="int64")
    # The window cuts the first and the last bin.
    widths = np.minimum(starts + bin_ns, max(end_ns, start_ns + 1)) - np.maximum(starts, start_ns)
    edges = (
        np.append(np.maximum(starts, start_ns), max(end_ns, start_ns + 1)) - origin_ns
    ) / unit_ns
    place = bins["start_ns"] // bin_ns * bin_ns
    others = [one for one in _COLUMNS.values() if one != "task_ns"]
    # A kernel thread's time that is no network work.
    own = (bins["on_cpu_ns"] - bins[others].sum(axis=1)).fillna(0)
    bins = bins.assign(task_ns=own).set_index(place)
    base = np.zeros(len(starts))
    handles = []
    for kind in (*STACKED, *_REST):
        of_kind = bins[_COLUMNS[kind]]
        if not of_kind.sum():
            continue
        ns = of_kind.reindex(starts, fill_value=0).to_numpy("int64")
        top = base + 100 * ns / widths / cpus
        color = KIND.get(kind) or PART[kind]
        hatch = HATCH if kind == "unknown" else None
        ax.stairs(top, edges, baseline=base, fill=True, facecolor=color, hatch=hatch, linewidth=0)
        name = KIND_NAMES.get(kind) or PART_NAMES[kind]
        edge = FAINT if hatch else None
        handles.append(Patch(facecolor=color, hatch=hatch, label=name, edgecolor=edge))
        base = top
    handles += _gaps(ax, gaps, window, origin_ns, unit_ns)
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(0, 100 if base.max(initial=0) <= 100.5 else None)
    ax.set_xlabel(f"time since the capture's start, {unit}")
    ax.set_ylabel("share of one CPU, %" if cpus == 1 else f"share of {cpus} CPUs, %")
    ax.grid(axis="y")
    legend_above(ax, handles)


def _gaps(
    ax: Axes, gaps: pd.DataFrame, window: tuple[int, int], origin_ns: int, unit_ns: float
) -> list[Patch]:
    start_ns, end_ns = window
    # A strip along the top edge, in which a gap of a microsecond is still visible.
    if not len(gaps):
        return []
    widest = gaps.assign(width=gaps["end_ns"] - gaps["start_ns"]).nlargest(_WIDEST_GAPS, "width")
    least = (end_ns - start_ns) / 500
    for start, end in zip(widest["start_ns"], widest["end_ns"], strict=True):
        left = (max(int(start), start_ns) - origin_ns) / unit_ns
        width = max(min(int(end), end_ns) - max(int(start), start_ns), least) / unit_ns
        ax.axvspan(left, left + width, 0.965, 1, facecolor="black", linewidth=0)
    return [Patch(facecolor="black", label="gap in the record")]

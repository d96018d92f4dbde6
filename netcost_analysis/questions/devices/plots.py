"""Pictures of devices: each takes tidy DataFrames and an Axes, and draws; none opens a capture."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch

from ...plots.marks import legend_above, short
from ...plots.palette import FAINT, INK, KIND, time_unit
from ...units import duration, share

_LONGEST = 30
# Left above the axes is a device's name.
_RIGHT: Any = {"loc": "lower right", "bbox_to_anchor": (1, 1.0), "handlelength": 1.6}
_NAMES = {"poll": "polls", "hardirq": "interrupts"}
# From the bottom up.
_ORDER = ("poll", "hardirq")


def matrix(
    ax: Axes, cpu_share: pd.DataFrame, interrupts_per_s: pd.DataFrame, most: int = 14
) -> None:
    """Draw devices by CPUs, darker for more time; cells have share and interrupts per second.

    cpu_share, interrupts_per_s: of a DeviceMatrix. most: rows, those that took most first. With
    many CPUs the cells have no figures.
    """
    shown = cpu_share.iloc[:most]
    values = 100 * shown.to_numpy(dtype=float)
    rows, cpus = values.shape
    colours = LinearSegmentedColormap.from_list("time", ["#ffffff", KIND["poll"], KIND["softirq"]])
    highest = max(float(np.nanmax(values, initial=0.0)), 1e-9)
    ax.imshow(values, aspect="auto", cmap=colours, vmin=0, vmax=highest, interpolation="nearest")
    ax.set_xticks(range(cpus), [str(cpu) for cpu in shown.columns], fontsize=9 if cpus <= 32 else 6)
    ax.set_yticks(range(rows), [short(name, _LONGEST) for name in shown.index])
    ax.tick_params(length=0)
    ax.set_xlabel("CPU; each cell: share of its time, interrupts per second")
    ax.spines[:].set_visible(False)
    for edge in range(1, rows):
        ax.axhline(edge - 0.5, color="white", linewidth=1.5)
    for edge in range(1, cpus):
        ax.axvline(edge - 0.5, color="white", linewidth=1.5)
    if cpus > 8:
        return
    for y, thief in enumerate(shown.index):
        for x, cpu in enumerate(shown.columns):
            if not values[y, x]:
                continue
            rate = interrupts_per_s.loc[thief, cpu]
            text = share(shown.loc[thief, cpu])
            if not pd.isna(rate) and float(rate) >= 0.5:
                text += f", {float(rate):,.0f}/s"
            dark = values[y, x] > 0.75 * highest
            ax.text(
                x, y, text, ha="center", va="center", color="white" if dark else INK, fontsize=9
            )


def traffic(ax: Axes, rows: pd.DataFrame, origin_ns: int = 0) -> None:
    """Draw what one interface carried, a step for each true interval.

    rows: device_traffic's of one interface. Intervals that are not twice as long as the error of
    their length are left out.
    """
    sure = rows[rows["interval_error_ns"] * 2 <= rows["interval_ns"]]
    for column, name, colour, style in (
        ("rx_bytes_per_s", "received", INK, "-"),
        ("tx_bytes_per_s", "sent", FAINT, "--"),
    ):
        known = sure.dropna(subset=[column])
        rates = 8 * known[column].to_numpy(dtype=float) / 1e6
        _steps(ax, known, rates, origin_ns, color=colour, linestyle=style, label=name)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("Mbit/s")
    ax.set_xlabel("time since the capture's start, s")
    ax.grid(axis="y")
    legend_above(ax, columns=3, **_RIGHT)


def time_shares(
    ax: Axes, bins: pd.DataFrame, window: tuple[int, int], bin_ns: int, origin_ns: int = 0
) -> None:
    """Draw a device's time bin by bin, as a share of one CPU.

    bins: as over_time returns it. window: from when to when, ns. bin_ns: the width of a bin.
    """
    start_ns, end_ns = window
    first = start_ns // bin_ns * bin_ns
    starts = np.arange(first, max(end_ns, first + 1), bin_ns, dtype="int64")
    edges = np.append(np.maximum(starts, start_ns), max(end_ns, start_ns + 1))
    base = np.zeros(len(starts))
    handles = []
    for kind in _ORDER:
        of_kind = bins[bins["kind"] == kind].set_index("bin_ns")["ns"]
        if not of_kind.sum():
            continue
        top = base + 100 * of_kind.reindex(starts, fill_value=0).to_numpy() / np.diff(edges)
        seconds = (edges - origin_ns) / 1e9
        ax.stairs(top, seconds, baseline=base, fill=True, facecolor=KIND[kind], linewidth=0)
        handles.append(Patch(facecolor=KIND[kind], label=_NAMES[kind]))
        base = top
    ax.set_ylim(0, max(1.05 * float(base.max(initial=0)), 1e-3))
    ax.set_xlim((edges[0] - origin_ns) / 1e9, (edges[-1] - origin_ns) / 1e9)
    ax.set_ylabel("% of one CPU")
    ax.set_xlabel("time since the capture's start, s")
    ax.grid(axis="y")
    if handles:
        legend_above(ax, handles, 3, **_RIGHT)


def per_packet(ax: Axes, cost: pd.DataFrame, most: int = 8) -> None:
    """Draw what a packet of each device costs, interrupts and polls, longest first.

    cost: as device_cost returns it. Packets are those that timed polls received.
    """
    known = cost[cost["ns_per_work"].notna()].sort_values("ns_per_work", ascending=False)[:most]
    packets = known["timed_packets"].to_numpy(dtype=float)
    base = np.zeros(len(known))
    handles = []
    scale, unit = time_unit(int(known["ns_per_work"].max())) if len(known) else (1.0, "ns")
    for kind in _ORDER:
        ns = known[f"{kind}_ns"].astype("Float64").fillna(0).to_numpy(dtype=float) / packets
        if not ns.any():
            continue
        ax.barh(range(len(known)), ns / scale, left=base / scale, color=KIND[kind], height=0.6)
        handles.append(Patch(facecolor=KIND[kind], label=_NAMES[kind]))
        base = base + ns
    for y, ns in enumerate(known["ns_per_work"]):
        ax.text(base[y] / scale, y, f" {duration(round(float(ns)))}", va="center", fontsize=9)
    ax.set_yticks(range(len(known)), [short(name, _LONGEST) for name in known["device"]])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.18 * float(base.max(initial=0)) / scale or 1)
    ax.set_xlabel(f"CPU time per packet received, {unit}")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if handles:
        legend_above(ax, handles, 3, **_RIGHT)


def misread(ax: Axes, rows: pd.DataFrame, interval_s: float, origin_ns: int = 0) -> None:
    """Draw true rates beside those of a tool that takes its interval for granted.

    rows: assumed_rates' of one interface. Utilisation where the speed is known, else Mbit/s.
    """
    known = bool(len(rows)) and bool(rows["utilisation_share"].notna().all())
    true, scale, unit = (
        ("utilisation_share", 100.0, "% utilised")
        if known
        else ("rx_bytes_per_s", 8e-6, "Mbit/s received")
    )
    seconds = f"{interval_s:g} s"
    for column, name, colour, style in (
        (true, "over the true interval", INK, "-"),
        (f"assumed_{true}", f"if each interval were {seconds}", FAINT, "--"),
    ):
        values = scale * rows[column].astype("Float64").fillna(0).to_numpy(dtype=float)
        _steps(ax, rows, values, origin_ns, color=colour, linestyle=style, label=name)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(unit)
    ax.set_xlabel("time since the capture's start, s")
    ax.grid(axis="y")
    legend_above(ax, columns=3, **_RIGHT)


def _steps(
    ax: Axes, rows: pd.DataFrame, values: "np.ndarray[Any, Any]", origin_ns: int, **look: Any
) -> None:
    # A step per interval; a gap where two intervals do not touch.
    starts = (rows["start_ns"].to_numpy(dtype="int64") - origin_ns) / 1e9
    ends = (rows["end_ns"].to_numpy(dtype="int64") - origin_ns) / 1e9
    apart = np.append(starts[1:] != ends[:-1], False) if len(starts) else np.zeros(0, dtype=bool)
    x = np.column_stack([starts, ends, ends]).ravel()
    y = np.column_stack([values, values, np.where(apart, np.nan, values)]).ravel()
    ax.plot(x, y, linewidth=1.6, **look)

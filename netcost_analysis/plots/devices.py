# Devices: their CPU time by CPU and over time, rates of traffic, and cost per packet.

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch

from ..units import duration, share
from .marks import legend_above, short
from .palette import FAINT, INK, KIND, time_unit

_LONGEST = 30
# The device's name is above the axes at the left.
_RIGHT: Any = {"loc": "lower right", "bbox_to_anchor": (1, 1.0), "handlelength": 1.6}
_NAMES = {"poll": "polls", "hardirq": "interrupts"}
# Stacked from the bottom up.
_ORDER = ("poll", "hardirq")


def matrix(ax: Axes, rows: pd.DataFrame) -> None:
    # Draw rows of device_matrix, darker for more time. Cells have the share and interrupts per
    # second, unless there are many CPUs.
    thieves = list(rows[["kind", "thief"]].drop_duplicates()["thief"])
    cpus = list(rows["cpu"].drop_duplicates())
    shape = len(thieves), len(cpus)
    values = 100 * rows["cpu_share"].to_numpy(dtype=float).reshape(shape)
    rates = rows["interrupts_per_s"].to_numpy("float64", na_value=0.0).reshape(shape)
    colours = LinearSegmentedColormap.from_list("time", ["#ffffff", KIND["poll"], KIND["softirq"]])
    highest = max(float(np.nanmax(values, initial=0.0)), 1e-9)
    ax.imshow(values, aspect="auto", cmap=colours, vmin=0, vmax=highest, interpolation="nearest")
    ax.set_xticks(range(len(cpus)), list(map(str, cpus)), fontsize=9 if len(cpus) <= 32 else 6)
    ax.set_yticks(range(len(thieves)), [short(name, _LONGEST) for name in thieves])
    ax.tick_params(length=0)
    ax.set_xlabel("CPU; each cell: share of its time, interrupts per second")
    ax.spines[:].set_visible(False)
    for edge in range(1, len(thieves)):
        ax.axhline(edge - 0.5, color="white", linewidth=1.5)
    for edge in range(1, len(cpus)):
        ax.axvline(edge - 0.5, color="white", linewidth=1.5)
    if len(cpus) > 8:
        return
    for (y, x), percent in np.ndenumerate(values):
        if not percent:
            continue
        text, rate = share(percent / 100), rates[y, x]
        if rate >= 0.5:
            text += f", {rate:,.0f}/s"
        color = "white" if percent > 0.75 * highest else INK
        ax.text(x, y, text, ha="center", va="center", color=color, fontsize=9)


def rates(
    ax: Axes, rows: pd.DataFrame, curves: dict[str, str], scale: float, unit: str, origin_ns: int
) -> None:
    # Draw two rates of one interface, a step for each interval. curves: labels by column. scale:
    # the factor from a value to the unit.
    for (column, name), (colour, style) in zip(
        curves.items(), ((INK, "-"), (FAINT, "--")), strict=True
    ):
        known = rows[rows[column].notna()]
        values = scale * known[column].to_numpy(dtype=float)
        starts, ends = (
            (known[end].to_numpy(dtype="int64") - origin_ns) / 1e9 for end in ("start_ns", "end_ns")
        )
        # Leave a gap between intervals that do not touch.
        after = np.where(np.append(starts, np.nan)[1:] == ends, values, np.nan)
        x = np.column_stack([starts, ends, ends]).ravel()
        y = np.column_stack([values, values, after]).ravel()
        ax.plot(x, y, linewidth=1.6, color=colour, linestyle=style, label=name)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(unit)
    ax.set_xlabel("time since the capture's start, s")
    ax.grid(axis="y")
    legend_above(ax, columns=3, **_RIGHT)


def time_shares(ax: Axes, bins: pd.DataFrame, window: tuple[int, ...], origin_ns: int) -> None:
    # Draw a device's rows of device_time_series, as a share of one CPU. window: begin and end.
    edges = np.unique([*window, *bins["start_ns"], *bins["end_ns"]])
    # Bins in which the device took nothing have no rows.
    place = np.searchsorted(edges, bins["start_ns"])
    base = np.zeros(len(edges) - 1)
    handles = []
    for kind in _ORDER:
        ns = bins[f"{kind}_ns"].to_numpy("float64", na_value=0.0)
        if not ns.any():
            continue
        top = base.copy()
        top[place] += 100 * ns / (bins["end_ns"] - bins["start_ns"]).to_numpy()
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


def per_packet(ax: Axes, cost: pd.DataFrame, most: int) -> None:
    # Draw the cost of a packet in interrupts and polls, from rows of device_cost, for at most
    # `most` devices, the dearest first. Packets are those that timed polls received.
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

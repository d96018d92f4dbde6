# Pictures of what polls and packets cost, and of CPU share over the rate of packets.

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from .batches import packet_marks
from .marks import legend_above, plain_log, short
from .palette import FAINT, INK, KIND, PART, time_unit

# Most characters of a curve's name, which consists of labels and values.
LONGEST_CURVE = 46
_COLORS = (KIND["softirq"], PART["stolen_network"], KIND["softirq_other"], PART["stolen_other"])
_MARKERS = "os^D"
_LINE = PART["stolen_network"]


def poll_cost(ax: Axes, times: pd.DataFrame, cost: "pd.Series[Any]") -> None:
    """Draw what the polls of a device took by their packets, and the line through them.

    times: by packets polls, mean_ns, low_ns and high_ns. cost: its row of poll_costs; without a
    line (NA) only the polls are drawn.
    """
    # Means, because the line is fitted to them, and they add up to the cost of a CPU.
    mean, works = times["mean_ns"].to_numpy(), times.index.to_numpy()
    scale, unit = time_unit(float(mean.max()) if len(times) else 0)
    few = (times["polls"] < 5).to_numpy()
    low, high = times["low_ns"] / scale, times["high_ns"] / scale
    bars = {"color": KIND["poll"], "linewidth": 2.5, "label": "middle half of the polls"}
    ax.vlines(works, low, high, **bars)  # type: ignore[arg-type]
    dots = {"linestyle": "none", "marker": "o", "markersize": 3.5}
    ax.plot(works[~few], mean[~few] / scale, color=INK, label="mean", **dots)  # type: ignore[arg-type]
    hollow = {"color": FAINT, "markerfacecolor": "white", "label": "mean of under 5 polls"}
    if few.any():
        ax.plot(works[few], mean[few] / scale, **{**dots, **hollow})  # type: ignore[arg-type]
    if pd.notna(cost["fixed_ns"]) and len(works):
        x = np.array([0, works.max()])
        y = (cost["fixed_ns"] + cost["marginal_ns"] * x) / scale
        doubted = pd.notna(cost["doubt"])
        label = f"fixed + marginal × packets{', doubted' if doubted else ''}"
        style = ":" if doubted else "-"
        ax.plot(x, y, color=_LINE, linewidth=1.8, linestyle=style, label=label)
        low, high = cost["fixed_low_ns"] / scale, cost["fixed_high_ns"] / scale
        ax.vlines([0], low, high, color=_LINE, linewidth=5, alpha=0.5)
    ax.set_xlim(left=-1)
    ax.set_ylim(bottom=min(0, ax.get_ylim()[0]))
    ax.set_xlabel("packets in the poll")
    ax.set_ylabel(f"own time of the poll, {unit}")
    ax.xaxis.set_major_locator(packet_marks(6))
    ax.grid(axis="y")
    legend_above(ax, None, 4)


def packet_cost(ax: Axes, costs: pd.DataFrame) -> None:
    """Draw what a packet costs by the size of its batch. costs: of packet_costs, one device's."""
    scale, unit = time_unit(float(costs["packet_ns"].max()))
    batch = costs["batch"].to_numpy(dtype="float64")
    low, high = (costs[f"packet_{side}_ns"].to_numpy() / scale for side in ("low", "high"))
    ax.fill_between(batch, low, high, color=KIND["poll"], alpha=0.35, linewidth=0, label="95 %")
    label = "a packet, with its part of poll, softirq and interrupt"
    ax.plot(batch, costs["packet_ns"] / scale, color=KIND["softirq"], linewidth=1.8, label=label)
    unseen = costs[~costs["seen"]]
    if len(unseen):
        hollow = {"color": KIND["softirq"], "markerfacecolor": "white"}
        label = "no poll was of that size"
        ax.plot(unseen["batch"], unseen["packet_ns"] / scale, "o", label=label, **hollow)  # type: ignore[arg-type]
    ax.set_xscale("log", base=2)
    ax.set_xticks(batch, [f"{size:g}" for size in batch])
    ax.set_ylim(bottom=0)
    ax.set_xlabel("packets in a batch (log scale)")
    ax.set_ylabel(f"time per packet, {unit}")
    ax.grid(axis="y")
    legend_above(ax, None, 3)


def share_by_rate(ax: Axes, curve: pd.DataFrame) -> None:
    """Draw a curve's CPU share over its packet rate: measured, predicted, and without batches."""
    rate = curve["rate_per_s"].to_numpy() / 1e3
    lines = (
        # Cut off beyond a whole CPU.
        ("unbatched_share", "predicted, had batches not grown", FAINT, ":", ""),
        ("expected_share", "predicted from the other steps", _LINE, "--", "D"),
        ("marginal_share", "of it the packets themselves", KIND["softirq_other"], "-.", ""),
        ("receive_share", "measured", INK, "-", "o"),
    )
    for name, label, color, style, marker in lines:
        values = 100 * curve[name].clip(upper=1.5)
        look = {"color": color, "linestyle": style, "marker": marker, "markersize": 4.5}
        ax.plot(rate, values, label=label, linewidth=1.6, **look)  # type: ignore[arg-type]
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_ylim(0, 100)
    ax.set_xlabel("thousand packets per second (log scale)")
    ax.set_ylabel("share of the CPU, %")
    ax.grid(axis="y")
    legend_above(ax, None, 4)


def batch_by_rate(ax: Axes, curves: pd.DataFrame) -> None:
    """Draw how large batches are at each rate, a line for each curve."""
    for place, (name, curve) in enumerate(curves.groupby("curve", sort=False)):
        look = {"color": _COLORS[place % 4], "marker": _MARKERS[place % 4], "markersize": 5}
        rate = curve["rate_per_s"] / 1e3
        ax.plot(rate, curve["batch_mean"], linewidth=1.4, label=short(name, LONGEST_CURVE), **look)  # type: ignore[arg-type]
    ax.set_xscale("log")
    ax.set_yscale("log", base=2)
    plain_log(ax.xaxis)
    marks = 2 ** np.arange(0, 1 + np.ceil(np.log2(max(float(curves["batch_mean"].max()), 2))))
    ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
    ax.set_xlabel("thousand packets per second (log scale)")
    ax.set_ylabel("packets per poll (log scale)")
    ax.grid(axis="y")
    legend_above(ax, None, 2)

# Packets per poll and per softirq, costs of polls and packets, and CPU share over packet rate.

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from .marks import legend_above, limit, plain_log, short
from .palette import FAINT, INK, KIND, PART, time_unit

LONGEST_LABEL = 34
_SHADES = LinearSegmentedColormap.from_list("polls", ["#ffffff", KIND["poll"], KIND["hardirq"]])


def packet_marks(most: int) -> MaxNLocator:
    """Ticks for packets at multiples of powers of two, like budgets and rings: 16, 32, 48, 64."""
    return MaxNLocator(most, integer=True, steps=(1, 1.6, 2, 4, 5, 8, 10))


def batches(ax: Axes, polls: "pd.Series[int]", budget: int | None = None) -> None:
    """Draw how many packets the polls of one device handled.

    polls: numbers of polls, by packets. budget: a mark at the packets that a poll may handle. Polls
    without packets are drawn hollow.
    """
    highest, width = _histogram(ax, polls, KIND["poll"], budget or 0)
    if budget:
        limit(ax, budget + 0.5 * width, f"budget {budget}")
    ax.set_xlim(-width, highest + 1 + width)
    _name_axes(ax, "packets in a poll", "polls")


def packets_per_softirq(ax: Axes, softirqs: "pd.Series[int]") -> None:
    """Draw how many packets NET_RX softirqs handled, over all their polls."""
    highest, width = _histogram(ax, softirqs, KIND["softirq"])
    ax.set_xlim(-width, highest + 2 * width)
    _name_axes(ax, "packets in a softirq", "NET_RX softirqs")


def batch_matrix(ax: Axes, sizes: pd.DataFrame, most: int = 16) -> None:
    """Draw how packets come in polls: a row per device and CPU, a column per batch size.

    sizes: from poll_sizes. most: the number of rows, those with most polls first.
    """
    known = sizes[sizes["work"].notna()]
    highest = max(int(known["work"].max()), int(known["budget"].max() or 0))
    width = max(1, -(-(highest + 1) // 130))
    bars = highest // width + 1
    polls = known.groupby(["device", "cpu", known["work"] // width])["polls"].sum()
    counts = polls.unstack(fill_value=0).reindex(columns=range(bars), fill_value=0)
    total = counts.sum(axis=1).nlargest(most)
    shares = counts.loc[total.index].div(total, axis=0).to_numpy(dtype="float64")
    # Use the square root, so that a spike at 64 does not hide other polls.
    edges = width * np.arange(bars + 1) - 0.5, np.arange(len(total) + 1)
    ax.pcolormesh(*edges, np.sqrt(shares), cmap=_SHADES, vmin=0, vmax=1)
    names = [f"{short(device, LONGEST_LABEL)}, CPU {cpu}" for device, cpu in total.index]
    ax.set_yticks(np.arange(len(total)) + 0.5, names)
    ax.invert_yaxis()
    ax.set_xlabel("packets in a poll (darker: more of that row's polls)")
    ax.xaxis.set_major_locator(packet_marks(9))
    for y in range(1, len(total)):
        ax.axhline(y, color="white", linewidth=2)


def cost_by_batch(ax: Axes, times: pd.DataFrame) -> None:
    """Draw what a packet costs by the size of its batch: median and middle half of the polls.

    times: by work (packets, above 0): polls (their number), and low_ns, median_ns and high_ns, the
    quartiles of their time.
    """
    # Leave out sizes with too few polls for a distribution.
    most = max(int(times["polls"].max()), 1) if len(times) else 1
    table = times[times["polls"] >= min(5, most)]
    x = table.index.to_numpy()
    low, middle, high = (table[name] / x for name in ("low_ns", "median_ns", "high_ns"))
    scale, unit = time_unit(float(middle.max()) if len(table) else 0)
    if len(table):
        ax.vlines(x, low / scale, high / scale, color=KIND["poll"], linewidth=2.5)
        ax.plot(x, middle / scale, "o", color=INK, markersize=3)
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("packets in the poll")
    ax.set_ylabel(f"time per packet, {unit}")
    ax.xaxis.set_major_locator(packet_marks(6))
    ax.grid(axis="y")


def _histogram(ax: Axes, counts: "pd.Series[int]", color: str, least: int = 0) -> tuple[int, int]:
    # Draws bars of counts by packets. Returns the highest number of packets, at least `least`, and
    # the width of a bar.
    packets = counts.index.to_numpy(dtype="int64")
    highest = max(int(packets.max(initial=0)), least, 1)
    width = max(1, -(-(highest + 1) // 80))
    edges = np.arange(1, highest + width + 1, width) - 0.5
    heights, _ = np.histogram(packets, bins=edges, weights=counts.to_numpy())
    ax.bar(edges[:-1] + width / 2, heights, 0.9 * width, color=color)
    empty = int(counts[counts.index == 0].sum())
    if empty:
        # Draw it left of the bar that begins at one packet.
        look = {"facecolor": "white", "edgecolor": color, "linewidth": 1.2}
        ax.bar(0.5 - width / 2, empty, 0.9 * width, **look)  # type: ignore[arg-type]
    return highest, width


def _name_axes(ax: Axes, x: str, y: str) -> None:
    # Counts may span decades: most polls are small, but the full ones matter.
    heights = [bar.get_height() for bar in ax.patches if bar.get_height() > 0]  # type: ignore[attr-defined]
    if heights and max(heights) > 50 * min(heights):
        ax.set_yscale("log")
        ax.set_ylim(0.7, max(heights) * 2)
        ax.yaxis.set_major_locator(LogLocator(10))
        ax.yaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        y += " (log scale)"
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.xaxis.set_major_locator(packet_marks(6))
    ax.grid(axis="y")


# Maximum length of a curve's name, which consists of labels and values.
LONGEST_CURVE = 46
_COLORS = (KIND["softirq"], PART["stolen_network"], KIND["softirq_other"], PART["stolen_other"])
_MARKERS = "os^D"
_LINE = PART["stolen_network"]


def poll_cost(ax: Axes, times: pd.DataFrame, cost: "pd.Series[Any]") -> None:
    """Draw the time of a device's polls by their packets, and the line fitted to it.

    times: by packets: polls, mean_ns, low_ns and high_ns. cost: the device's row of poll_costs; if
    its line is NA, only the polls are drawn.
    """
    # Draw means: the line is fitted to them, and they add up to the cost of a CPU.
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
        label = f"fixed + marginal × packets{', doubtful' if doubted else ''}"
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
    """Draw what a packet costs by the size of its batch. costs: packet_costs of one device."""
    scale, unit = time_unit(float(costs["packet_ns"].max()))
    batch = costs["batch"].to_numpy(dtype="float64")
    low, high = (costs[f"packet_{side}_ns"].to_numpy() / scale for side in ("low", "high"))
    ax.fill_between(batch, low, high, color=KIND["poll"], alpha=0.35, linewidth=0, label="95 %")
    label = "per packet, with its share of poll, softirq and interrupt"
    ax.plot(batch, costs["packet_ns"] / scale, color=KIND["softirq"], linewidth=1.8, label=label)
    unseen = costs[~costs["seen"]]
    if len(unseen):
        hollow = {"color": KIND["softirq"], "markerfacecolor": "white"}
        label = "no poll of that size"
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
        # This one is cut off beyond a whole CPU.
        ("unbatched_share", "predicted without batch growth", FAINT, ":", ""),
        ("expected_share", "predicted from the other steps", _LINE, "--", "D"),
        ("marginal_share", "of that, the packets themselves", KIND["softirq_other"], "-.", ""),
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
    """Draw the size of batches at each rate, a line for each curve."""
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

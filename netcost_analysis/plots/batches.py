# Packets per poll and per softirq: how well the cost of an interrupt is shared.

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from .marks import limit, short
from .palette import INK, KIND, time_unit

LONGEST_LABEL = 34
_SHADES = LinearSegmentedColormap.from_list("polls", ["#ffffff", KIND["poll"], KIND["hardirq"]])


def packet_marks(most: int) -> MaxNLocator:
    """Ticks for packets: multiples of powers of two, as budgets and rings are: 16, 32, 48, 64."""
    return MaxNLocator(most, integer=True, steps=(1, 1.6, 2, 4, 5, 8, 10))


def batches(ax: Axes, polls: "pd.Series[int]", budget: int | None = None) -> None:
    """Draw how many packets the polls of one device handled.

    polls: how many, by their packets. budget: the packets a poll may handle, marked; polls without
    packets are drawn hollow.
    """
    highest, width = _histogram(ax, polls, KIND["poll"], budget or 0)
    if budget:
        limit(ax, budget + 0.5 * width, f"budget {budget}")
    ax.set_xlim(-width, highest + 1 + width)
    _name_axes(ax, "packets in a poll", "polls")


def packets_per_softirq(ax: Axes, softirqs: "pd.Series[int]") -> None:
    """Draw the same of NET_RX softirqs, all their polls together."""
    highest, width = _histogram(ax, softirqs, KIND["softirq"])
    ax.set_xlim(-width, highest + 2 * width)
    _name_axes(ax, "packets in a softirq", "NET_RX softirqs")


def batch_matrix(ax: Axes, sizes: pd.DataFrame, most: int = 16) -> None:
    """Draw how packets come in polls: a row per device and CPU, a column per batch size.

    sizes: of poll_sizes. most: rows, those with most polls first.
    """
    known = sizes[sizes["work"].notna()]
    highest = max(int(known["work"].max()), int(known["budget"].max() or 0))
    width = max(1, -(-(highest + 1) // 130))
    bars = highest // width + 1
    polls = known.groupby(["device", "cpu", known["work"] // width])["polls"].sum()
    counts = polls.unstack(fill_value=0).reindex(columns=range(bars), fill_value=0)
    total = counts.sum(axis=1).nlargest(most)
    shares = counts.loc[total.index].div(total, axis=0).to_numpy(dtype="float64")
    # The square root, so that a spike at 64 does not hide the other polls.
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

    times: by work (packets, above 0) polls (how many), low_ns, median_ns and high_ns: a quarter of
    them took less, half of them, and three quarters.
    """
    # A few polls are no distribution.
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
    # Bars of counts by packets; returns the highest number of packets, or least, and a bar's width.
    packets = counts.index.to_numpy(dtype="int64")
    highest = max(int(packets.max(initial=0)), least, 1)
    width = max(1, -(-(highest + 1) // 80))
    edges = np.arange(1, highest + width + 1, width) - 0.5
    heights, _ = np.histogram(packets, bins=edges, weights=counts.to_numpy())
    ax.bar(edges[:-1] + width / 2, heights, 0.9 * width, color=color)
    empty = int(counts[counts.index == 0].sum())
    if empty:
        # Left of the bar that begins at one packet.
        look = {"facecolor": "white", "edgecolor": color, "linewidth": 1.2}
        ax.bar(0.5 - width / 2, empty, 0.9 * width, **look)  # type: ignore[arg-type]
    return highest, width


def _name_axes(ax: Axes, x: str, y: str) -> None:
    # Counts span decades: most polls are small, but the full ones matter.
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

# Packets per poll and per softirq: how well the cost of an interrupt is shared.

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from .marks import limit
from .palette import INK, KIND

# Budgets and rings are powers of two; so are the marks: 16, 32, 48, 64.
_STEPS = (1, 1.6, 2, 4, 5, 8, 10)


def batches(ax: Axes, polls: pd.DataFrame, budget: int | None = None) -> None:
    """Draw how many packets the polls of one device handled.

    polls: with work (packets, nulls left out). budget: the packets a poll may handle, marked;
    polls without packets are drawn hollow.
    """
    work = polls["work"].dropna().astype("int64")
    counts = work.value_counts().sort_index()
    highest = max(int(work.max()) if len(work) else 0, budget or 0, 1)
    width = max(1, -(-(highest + 1) // 80))
    if width == 1:
        full = counts[counts.index > 0]
        ax.bar(full.index, full.to_numpy(), 0.9, color=KIND["poll"])
    else:
        edges = np.arange(1, highest + width + 1, width) - 0.5
        ax.hist(work[work > 0], bins=list(map(float, edges)), color=KIND["poll"])
    empty = int(counts.get(0, 0))
    if empty:
        _hollow(ax, empty, width, KIND["poll"])
    if budget:
        limit(ax, budget + 0.5 * width, f"budget {budget}")
    ax.set_xlim(-width, highest + 1 + width)
    _count_axes(ax, "packets in a poll", "polls")


def packets_per_softirq(ax: Axes, softirqs: pd.DataFrame) -> None:
    """Draw how many packets the NET_RX softirqs handled, all their polls together.

    softirqs: with packets (int); those without any are drawn hollow.
    """
    packets = softirqs["packets"].astype("int64")
    highest = max(int(packets.max()) if len(packets) else 0, 1)
    width = max(1, -(-(highest + 1) // 80))
    edges = np.arange(1, highest + width + 1, width) - 0.5
    counts, _ = np.histogram(packets[packets > 0], bins=edges)
    ax.bar(edges[:-1] + width / 2, counts, 0.9 * width, color=KIND["softirq"])
    empty = int((packets == 0).sum())
    if empty:
        _hollow(ax, empty, width, KIND["softirq"])
    ax.set_xlim(-width, highest + 2 * width)
    _count_axes(ax, "packets in a softirq", "NET_RX softirqs")


def cost_per_packet(ax: Axes, polls: pd.DataFrame) -> None:
    """Draw what a packet costs by the size of its batch: median and middle half of the polls.

    polls: with work (packets) and self_ns (int, nulls left out).
    """
    known = polls[["work", "self_ns"]].dropna()
    known = known[known["work"] > 0]
    each = known["self_ns"].astype(float) / known["work"].astype(float)
    # A handful of polls is no distribution.
    groups = each.groupby(known["work"].astype("int64"))
    table = groups.quantile(np.array([0.25, 0.5, 0.75])).unstack()
    table = table[groups.size() >= min(5, max(groups.size().max(), 1))] if len(table) else table
    if len(table):
        scale, unit = (1e3, "µs") if float(table[0.5].max()) >= 2000 else (1.0, "ns")
        x = table.index.to_numpy()
        ax.vlines(x, table[0.25] / scale, table[0.75] / scale, color=KIND["poll"], linewidth=2.5)
        ax.plot(x, table[0.5] / scale, "o", color=INK, markersize=3)
    else:
        unit = "ns"
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    ax.set_xlabel("packets in the poll")
    ax.set_ylabel(f"time per packet, {unit}")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=_STEPS))
    ax.grid(axis="y")


def _hollow(ax: Axes, number: int, width: int, color: str) -> None:
    # Left of the bar that begins at one packet, whatever a bar's width.
    place = 0.5 - width / 2
    ax.bar(place, number, 0.9 * width, facecolor="white", edgecolor=color, linewidth=1.2)


def _count_axes(ax: Axes, x: str, y: str) -> None:
    # Counts span decades: most polls are small, the full ones are what matters.
    heights = [bar.get_height() for bar in ax.patches if bar.get_height() > 0]  # type: ignore[attr-defined]
    if heights and max(heights) > 50 * min(heights):
        ax.set_yscale("log")
        ax.set_ylim(0.7, max(heights) * 2)
        ax.yaxis.set_major_locator(LogLocator(10))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda count, _: f"{count:,.0f}"))
        ax.yaxis.set_minor_formatter(NullFormatter())
        y += " (log scale)"
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=_STEPS))
    ax.grid(axis="y")

# Pictures of softirqs and batches: each takes tidy DataFrames and an Axes, and draws.

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ...plots.marks import legend_above, limit, plain_log, short
from ...plots.palette import FAINT, HATCH, INK, KIND, KIND_NAMES, PART, time_unit
from .kernel_limits import KernelLimits

_PARTS = {
    "irq_ns": (KIND["hardirq"], "the interrupt that raised it"),
    "raise_delay_ns": (KIND["task"], "raised, and not yet begun"),
    "outside_polls_ns": (KIND["softirq"], KIND_NAMES["softirq"]),
    "poll_ns": (KIND["poll"], KIND_NAMES["poll"]),
    "nested_ns": (KIND["vector"], "interrupts on top of it"),
}
LONGEST_LABEL = 34
# Of a curve: labels with their values.
LONGEST_CURVE = 46
_MAX_POINTS = 20_000
_SHADES = LinearSegmentedColormap.from_list("polls", ["#ffffff", KIND["poll"], KIND["hardirq"]])


def anatomy(ax: Axes, parts: pd.DataFrame) -> None:
    # Draw where the time of a typical NET_RX goes, by device. parts: as parts_of returns it:
    # device, softirqs, and a mean in ns for each part.
    places = np.arange(len(parts))[::-1]
    left = np.zeros(len(parts))
    scale, unit = time_unit(float(parts[list(_PARTS)].sum(axis=1).max() or 0))
    handles = []
    for name, (color, label) in _PARTS.items():
        width = parts[name].astype("float64").fillna(0).to_numpy() / scale
        hatch = HATCH if name == "raise_delay_ns" else None
        ax.barh(places, width, 0.62, left, color=color, hatch=hatch, linewidth=0)
        handles.append(Patch(facecolor=color, hatch=hatch, label=label))
        left += width
    labels = [
        f"{short(name, LONGEST_LABEL)}  ({n:,})"
        for name, n in zip(parts["device"], parts["softirqs"], strict=True)
    ]
    ax.set_yticks(places, labels)
    ax.set_xlabel(f"mean time of a NET_RX, {unit}")
    ax.grid(axis="x")
    legend_above(ax, handles, 3)


def batch_matrix(ax: Axes, sizes: pd.DataFrame, most: int = 16) -> None:
    # Draw how packets come in polls: a row per device and CPU, a column per batch size. sizes: as
    # poll_sizes returns it. most: rows, those with most polls first.
    known = sizes[sizes["work"].notna()]
    counts = known.groupby(["device", "cpu", "work"])["polls"].sum().unstack("work", fill_value=0)
    counts = counts.loc[counts.sum(axis=1).nlargest(most).index]
    highest = int(max(int(counts.columns.max()), int(known["budget"].max() or 0)))
    width = max(1, -(-(highest + 1) // 130))
    edges = np.arange(0, highest + width + 1, width)
    shares = np.zeros((len(counts), len(edges) - 1))
    columns = np.minimum(counts.columns.astype("int64") // width, len(edges) - 2)
    for column, (_, values) in zip(columns, counts.items(), strict=True):
        shares[:, column] += values.to_numpy(dtype="float64")
    shares /= shares.sum(axis=1, keepdims=True)
    # Square roots: a spike at 64 must not hide what the other polls had.
    ax.pcolormesh(
        edges - 0.5, np.arange(len(counts) + 1), np.sqrt(shares), cmap=_SHADES, vmin=0, vmax=1
    )
    names = [f"{short(device, LONGEST_LABEL)}, CPU {cpu}" for device, cpu in counts.index]
    ax.set_yticks(np.arange(len(counts)) + 0.5, names)
    ax.invert_yaxis()
    ax.set_xlabel("packets in a poll (darker: more of that row's polls)")
    ax.xaxis.set_major_locator(MaxNLocator(9, integer=True, steps=[1, 1.6, 2, 4, 5, 8, 10]))
    for y in range(1, len(counts)):
        ax.axhline(y, color="white", linewidth=2)


def spreads(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], what: str) -> None:
    # Draw a median, the 90th and 99th percentile and the longest of several things, in a row each.
    # rows: with median_ns, p90_ns, p99_ns, longest_ns. labels: of the rows. what: the axis.
    known = rows[["median_ns", "p90_ns", "p99_ns", "longest_ns"]].astype("float64").clip(lower=1)
    scale, unit = time_unit(float(known["p90_ns"].median()))
    places = np.arange(len(known))[::-1]
    values = known / scale
    ax.hlines(places, values["median_ns"], values["longest_ns"], color=KIND["task"], linewidth=1.5)
    ax.hlines(places, values["median_ns"], values["p90_ns"], color=KIND["poll"], linewidth=6)
    ax.plot(values["median_ns"], places, "o", color=INK, markersize=6)
    ax.plot(values["p99_ns"], places, "|", color=INK, markersize=11, markeredgewidth=1.6)
    ax.plot(values["longest_ns"], places, "x", color=INK, markersize=6)
    ax.set_yticks(places, [short(label, LONGEST_LABEL) for label in labels])
    ax.set_ylim(-0.7, len(known) - 0.3)
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_xlabel(f"{what}, {unit} (log scale)")
    ax.grid(axis="x")
    dot = {"color": INK, "linestyle": "none"}
    handles = [
        Line2D([], [], marker="o", markersize=6, label="median", **dot),  # type: ignore[arg-type]
        Line2D([], [], color=KIND["poll"], linewidth=6, label="to 90 %"),
        Line2D([], [], marker="|", markersize=11, markeredgewidth=1.6, label="99 %", **dot),  # type: ignore[arg-type]
        Line2D([], [], marker="x", markersize=6, label="longest", **dot),  # type: ignore[arg-type]
    ]
    legend_above(ax, handles, 4)


def softirq_limits(
    ax: Axes,
    known: pd.DataFrame,
    limits: KernelLimits,
    longer_ns: int = 20_000_000,
    fewer_packets: int = 64,
) -> None:
    # Draw each NET_RX by its packets and its time, with the limits of both, and what is strange.
    # known: with packets, ns, in_kthread. limits: of the host. longer_ns, fewer_packets: the
    # corner of long_softirqs.
    if len(known) > _MAX_POINTS:
        longest = known["ns"].nlargest(_MAX_POINTS // 20).index
        some = known.iloc[:: -(-len(known) // _MAX_POINTS)].index
        known = known.loc[some.union(longest)]
    for scheduled, color, label in (
        (False, KIND["softirq"], "on top of the running task"),
        (True, PART["scheduled"], "in ksoftirqd or another kernel thread"),
    ):
        part = known[known["in_kthread"] == scheduled]
        ax.plot(
            part["packets"].astype("float64"),
            part["ns"] / 1e6,
            ".",
            color=color,
            markersize=3.5,
            alpha=0.6,
            label=label,
        )
    lowest, highest = float(known["ns"].min()) / 1e6, float(known["ns"].max()) / 1e6
    ax.set_yscale("log")
    ax.set_ylim(max(lowest, 1e-6) / 1.6, max(highest, longer_ns / 1e6) * 3)
    right = max(float(known["packets"].max()) * 1.06, fewer_packets * 1.3)
    line = {"color": INK, "linewidth": 0.9, "linestyle": (0, (4, 3))}
    if limits.netdev_budget is not None and right >= 0.6 * limits.netdev_budget:
        right = max(right, limits.netdev_budget * 1.06)
        ax.axvline(limits.netdev_budget, **line)  # type: ignore[arg-type]
        ax.annotate(
            f"netdev_budget {limits.netdev_budget}",
            (limits.netdev_budget, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            ha="right",
            color=FAINT,
        )
    if limits.net_rx_jiffies is not None and limits.tick_ns is not None:
        low, high = ((limits.net_rx_jiffies - less) * limits.tick_ns / 1e6 for less in (1, 0))
        ax.axhspan(low, high, color=KIND["idle"], zorder=0)
        ax.annotate(
            f"netdev_budget_usecs: {limits.net_rx_jiffies} jiffies",
            (min(right, limits.netdev_budget or right), high),
            xytext=(-5, -3),
            textcoords="offset points",
            ha="right",
            va="top",
            color=FAINT,
        )
    top = ax.get_ylim()[1]
    corner = {"color": PART["stolen_maybe_network"], "alpha": 0.35, "linewidth": 0, "zorder": 0}
    ax.fill_between([-0.02 * right, fewer_packets], longer_ns / 1e6, top, **corner)  # type: ignore[arg-type]
    ax.annotate(
        f"over {longer_ns / 1e6:g} ms, under {fewer_packets} packets",
        (0, top),
        xytext=(3, -3),
        textcoords="offset points",
        va="top",
        color=INK,
    )
    ax.set_xlim(-0.02 * right, right)
    plain_log(ax.yaxis)
    ax.set_xlabel("packets of the NET_RX, all its polls together")
    ax.set_ylabel("from entry to exit, ms (log scale)")
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    legend_above(ax, None, 2, markerscale=3)


def run_rounds(ax: Axes, runs: pd.DataFrame, most: int = 10) -> None:
    # Draw how many rounds the runs of softirqs made, and after which something was pending. runs:
    # softirq_runs.by_kind. most: rounds that the kernel allows, marked.
    kinds: tuple[tuple[pd.Series[bool], str, str], ...] = (
        (~runs["in_kthread"] & ~runs["still_pending"], KIND["poll"], "nothing pending"),
        (~runs["in_kthread"] & runs["still_pending"], KIND["softirq"], "something still pending"),
        (
            runs["in_kthread"] & ~runs["still_pending"],
            PART["scheduled"],
            "in a kernel thread, nothing pending",
        ),
        (
            runs["in_kthread"] & runs["still_pending"],
            PART["stolen_other"],
            "in a kernel thread, still pending",
        ),
    )
    # Without raises nobody knows whether anything was pending.
    if runs["still_pending"].isna().any():
        kinds = (
            (~runs["in_kthread"], KIND["poll"], "on top of the running task"),
            (runs["in_kthread"], PART["scheduled"], "in a kernel thread"),
        )
    rounds = np.arange(1, most + 1)
    highest = runs.groupby("rounds_made")["run_count"].sum().max() if len(runs) else 1
    for place, (chosen, color, label) in enumerate(kinds):
        counts = (
            runs[chosen].groupby("rounds_made")["run_count"].sum().reindex(rounds, fill_value=0)
        )
        ax.bar(rounds + 0.2 * (place - 1.5), counts, 0.2, color=color, label=label)
    limit(ax, most + 0.5, f"MAX_SOFTIRQ_RESTART {most}")
    ax.set_yscale("log")
    ax.set_ylim(0.7, max(int(highest), 2) * 3)
    plain_log(ax.yaxis)
    ax.set_xticks(rounds)
    ax.set_xlim(0.4, most + 0.7)
    ax.set_xlabel("rounds of a run, back to back")
    ax.set_ylabel("runs (log scale)")
    legend_above(ax, None, 4)

# NET_RX softirqs: where their time goes, how long they wait, and what ends them. Histograms of
# durations, in the bins of stats.histogram.

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..stats.histogram import PARTS
from .batches import LONGEST_LABEL
from .marks import beside, legend_above, limit, plain_log, short, stacked_bars
from .palette import FAINT, HATCH, INK, KIND, KIND_NAMES, PART, path_colors, time_unit

_PARTS = {
    "irq_ns": (KIND["hardirq"], "the interrupt that raised it"),
    "raise_delay_ns": (KIND["task"], "raised, not yet started"),
    "outside_polls_ns": (KIND["softirq"], KIND_NAMES["softirq"]),
    "poll_ns": (KIND["poll"], KIND_NAMES["poll"]),
    "nested_ns": (KIND["vector"], "interrupts on top of it"),
}
_MAX_POINTS = 20_000


def anatomy(ax: Axes, parts: pd.DataFrame) -> None:
    """Draw where the mean time of a NET_RX goes. parts: softirq_chains.by_device."""
    places = list(range(len(parts)))[::-1]
    scale, unit = time_unit(float(parts[list(_PARTS)].sum(axis=1).max() or 0))
    looks: dict[str, dict[str, Any]] = {
        name: {"color": color, "linewidth": 0} for name, (color, _) in _PARTS.items()
    }
    looks["raise_delay_ns"]["hatch"] = HATCH
    stacked_bars(ax, parts[list(_PARTS)] / scale, looks, 0.62, places)
    handles = [
        Patch(facecolor=color, hatch=looks[name].get("hatch"), label=label)
        for name, (color, label) in _PARTS.items()
    ]
    names = [
        f"{short(name, LONGEST_LABEL)}  ({n:,})"
        for name, n in zip(parts["device"], parts["softirqs"], strict=True)
    ]
    ax.set_yticks(places, names)
    ax.set_xlabel(f"mean time of a NET_RX, {unit}")
    ax.grid(axis="x")
    legend_above(ax, handles, 3)


def spreads(ax: Axes, rows: pd.DataFrame, labels: Sequence[str], what: str) -> None:
    """Draw median, 90th and 99th percentile and maximum of durations, a row for each label.

    rows: with median_ns, p90_ns, p99_ns, longest_ns. labels: of the rows. what: of the axis.
    """
    known = rows[["median_ns", "p90_ns", "p99_ns", "longest_ns"]].astype("float64").clip(lower=1)
    scale, unit = time_unit(float(known["p90_ns"].median()))
    places = np.arange(len(known))[::-1]
    values = known / scale
    ax.hlines(places, values["median_ns"], values["longest_ns"], color=KIND["task"], linewidth=1.5)
    bar = {"color": KIND["poll"], "linewidth": 6, "label": "to 90 %"}
    bars = ax.hlines(places, values["median_ns"], values["p90_ns"], **bar)  # type: ignore[arg-type]
    (median,) = ax.plot(values["median_ns"], places, "o", color=INK, label="median")
    (most,) = ax.plot(values["p99_ns"], places, "|", color=INK, markersize=11, label="99 %")
    (longest,) = ax.plot(values["longest_ns"], places, "x", color=INK, label="longest")
    ax.set_yticks(places, [short(label, LONGEST_LABEL) for label in labels])
    ax.set_ylim(-0.7, len(known) - 0.3)
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_xlabel(f"{what}, {unit} (log scale)")
    ax.grid(axis="x")
    legend_above(ax, [median, bars, most, longest], 4)


def softirq_limits(
    ax: Axes,
    softirqs: pd.DataFrame,
    budget: int | None,
    jiffies: int | None,
    limit_ns: tuple[int, int] | None,
    corner: tuple[float, int],
) -> None:
    """Draw each NET_RX by its packets and time, with the limits of both, and a suspicious corner.

    softirqs: with packets, ns, in_kthread. budget: packets that one may poll. jiffies, limit_ns:
    the time that one may take, and its range in ns; None if unknown. corner: shade softirqs of this
    many ms or more with fewer packets than this.
    """
    long_ms, few_packets = corner
    if len(softirqs) > _MAX_POINTS:
        longest = softirqs["ns"].nlargest(_MAX_POINTS // 20).index
        sampled = softirqs.iloc[:: -(-len(softirqs) // _MAX_POINTS)].index
        softirqs = softirqs.loc[sampled.union(longest)]
    look = {"linestyle": "none", "marker": ".", "markersize": 3.5, "alpha": 0.6}
    for in_kthread, color, label in (
        (False, KIND["softirq"], "on top of the running task"),
        (True, PART["scheduled"], "in ksoftirqd or another kernel thread"),
    ):
        part = softirqs[softirqs["in_kthread"] == in_kthread]
        packets = part["packets"].astype("float64")
        ax.plot(packets, part["ns"] / 1e6, color=color, label=label, **look)  # type: ignore[arg-type]
    lowest, highest = float(softirqs["ns"].min()) / 1e6, float(softirqs["ns"].max()) / 1e6
    top = max(highest, long_ms) * 3
    ax.set_yscale("log")
    ax.set_ylim(max(lowest, 1e-6) / 1.6, top)
    right = max(float(softirqs["packets"].max()) * 1.06, few_packets * 1.3)
    at_right: dict[str, Any] = {"ha": "right", "color": FAINT}
    if budget is not None and right >= 0.6 * budget:
        right = max(right, budget * 1.06)
        ax.axvline(budget, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        foot = {"xycoords": ("data", "axes fraction"), "va": "baseline", **at_right}
        beside(ax, f"netdev_budget {budget}", budget, 0.02, -3, **foot)
    if limit_ns is not None:
        low, high = (ns / 1e6 for ns in limit_ns)
        ax.axhspan(low, high, color=KIND["idle"], zorder=0)
        text, end = f"netdev_budget_usecs: {jiffies} jiffies", min(right, budget or right)
        beside(ax, text, end, high, xytext=(-5, -3), va="top", **at_right)
    shade = {"color": PART["stolen_maybe_network"], "alpha": 0.35, "linewidth": 0, "zorder": 0}
    ax.fill_between([-0.02 * right, few_packets], long_ms, top, **shade)  # type: ignore[arg-type]
    text = f"over {long_ms:g} ms, under {few_packets} packets"
    beside(ax, text, 0, top, xytext=(3, -3), va="top", color=INK)
    ax.set_xlim(-0.02 * right, right)
    plain_log(ax.yaxis)
    ax.set_xlabel("packets per NET_RX, over all of its polls")
    ax.set_ylabel("from entry to exit, ms (log scale)")
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    legend_above(ax, None, 2, markerscale=3)


def run_rounds(ax: Axes, runs: pd.DataFrame, most: int) -> None:
    """Draw how many rounds runs of softirqs made, and whether something was pending afterwards.

    runs: softirq_runs.by_kind. most: a mark at the rounds that the kernel allows.
    """
    by = ["in_kthread", "still_pending"]
    kinds: dict[tuple[bool, ...], tuple[str, str]] = {
        (False, False): (KIND["poll"], "nothing pending"),
        (False, True): (KIND["softirq"], "something still pending"),
        (True, False): (PART["scheduled"], "in a kernel thread, nothing pending"),
        (True, True): (PART["stolen_other"], "in a kernel thread, still pending"),
    }
    # Without raises, nothing says whether anything was pending.
    if runs["still_pending"].isna().any():
        by = ["in_kthread"]
        kinds = {
            (False,): (KIND["poll"], "on top of the running task"),
            (True,): (PART["scheduled"], "in a kernel thread"),
        }
    rounds = np.arange(1, most + 1)
    counts = runs.groupby([*by, "rounds_made"])["run_count"].sum()
    for place, (kind, (color, label)) in enumerate(kinds.items()):
        heights = [counts.get((*kind, number), 0) for number in rounds]
        ax.bar(rounds + 0.2 * (place - 1.5), heights, 0.2, color=color, label=label)
    highest = runs.groupby("rounds_made")["run_count"].sum().max() if len(runs) else 1
    limit(ax, most + 0.5, f"MAX_SOFTIRQ_RESTART {most}")
    ax.set_yscale("log")
    ax.set_ylim(0.7, max(int(highest), 2) * 3)
    plain_log(ax.yaxis)
    ax.set_xticks(rounds)
    ax.set_xlim(0.4, most + 0.7)
    ax.set_xlabel("rounds of a run, back to back")
    ax.set_ylabel("runs (log scale)")
    legend_above(ax, None, 4)


def lengths(ax: Axes, groups: Mapping[str, pd.DataFrame], counted: str) -> None:
    """Draw each group's histogram over a log axis, on which all bins are equally wide.

    groups: by name ("" for a single one), rows with length_low_ns, length_high_ns and counts in the
    column `counted`. Several groups are each drawn as shares of their own total.
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
    # Edges and counts of all bins from the lowest to the highest, including bins without a row.
    if not len(rows):
        return np.array([1.0, 2.0]), np.zeros(1)
    low, high = (rows[f"length_{end}_ns"].to_numpy("int64") for end in ("low", "high"))
    edges = np.union1d(low, high + 1)
    heights = np.zeros(len(edges) - 1)
    heights[np.searchsorted(edges, low)] = rows[counted]
    return edges, heights

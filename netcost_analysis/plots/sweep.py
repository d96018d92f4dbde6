# The pictures of a sweep over a logarithmic packet rate: a colour for each data path, dashed for
# two destinations, hollow markers without a victim.

from typing import Any

import numpy as np
import pandas as pd

from .batches import LONGEST_CURVE
from .marks import CHANGE, Axes, interval, intervals, legend_above, plain_log, short
from .palette import FAINT, INK, OUTCOME, path_colors

# How a table of steps writes that there was no victim.
_ALONE = "none"
# The factor of each figure, and the label of its axis.
_AXES = {
    "network_share": (100.0, "network share of the CPU, %"),
    "network_ns_per_packet": (1e-3, "CPU time of a packet, µs"),
    "batch_mean": (1.0, "packets per poll (log scale)"),
    "victim_share": (100.0, "the victim's share of the CPU, %"),
    "soft_share": (100.0, "%soft of mpstat"),
    "dropped_share": (100.0, "dropped, % of packets sent"),
}
_OF_ALL = ("network_share", "victim_share", "soft_share")


def by_metric(ax: Axes, rows: pd.DataFrame, ends: pd.DataFrame, metric: str) -> None:
    """Draw a figure of every curve over its packet rate, with intervals where there are any."""
    times, label = _AXES[metric]
    ends = ends.loc[ends["metric"] == metric, ["step", "measured_low", "measured_high"]].dropna()
    for curve, look in _curves(rows, rows["rate_per_s"].notna()):
        ax.plot(curve["rate_per_s"] / 1e3, times * curve[metric], **look)
        known = curve.merge(ends, on="step")
        low, high = times * known["measured_low"], times * known["measured_high"]
        ax.vlines(known["rate_per_s"] / 1e3, low, high, color=look["color"], linewidth=1.2)
    _rates(ax, "thousand packets per second (log scale)")
    ax.set_ylabel(label)
    if metric == "batch_mean":
        ax.set_yscale("log", base=2)
        most = float(rows[metric].max())
        marks = 2 ** np.arange(0, 1 + np.ceil(np.log2(max(most, 2))))
        ax.set_yticks(marks, [f"{mark:g}" for mark in marks])
    elif metric in _OF_ALL:
        ax.set_ylim(0, 100)
    else:
        ax.set_ylim(bottom=0)


def reached(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw what arrived over what was sent, both to a logarithmic scale, and where all arrives."""
    known = rows["reached_pps"].notna() & rows["sent_pps"].gt(0)
    for curve, look in _curves(rows, known):
        ax.plot(curve["sent_pps"] / 1e3, curve["reached_pps"] / 1e3, **look)
    ends = rows.loc[known, "sent_pps"] / 1e3
    line = [ends.min(), ends.max()]
    ax.plot(line, line, color=FAINT, linewidth=0.8, zorder=0, label="all that was sent")
    ax.set_yscale("log")
    plain_log(ax.yaxis)
    ax.set_ylabel("thousand packets/s that arrived")
    _rates(ax, "thousand packets/s that were sent (log scale)")


def _curves(rows: pd.DataFrame, known: "pd.Series[bool]") -> list[tuple[pd.DataFrame, Any]]:
    # Each curve's rows, and its style.
    colors = path_colors([str(name) for name in rows["data_path"].dropna().unique()])
    drawn = []
    for name, curve in rows[known].groupby("curve", sort=False):
        first = curve.iloc[0]
        color = colors.get(str(first["data_path"]), INK)
        alone = first["victim_kind"] == _ALONE
        look = {
            "color": color,
            "linestyle": "--" if str(first["destinations"]) == "2" else "-",
            "marker": {"rps": "s", "threaded": "^"}.get(str(first["steering"]), "o"),
            "markerfacecolor": "white" if alone else color,
            "markersize": 5,
            "linewidth": 1.5,
            "label": short(name, LONGEST_CURVE),
        }
        drawn.append((curve.sort_values("rate_per_s"), look))
    return drawn


def _rates(ax: Axes, label: str) -> None:
    ax.set_xscale("log")
    plain_log(ax.xaxis)
    ax.set_xlabel(label)
    ax.grid(axis="y")
    legend_above(ax, None, 4, handlelength=2.6)


def differences(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw each difference of a table of pairs with its interval, the first row on top."""
    relative = bool(frame["is_relative"].iloc[0])
    unit = str(frame["per_unit"].iloc[0])
    times = 100 if relative or unit == "share" else 1
    several = frame[["base_name", "new_name"]].drop_duplicates().shape[0] > 1
    names, drawn = [], []
    for place, row in enumerate(frame.to_dict("records")):
        pair = f", {row['new_name']} against {row['base_name']}" if several else ""
        names.append(short(f"{row['alike']}, {row['offered']}/s{pair}", LONGEST_CURVE))
        color = INK if row["differs"] == "yes" else OUTCOME[""]
        face = color if row["differs"] == "yes" else "white"
        look = {"markerfacecolor": face, "markersize": 5}
        drawn.append(interval(place, row, CHANGE, color, times, **look))
    intervals(ax, names, drawn)
    metric, base, new = frame[["metric", "base_name", "new_name"]].iloc[0]
    how = "%" if relative else "percentage points" if unit == "share" else unit
    sides = "" if several else f" from {base} to {new}"
    ax.set_xlabel(short(f"{metric.replace('_', ' ')}: change{sides}, {how}", 110))
    ax.grid(axis="x")

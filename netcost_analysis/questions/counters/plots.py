# The pictures of this topic.

from typing import TYPE_CHECKING

import pandas as pd

from ...plots.marks import label_rows
from ...plots.palette import KIND
from ...plots.steps import over_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAX_CPUS = 24
_COLORS = [KIND[kind] for kind in ("softirq", "poll", "hardirq", "vector", "softirq_other")]
_LABELS = {"ipc": "instructions per cycle", "cycles_per_packet": "cycles per packet"}


def _name(cpu: object) -> str:
    return "all CPUs" if cpu is None or cpu is pd.NA else f"CPU {cpu}"


def ipc_by_cpu(ax: "Axes", rows: pd.DataFrame) -> None:
    """Draw how many instructions each CPU ran per cycle, the first of many."""
    known = rows[rows["ipc"].notna()].head(_MAX_CPUS)
    ax.barh(range(len(known)), known["ipc"], height=0.6, color=KIND["softirq"])
    label_rows(ax, [_name(cpu) for cpu in known["cpu"]])
    ax.set_xlabel(_LABELS["ipc"])
    ax.grid(axis="x")


def over_size(ax: "Axes", rows: pd.DataFrame, name: str) -> None:
    """Draw a figure of each CPU over the steps: those with most packets, of many."""
    first = rows.groupby("cpu", dropna=False)["softnet_packets_per_s"].sum().nlargest(len(_COLORS))
    curves = [
        (_name(cpu), color, rows[rows["cpu"] == cpu])
        for cpu, color in zip(sorted(first.index), _COLORS, strict=False)
    ]
    over_steps(ax, curves, name, _LABELS[name])

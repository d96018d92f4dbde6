# The pictures of this topic.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from ...plots.marks import label_rows, legend_above
from ...plots.palette import HATCH, KIND, PART

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CPUS = 24
# What woke a CPU: colours of what ran.
_WAKERS = {
    "network interrupt": KIND["softirq"],
    "IPI": KIND["vector"],
    "timer": PART["scheduled"],
    "other interrupt": KIND["hardirq"],
    "unrecorded": KIND["unknown"],
}


def wakeups_by_cpu(ax: "Axes", wakeups: pd.DataFrame, by_cpu: pd.DataFrame) -> None:
    """Draw how often each CPU was woken a second, by what kind of event: those woken most."""
    cpus = sorted(by_cpu.nlargest(MOST_CPUS, "wakeups")["cpu"])
    left = np.zeros(len(cpus))
    handles = []
    for waker, color in _WAKERS.items():
        rates = wakeups[wakeups["waker"] == waker].groupby("cpu")["wakeups_per_s"].sum()
        if not len(rates):
            continue
        width = rates.reindex(cpus, fill_value=0).to_numpy()
        hatch = HATCH if waker == "unrecorded" else None
        ax.barh(range(len(cpus)), width, left=left, height=0.6, color=color, hatch=hatch)
        handles.append(Patch(facecolor=color, hatch=hatch, label=waker))
        left = left + width
    label_rows(ax, [f"CPU {cpu}" for cpu in cpus])
    ax.set_xlabel("wake-ups a second")
    ax.set_xlim(left=0)
    ax.grid(axis="x")
    legend_above(ax, handles, columns=5)

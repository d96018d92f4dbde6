# The pictures of this topic.

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ...plots.marks import label_rows, legend_above, over_steps, short
from ...plots.palette import FAINT, HATCH, KIND, PART, TASK

_MOST_OWNERS = 12
# What woke a CPU has the colour of what ran.
_WAKERS = {
    "network interrupt": KIND["softirq"],
    "IPI": KIND["vector"],
    "timer": PART["scheduled"],
    "other interrupt": KIND["hardirq"],
    "unrecorded": KIND["unknown"],
}
_DOMAINS = {
    "package": KIND["softirq"],
    "cores": KIND["poll"],
    "uncore": KIND["softirq_other"],
    "dram": PART["stolen_network"],
    "psys": KIND["hardirq"],
}
_OWNERS = {
    "task": TASK,
    "network": KIND["softirq"],
    "perhaps network": KIND["poll"],
    "other interrupts": KIND["vector"],
    "unknown": FAINT,
}
_UNITS = {"joules_per_gb": "joules per gigabyte", "uj_per_packet": "microjoules per packet"}


def wakeups_by_cpu(ax: Axes, wakeups: pd.DataFrame, by_cpu: pd.DataFrame, most: int) -> None:
    """Draw how often each CPU was woken a second, by what kind of event: those woken most."""
    cpus = sorted(by_cpu.nlargest(most, "wakeups")["cpu"])
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


def watts_over_time(
    ax: Axes, over_time: pd.DataFrame, by_domain: pd.DataFrame, origin_ns: int
) -> None:
    """Draw the power of each domain by its best source, interval by interval; floors dashed."""
    for domain, source, floor in zip(
        *(by_domain[name] for name in ("domain", "source", "idle_watts")), strict=True
    ):
        color = _DOMAINS.get(domain, FAINT)
        rows = over_time[(over_time["domain"] == domain) & (over_time["source"] == source)]
        each = rows.groupby(["start_ns", "end_ns"])["watts"].sum().reset_index()
        start, end = (
            (each[f"{side}_ns"].to_numpy("int64") - origin_ns) / 1e9 for side in ("start", "end")
        )
        # An interval a line, joined where the next begins at its end.
        x = np.column_stack([start, end]).ravel()
        ax.plot(x, np.repeat(each["watts"].to_numpy(), 2), color=color, label=domain)
        if floor == floor:
            ax.axhline(floor, color=color, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time since the capture's start, s")
    ax.set_ylabel("watts")
    ax.grid(axis="y")
    legend_above(ax, columns=5)


def joules_by_owner(ax: Axes, owners: pd.DataFrame, domain: str) -> None:
    """Draw what falls to each owner, those with most; of kinds of owners a colour each."""
    first = owners.head(_MOST_OWNERS)
    colors = [_OWNERS[kind] for kind in first["owner_kind"]]
    is_dynamic = first["owner_dynamic_joules"].notna().all()
    joules = first["owner_dynamic_joules" if is_dynamic else "owner_joules"]
    ax.barh(range(len(first)), joules, height=0.6, color=colors)
    label_rows(ax, [short(name, 36) for name in first["owner"]])
    above = " above its idle floor" if is_dynamic else ""
    ax.set_xlabel(f"joules of the {domain}{above}, by busy time")
    ax.grid(axis="x")
    kinds = [kind for kind in _OWNERS if kind in set(first["owner_kind"])]
    legend_above(ax, [Patch(facecolor=_OWNERS[kind], label=kind) for kind in kinds], columns=5)


def joules_over_size(ax: Axes, rows: pd.DataFrame, name: str) -> None:
    """Draw a figure of every domain over the steps; above the idle floor dashed."""
    groups = [
        (str(domain), _DOMAINS.get(str(domain), FAINT), steps)
        for domain, steps in rows.groupby("domain", sort=False)
    ]
    above = [
        (f"{domain}, above idle", color, steps.assign(**{name: steps[f"dynamic_{name}"]}))
        for domain, color, steps in groups
        if steps[f"dynamic_{name}"].notna().any()
    ]
    over_steps(ax, groups, name, _UNITS[name], above)

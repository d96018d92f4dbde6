"""Pictures of processes: each takes tidy DataFrames and an Axes."""

from collections.abc import Collection
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ...plots.marks import beside, label_rows, legend_above, short, stacked_bars
from ...plots.palette import FAINT, INK, KIND, PART, PART_NAMES, TASK_STATE, time_unit
from ...units import duration, plural

_ROWS = 9
# Of softirq time, in the order they are stacked.
_CLASSES = ("synchronous", "stolen_network", "stolen_other", "stolen_or_synchronous", "scheduled")
_PARTS: dict[str, dict[str, Any]] = {
    name: {"color": PART[name], "label": PART_NAMES[name]} for name in _CLASSES
}
_IDLE: dict[str, Any] = {
    "color": KIND["idle"],
    "edgecolor": FAINT,
    "linewidth": 0.5,
    "label": "on an idle CPU",
}
_PARTS |= {"from_idle": _IDLE}
_STATES = {
    "own": "ran itself",
    "network": "network softirqs in its context",
    "other": "other interrupts on top of it",
    "waited": "waited for a CPU",
    "asleep": "slept",
}
_REST = "before its first event, after its last"
_CURVES = (KIND["softirq"], PART["stolen_network"], KIND["softirq_other"], PART["stolen_other"])
_REASONS = {
    "wake-up": ("after a wake-up", "-"),
    "runnable": ("after leaving a CPU runnable", (0, (4, 2))),
}


def softirqs_by_task(ax: Axes, rows: pd.DataFrame, network: Collection[str]) -> None:
    # Draw in whose context softirqs ran: a bar per task, by cost class. rows: of softirq_time() by
    # tid. network: the actions that are network. The idle task's bar is last; the smallest are one
    # bar together.
    tid = rows["tid"].astype("Int64")
    names = rows["comm"].map(lambda name: short(name, 20)) + " " + tid.astype(str)
    names = names.mask((tid == 0).fillna(False).to_numpy(dtype=bool), "idle")
    stolen, is_network = rows["cost_class"] == "stolen", rows["action"].isin(network)
    part = rows["cost_class"].astype(object).mask(stolen & is_network, "stolen_network")
    part = part.mask(stolen & ~is_network, "stolen_other")
    part = part.where(part.isin(_PARTS), "from_idle")
    ns = rows["ns"].groupby([names, part]).sum().unstack(fill_value=0)
    ns = ns.reindex(columns=list(_PARTS), fill_value=0)
    tasks = ns.sum(axis=1).sort_values(ascending=False).index.drop("idle", errors="ignore")
    shown = list(tasks[:_ROWS])
    if others := list(tasks[_ROWS:]):
        shown.append(plural(len(others), "other"))
        ns.loc[shown[-1]] = ns.loc[others].sum()
    shown += [name for name in ns.index if name == "idle"]
    unit_ns, unit = time_unit(int(ns.loc[shown].sum(axis=1).max()))
    ends = stacked_bars(ax, ns.loc[shown] / unit_ns, _PARTS, 0.72)
    label_rows(ax, [short(name, 26) for name in shown])
    for row, end in enumerate(ends):
        beside(ax, duration(end * unit_ns), end, row, 4, color=INK)
    ax.set_xlim(0, 1.14 * max(ends.max(), 1e-9))
    ax.set_xlabel(f"softirq time, {unit}")
    legend_above(ax, columns=5)


def endpoints(ax: Axes, frame: pd.DataFrame, duration_ns: int) -> None:
    # Draw how client and server spent the window, side by side. frame: client_and_server().
    # duration_ns: of the window, which is 100 %. What is left of it, because the task was not there
    # or slept at an edge of the window, is hatched.
    other = frame["on_cpu_ns"] - frame["task_ns"] - frame["network_softirq_ns"]
    columns = (frame["task_ns"], frame["network_softirq_ns"], other.clip(lower=0),
               frame["waited_ns"], frame["asleep_between_ns"])  # fmt: skip
    widths = pd.concat([one.astype("Float64") for one in columns], axis=1, keys=list(_STATES))
    widths = 100 * widths.fillna(0).astype("float64") / max(duration_ns, 1)
    widths["rest"] = (100 - widths.sum(axis=1)).clip(lower=0)
    looks: dict[str, dict[str, Any]] = {
        state: {"color": TASK_STATE[state], "label": name} for state, name in _STATES.items()
    }
    if (widths["rest"] >= 1).any():
        # A task that sleeps to the window's end looks like one that has gone.
        known = frame["asleep_between_ns"].notna().all()
        looks["rest"] = {"color": "none", "edgecolor": FAINT, "hatch": "///", "linewidth": 0,
                         "label": _REST if known else "not known"}  # fmt: skip
    names = [
        f"{side}: {short(comm, 14)}\n{'' if pd.isna(tid) else int(tid)}"
        for side, comm, tid in zip(frame["side"], frame["comm"], frame["tid"], strict=True)
    ]
    ends = stacked_bars(ax, widths, looks, 0.6)
    label_rows(ax, names)
    middles = widths.cumsum(axis=1) - widths / 2
    for state in _STATES:
        tint = "white" if state in ("network", "other") else INK
        for row, (at, width) in enumerate(zip(middles[state], widths[state], strict=True)):
            if width >= 4:
                ax.annotate(f"{width:.0f} %", (at, row), ha="center", va="center", color=tint)
    ax.set_xlim(0, max(100.0, float(ends.max())))
    ax.set_xlabel("share of the window, %")
    legend_above(ax, columns=3)


def waits(ax: Axes, rows: pd.DataFrame) -> None:
    # Draw how long tasks waited for a CPU: the share of waits that were as long or longer. rows:
    # tid, comm, waited_after, low and high (ends of a bin of lengths, ns), count of some tasks, a
    # curve for each and what it waited after.
    tasks = rows.groupby(["tid", "comm"])["count"].sum().sort_values(ascending=False)
    for color, (tid, comm) in zip(_CURVES, tasks.index, strict=False):
        own = rows[((rows["tid"] == tid) & (rows["comm"] == comm)).to_numpy(dtype=bool)]
        for after, (name, style) in _REASONS.items():
            some = own[(own["waited_after"] == after).to_numpy(dtype=bool)].sort_values("low")
            count = some["count"].astype("int64")
            whole = int(count.sum())
            if whole < 2:
                continue
            ns = (some["low"].astype("float64") + some["high"].astype("float64")) / 2
            ax.step(
                ns.clip(lower=100) / 1e3,
                100 * (whole - count.cumsum() + count) / whole,
                where="post",
                color=color,
                linestyle=style,
                label=f"{short(comm, 16)} {tid}, {name} ({whole:,})",
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:g}")
    ax.set_ylim(top=130)
    ax.set_xlabel("waited for a CPU, µs (log scale)")
    ax.set_ylabel("waits as long or longer, %")
    ax.grid(True)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)

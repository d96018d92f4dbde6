"""Pictures of processes: each takes tidy DataFrames and an Axes."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...plots.marks import legend_above, short
from ...plots.palette import FAINT, INK, KIND, PART, PART_NAMES, TASK_STATE, time_unit
from ...units import duration, plural

_ROWS = 9
# Of softirq time, in the order they are stacked.
_PARTS = (
    *("synchronous", "stolen_network", "stolen_other", "stolen_or_synchronous", "scheduled"),
    "from_idle",
)
_NETWORK = ("NET_RX", "NET_TX", "RPS dispatch", "NAPI thread")
_UNSEEN = "before its first event, after its last"


def softirqs_by_task(ax: Axes, rows: pd.DataFrame) -> None:
    # Draw in whose context softirqs ran: a bar per task, by cost class. rows: of softirq_time() by
    # tid. The idle task's bar is last; the smallest are one bar together.
    rows = rows.assign(of=_labels(rows), part=_part(rows))
    order = rows.groupby("of")["ns"].sum().sort_values(ascending=False)
    idle = [name for name in order.index if name == "idle"]
    order = order.drop(idle)
    shown = list(order.index[:_ROWS])
    if len(order) > _ROWS:
        shown.append(plural(len(order) - _ROWS, "other"))
        rows.loc[rows["of"].isin(order.index[_ROWS:]), "of"] = shown[-1]
    shown += idle
    unit_ns, unit = time_unit(int(rows.groupby("of")["ns"].sum().max()) if len(rows) else 1)
    base = np.zeros(len(shown))
    for part in _PARTS:
        ns = rows[(rows["part"] == part).to_numpy()].groupby("of")["ns"].sum()
        width = ns.reindex(shown, fill_value=0).to_numpy() / unit_ns
        if not width.any():
            continue
        look = (
            {"color": KIND["idle"], "edgecolor": FAINT, "linewidth": 0.5}
            if part == "from_idle"
            else {"color": PART[part]}
        )
        name = "on an idle CPU" if part == "from_idle" else PART_NAMES[part]
        ax.barh(np.arange(len(shown)), width, 0.72, left=base, label=name, **look)
        base = base + width
    for row, end in enumerate(base):
        ax.annotate(
            duration(end * unit_ns),
            (end, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=INK,
        )
    ax.set_yticks(np.arange(len(shown)), [short(name, 26) for name in shown])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.14 * max(base.max(initial=0), 1e-9))
    ax.set_xlabel(f"softirq time, {unit}")
    legend_above(ax, columns=5)


def endpoints(ax: Axes, frame: pd.DataFrame, duration_ns: int) -> None:
    # Draw how client and server spent the window, side by side. frame: client_and_server().
    # duration_ns: of the window, which is 100 %. What is left of it, because the task was not there
    # or slept at an edge of the window, is hatched.
    other = frame["on_cpu_ns"] - frame["task_ns"] - frame["network_softirq_ns"]
    parts = (
        ("own", "ran itself", frame["task_ns"]),
        ("network", "network softirqs in its context", frame["network_softirq_ns"]),
        ("other", "other interrupts on top of it", other.clip(lower=0)),
        ("waited", "waited for a CPU", frame["waited_ns"].astype("Int64").fillna(0)),
        ("asleep", "slept", frame["asleep_between_ns"].astype("Int64").fillna(0)),
    )
    base = np.zeros(len(frame))
    for state, name, ns in parts:
        width = 100 * ns.to_numpy(dtype="float64") / max(duration_ns, 1)
        color = TASK_STATE[state]
        ax.barh(np.arange(len(frame)), width, 0.6, left=base, color=color, label=name)
        tint = "white" if state in ("network", "other") else INK
        for row, (left, wide) in enumerate(zip(base, width, strict=True)):
            if wide >= 4:
                at = (left + wide / 2, row)
                ax.annotate(f"{wide:.0f} %", at, ha="center", va="center", color=tint)
        base = base + width
    unseen = np.clip(100 - base, 0, None)
    if (unseen >= 1).any():
        # A task that sleeps to the window's end looks like one that has gone.
        ax.barh(
            np.arange(len(frame)),
            unseen,
            0.6,
            left=base,
            color="none",
            edgecolor=FAINT,
            hatch="///",
            linewidth=0,
            label=_UNSEEN if frame["asleep_between_ns"].notna().all() else "not known",
        )
    names = [
        f"{side}: {short(comm, 14)}\n{'' if pd.isna(tid) else int(tid)}"
        for side, comm, tid in zip(frame["side"], frame["comm"], frame["tid"], strict=True)
    ]
    ax.set_yticks(np.arange(len(frame)), names)
    ax.invert_yaxis()
    ax.set_xlim(0, max(100.0, float(base.max(initial=0))))
    ax.set_xlabel("share of the window, %")
    legend_above(ax, columns=3)


def waits(ax: Axes, rows: pd.DataFrame) -> None:
    # Draw how long tasks waited for a CPU: the share of waits that were longer. rows: tid, comm,
    # waited_after, low and high (ends of a bin of lengths, ns), count of some tasks, a curve for
    # each and what it waited after.
    colors = [KIND["softirq"], PART["stolen_network"], KIND["softirq_other"], PART["stolen_other"]]
    styles = {"wake-up": "-", "runnable": (0, (4, 2))}
    tasks = rows.groupby(["tid", "comm"])["count"].sum().sort_values(ascending=False)
    named = {"wake-up": "after a wake-up", "runnable": "after leaving a CPU runnable"}
    for color, (tid, comm) in zip(colors, tasks.index, strict=False):
        own = rows[((rows["tid"] == tid) & (rows["comm"] == comm)).to_numpy(dtype=bool)]
        for after, name in named.items():
            some = own[(own["waited_after"] == after).to_numpy(dtype=bool)].sort_values("low")
            count = some["count"].to_numpy("int64")
            whole = int(count.sum())
            if whole < 2:
                continue
            # So many are as long or longer.
            longer = 100 * (whole - np.cumsum(count) + count) / whole
            ns = (some["low"].to_numpy("float64") + some["high"].to_numpy("float64")) / 2
            ax.step(
                np.maximum(ns, 100) / 1e3,
                longer,
                where="post",
                color=color,
                linestyle=styles[after],
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


def _part(rows: pd.DataFrame) -> "pd.Series[str]":
    part, stolen = rows["cost_class"].astype(object), rows["cost_class"] == "stolen"
    network = rows["action"].isin(_NETWORK)
    part = part.mask(stolen & network, "stolen_network").mask(stolen & ~network, "stolen_other")
    return part.where(part.isin(_PARTS), "from_idle")


def _labels(rows: pd.DataFrame) -> "pd.Series[str]":
    tid = rows["tid"].astype("Int64")
    names = rows["comm"].map(lambda name: short(name, 20)) + " " + tid.astype(str)
    return names.mask((tid == 0).fillna(False).to_numpy(dtype=bool), "idle")

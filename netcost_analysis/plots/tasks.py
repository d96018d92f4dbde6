# Tasks: how they spent a window, their waits for a CPU, their migrations and the effects of these.

from collections.abc import Collection
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from ..units import duration, plural
from .marks import beside, interval, intervals, label_rows, legend_above, short, stacked_bars
from .palette import CAUSE, FAINT, INK, KIND, PART, PART_NAMES, TASK_STATE, time_unit

_ROWS = 9
# Cost classes of softirq time, in stacking order.
_CLASSES = ("synchronous", "stolen_network", "stolen_other", "stolen_or_synchronous", "scheduled")
_PARTS: dict[str, dict[str, Any]] = {
    name: {"color": PART[name], "label": PART_NAMES[name]} for name in _CLASSES
}
_IDLE: dict[str, Any] = {"color": KIND["idle"], "edgecolor": FAINT, "linewidth": 0.5}
_PARTS["from_idle"] = _IDLE | {"label": "on an idle CPU"}
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
    # Draw in whose context softirqs ran: a bar per task, by cost class. rows: softirq_time() by
    # tid. network: the network actions. The smallest tasks share a bar; the idle task's is last.
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
    # duration_ns: of the window, which is 100 %. The hatched rest is time before the task's first
    # event and after its last: it was absent, or slept.
    other = frame["on_cpu_ns"] - frame["task_ns"] - frame["network_softirq_ns"]
    columns = (frame["task_ns"], frame["network_softirq_ns"], other.clip(lower=0),
               frame["waited_ns"], frame["asleep_between_ns"])  # fmt: skip
    widths = pd.concat([column.astype("Float64") for column in columns], axis=1, keys=list(_STATES))
    widths = 100 * widths.fillna(0).astype("float64") / max(duration_ns, 1)
    widths["rest"] = (100 - widths.sum(axis=1)).clip(lower=0)
    looks: dict[str, dict[str, Any]] = {
        state: {"color": TASK_STATE[state], "label": name} for state, name in _STATES.items()
    }
    if (widths["rest"] >= 1).any():
        # A task that sleeps until the window's end looks like one that has exited.
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
    # Draw how long tasks waited for a CPU: the share of waits of at least a length. There is a
    # curve for each task and value of waited_after. rows: tid, comm, waited_after, low and high
    # (ends of a bin, ns), and count.
    tasks = rows.groupby(["tid", "comm"])["count"].sum().sort_values(ascending=False)
    for color, (tid, comm) in zip(_CURVES, tasks.index, strict=False):
        task = rows[((rows["tid"] == tid) & (rows["comm"] == comm)).to_numpy(dtype=bool)]
        for after, (name, style) in _REASONS.items():
            bins = task[(task["waited_after"] == after).to_numpy(dtype=bool)].sort_values("low")
            count = bins["count"].astype("int64")
            total = int(count.sum())
            if total < 2:
                continue
            ns = (bins["low"].astype("float64") + bins["high"].astype("float64")) / 2
            ax.step(
                ns.clip(lower=100) / 1e3,
                100 * (total - count.cumsum() + count) / total,
                where="post",
                color=color,
                linestyle=style,
                label=f"{short(comm, 16)} {tid}, {name} ({total:,})",
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


_MOST_NAMES = 10
# Colour and mark of each cause. The mark distinguishes them without colours.
CAUSES = {
    "wake-up": (CAUSE["wake-up"], "o"),
    "balance": (CAUSE["balance"], "s"),
    "stopper": (CAUSE["stopper"], "^"),
    "stopper: exec": (CAUSE["stopper: exec"], "x"),
}
_MEASURES = {
    "run": ("ran itself, share of the window", KIND["softirq"], 100, "points"),
    "wait": ("waited for a CPU, share of the window", PART["stolen_network"], 100, "points"),
    "softirq": ("softirqs, share of its time on CPU", KIND["softirq_other"], 100, "points"),
    "ipc": ("instructions per cycle", INK, 1, ""),
}
_EFFECT = ("effect", "effect_low", "effect_high")


def moves(
    ax: Axes, rows: pd.DataFrame, window: tuple[int, int], first: tuple[int, ...] = ()
) -> None:
    """Draw when tasks were migrated, and why.

    rows: from migrations(). window: begin and end, ns; the axis counts from its begin. first: tids
    whose rows come first; the others are by name, the most often migrated first.
    """
    is_first = rows["tid"].isin(first)
    names = rows["comm"].map(lambda name: short(name, 18))
    names = names.mask(is_first, names + " " + rows["tid"].astype(str))
    of_first = rows[is_first.to_numpy()].assign(of=names[is_first])
    counts = names[~is_first].value_counts()
    on_top = [name for tid in first for name in of_first["of"][of_first["tid"] == tid].unique()]
    shown = [*on_top, *counts.index[: max(_MOST_NAMES - len(on_top), 1)]]
    if len(counts) > _MOST_NAMES - len(on_top):
        rest = ~names.isin(shown)
        shown.append(plural(len(counts) - (_MOST_NAMES - len(on_top)), "other name"))
        names = names.mask(rest, shown[-1])
    place = names.map({name: row for row, name in enumerate(shown)})
    unit_ns, unit = time_unit(window[1] - window[0])
    for cause, (color, mark) in CAUSES.items():
        here = (rows["cause"] == cause).to_numpy()
        if here.any():
            ax.scatter(
                (rows["time_ns"][here] - window[0]) / unit_ns,
                place[here],
                s=22,
                marker=mark,
                color=color,
                linewidths=1,
                label=f"{cause} ({int(here.sum()):,})",
            )
    total = names.value_counts()
    labels = [f"{name} ({total.get(name, 0):,})" for name in shown]
    label_rows(ax, labels)
    ax.set_xlim(0, max((window[1] - window[0]) / unit_ns, 1e-9))
    ax.set_xlabel(f"time since the window's start, {unit}")
    ax.grid(axis="y")
    legend_above(ax)


def effects(ax: Axes, rows: pd.DataFrame, measure: str) -> None:
    """Draw the effect of migrations on one measure, with its interval, by length of the window.

    rows: from migration_effect(), for one cause.
    """
    name, color, scale, unit = _MEASURES[measure]
    shown = rows[(rows["measure"] == measure).to_numpy()].sort_values("width_ns")
    names, figures = [], []
    for place, row in enumerate(shown.to_dict("records")):
        unit_ns, of = time_unit(2 * int(row["width_ns"]))
        names.append(f"{row['width_ns'] / unit_ns:g} {of} (n={row['studied']:,})")
        if pd.isna(row["effect"]):
            ax.annotate("not known", (0, place), (5, 0), textcoords="offset points", va="center")
        else:
            figures.append(interval(place, row, _EFFECT, color, scale, markersize=4))
    intervals(ax, names, figures)
    ends = [abs(end) for figure in figures for end in (figure.low, figure.high)]
    reach = 1.15 * max(ends, default=1.0)
    ax.set_xlim(-max(reach, 1e-3), max(reach, 1e-3))
    ax.set_title(name, fontsize=9.5, fontweight="normal")
    ax.set_xlabel(f"effect, {unit}" if unit else "effect")
    ax.grid(axis="x")

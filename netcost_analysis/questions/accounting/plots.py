# The accounts of a victim's time, what lies between them, and how well it is predicted.

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ...plots.marks import label_rows, legend_above
from ...plots.palette import ESTIMATE, FAINT, HATCH, INK, KIND, TASK, UNKNOWN
from ...units import share

NAMES = {
    "task_stat": "top: utime + stime",
    "schedstat": "scheduler's run time",
    "cgroup_stat": "its cgroup's cpu.stat",
    "traced": "trace: its own segments",
    "traced_and_hidden": "trace and hidden cost",
    "times": "its clock: times(2)",
    "cpu_stat": "/proc/stat: user of its CPU",
    "mpstat": "mpstat: %usr of its CPU",
    "work": "work done against baseline",
}
_KIND_COLORS = {
    "tasks": TASK,
    "soft": KIND["softirq"],
    "irq": KIND["hardirq"],
    "idle": KIND["idle"],
    "steal": INK,
    "unknown": UNKNOWN,
}
_KIND_NAMES = {"tasks": "tasks", "soft": "softirqs", "irq": "interrupts"}
_ACCOUNTS = {"cpu_stat": "/proc/stat", "mpstat": "mpstat", "traced": "trace"}
_PREDICTORS = {
    "ticks": "its clock (ticks)",
    "traced": "trace alone",
    "traced_and_hidden": "trace and hidden cost",
    "counted": "counters × traced price",
    "counted_and_hidden": "counters × traced price and hidden cost",
}
_MARKERS = {"ticks": "o", "traced": "s", "hidden": "^"}
# Room for a label outside a bar, in per cent of the axis.
_SHORT = 14


def accounts(ax: Axes, table: pd.DataFrame) -> None:
    """Draw what each account says the victim got, with a line at what its work says."""
    known = table["got_share"].dropna()
    names = [name for name in NAMES if name in known.index]
    for place, name in enumerate(names):
        got = 100 * float(known[name])
        color = ESTIMATE["work"] if name == "work" else TASK
        ax.barh(place, got, 0.64, color=color, edgecolor=FAINT, linewidth=0.5)
        step = 100 * float(table["resolution_share"].astype(float)[name])
        if step >= 0.2:
            ax.errorbar(got, place, xerr=step, color=INK, capsize=2.5, linewidth=0.9)
        inside = got > _SHORT
        ax.annotate(
            share(known[name]),
            (0 if inside else got + max(step, 0), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color="white" if inside and name == "work" else INK,
            fontweight="bold",
        )
    if "work" in known:
        ax.axvline(100 * float(known["work"]), color=ESTIMATE["work"], linewidth=1, linestyle="--")
    label_rows(ax, [NAMES[name] for name in names])
    ax.set_xlim(0, 105)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)


def cpu_kinds(ax: Axes, table: pd.DataFrame) -> None:
    """Draw where the CPU's time went by each account, stacked. table: of cpu_accounts."""
    shown = table.dropna(subset=["tasks_share"])
    widths = 100 * shown[[f"{kind}_share" for kind in _KIND_COLORS]].fillna(0)
    lefts = widths.cumsum(axis=1) - widths
    patches = []
    for column, (kind, color) in zip(widths, _KIND_COLORS.items(), strict=True):
        width, left = widths[column].to_numpy(), lefts[column].to_numpy()
        drawn = np.flatnonzero(width > 0)
        hatch = HATCH if kind == "unknown" else None
        ax.barh(drawn, width[drawn], 0.62, left[drawn], color=color, edgecolor=FAINT,
                linewidth=0.5, hatch=hatch)  # fmt: skip
        if (width > 0.3).any():
            patches.append(Patch(color=color, label=_KIND_NAMES.get(kind, kind)))
    label_rows(ax, [_ACCOUNTS[str(name)] for name in shown.index])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of the CPU's time, %")
    ax.spines["left"].set_visible(False)
    legend_above(ax, patches, len(patches))


def gap(ax: Axes, runs: pd.DataFrame, coefficients: pd.DataFrame) -> None:
    """Draw what traced runs lost beyond traced time over their interrupts, and the line fitted."""
    traced = runs[runs["run"] == "load_traced"]
    points = 100 * (traced["by_trace_share"] - traced["by_work_share"])
    thousand = traced["cpu_interrupts_per_s"] / 1000
    several = traced["condition"].astype(str).str.contains("x")
    for mask, marker, label in (
        (~several, "o", "datagrams sent one at a time"),
        (several, "^", "several at a time"),
    ):
        if mask.any():
            ax.plot(thousand[mask], points[mask], marker, color=ESTIMATE["hidden"], alpha=0.8,
                    markersize=5.5, label=label)  # fmt: skip
    row = coefficients.loc["hidden_ns"].astype(float)
    ends = np.array([0.0, float(thousand.max()) * 1.05])
    per_ns = ends * 1000 / 1e9 * 100
    ax.plot(ends, row["value"] * per_ns, color=INK, linewidth=1.2,
            label=f"{row['value'] / 1000:.1f} µs for each interrupt")  # fmt: skip
    if np.isfinite(row["low"]):
        ax.fill_between(ends, row["low"] * per_ns, row["high"] * per_ns, color=FAINT, alpha=0.2,
                        linewidth=0, label="95 % interval")  # fmt: skip
    ax.axhline(0, color=FAINT, linewidth=0.7)
    ax.set_xlim(0, float(ends[1]) or 1)
    ax.set_xlabel("interrupts of the victim's CPU, thousands/s")
    ax.set_ylabel("lost beyond traced time,\npercentage points")
    ax.legend(loc="upper left")


def predicted(ax: Axes, table: pd.DataFrame, run: str) -> None:
    """Draw predicted against measured loss of runs that were not learnt from, five points shaded.

    run: load_traced or load.
    """
    shown = table[table["run"] == run]
    top, most = 5.0, 1.0
    for predictor, rows in shown.groupby("predictor", sort=False):
        role = _role(str(predictor))
        color, marker = ESTIMATE[role], _MARKERS[role]
        lost, said = 100 * rows["lost_share"], 100 * rows["predicted_share"]
        ax.plot(lost, said, marker, color=color, markersize=5, alpha=0.8, linestyle="none",
                label=_PREDICTORS[str(predictor)])  # fmt: skip
        top, most = max(top, float(said.max())), max(most, float(lost.max()))
    ends = np.array([0.0, most * 1.08])
    ax.plot(ends, ends, color=INK, linewidth=0.9)
    ax.fill_between(ends, ends - 5, ends + 5, color=FAINT, alpha=0.18, linewidth=0,
                    label="within 5 points")  # fmt: skip
    ax.set_xlim(0, float(ends[1]))
    # Room for the legend above.
    ax.set_ylim(0, max(top, float(ends[1])) * 1.45)
    ax.set_xlabel("lost by work done, % of wall time")
    ax.set_ylabel("predicted, % of wall time")
    ax.legend(loc="upper left", fontsize=8.5)


def _role(predictor: str) -> str:
    # Its colour: ticks, what tracepoints enclose, or that with the hidden cost.
    if predictor == "ticks":
        return "ticks"
    return "hidden" if predictor.endswith("hidden") else "traced"


def prediction_errors(ax: Axes, table: pd.DataFrame) -> None:
    """Draw each prediction's error as a point, a row for each predictor and kind of run."""
    rows = list(table.groupby(["run", "predictor"], sort=False))
    names = []
    for place, ((run, predictor), part) in enumerate(rows):
        error = 100 * part["error_share"].to_numpy(float)
        spread = 0.5 * (np.arange(len(error)) / max(len(error) - 1, 1) - 0.5)
        ax.plot(error, place + spread, "o", color=ESTIMATE[_role(str(predictor))], markersize=3.5,
                alpha=0.75)  # fmt: skip
        kind = "traced run" if run == "load_traced" else "untraced run"
        names.append(f"{kind}: {_PREDICTORS[str(predictor)]}")
    ax.axvspan(-5, 5, color=FAINT, alpha=0.18, linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.9)
    label_rows(ax, names)
    ax.set_xlabel("predicted less measured loss, percentage points (shaded: within 5)")

# The accounts of a victim's time, what lies between them, and how well it is predicted.

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...display.templates import environment
from ...plots.marks import label_rows, legend_above, stacked_bars
from ...plots.palette import ESTIMATE, FAINT, HATCH, INK, KIND, TASK, UNKNOWN
from ...units import share

# The names of accounts, as the words have them.
_NAMES = "questions/accounting/account_names.md"
_KINDS = {
    "tasks": (TASK, "tasks"),
    "soft": (KIND["softirq"], "softirqs"),
    "irq": (KIND["hardirq"], "interrupts"),
    "idle": (KIND["idle"], "idle"),
    "steal": (INK, "steal"),
    "unknown": (UNKNOWN, "unknown"),
}
_ACCOUNTS = {"cpu_stat": "/proc/stat", "mpstat": "mpstat", "traced": "trace"}
_PREDICTORS = {
    "ticks": "its clock (ticks)",
    "traced": "trace alone",
    "traced_and_hidden": "trace and hidden cost",
    "counted": "counters × traced price",
    "counted_and_hidden": "counters × traced price and hidden cost",
}
# Of the bars of accounts: what counts the task, the trace, what counts its CPU, its work.
_ORDER = (
    *("task_stat", "schedstat", "cgroup_stat", "traced", "traced_and_hidden", "times"),
    *("cpu_stat", "mpstat", "work"),
)
_MARKERS = {"ticks": "o", "traced": "s", "hidden": "^"}
# Room for a label outside a bar, in per cent of the axis.
_SHORT = 14


def accounts(ax: Axes, table: pd.DataFrame) -> None:
    """Draw what each account says the victim got, with a line at what its work says."""
    known = table.dropna(subset=["got_share"])
    known = 100 * known[["got_share", "resolution_share"]].astype(float)
    known = known.loc[[name for name in _ORDER if name in known.index]]
    for place, (name, got, step) in enumerate(known.itertuples()):
        color = ESTIMATE["work"] if name == "work" else TASK
        ax.barh(place, got, 0.64, color=color, edgecolor=FAINT, linewidth=0.5)
        if step >= 0.2:
            ax.errorbar(got, place, xerr=step, color=INK, capsize=2.5, linewidth=0.9)
        inside = got > _SHORT
        ax.annotate(
            share(got / 100),
            (0 if inside else got + max(step, 0), place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color="white" if inside and name == "work" else INK,
            fontweight="bold",
        )
    if "work" in known.index:
        work = float(known["got_share"]["work"])
        ax.axvline(work, color=ESTIMATE["work"], linewidth=1, linestyle="--")
    names: Any = environment().get_template(_NAMES).module
    label_rows(ax, [names.name(account).strip() for account in known.index])
    ax.set_xlim(0, 105)
    ax.set_xlabel("share of wall time the victim got, %")
    ax.spines["left"].set_visible(False)


def cpu_kinds(ax: Axes, table: pd.DataFrame) -> None:
    """Draw where the CPU's time went by each account, stacked. table: of cpu_accounts."""
    shown = 100 * table.dropna(subset=["tasks_share"]).fillna(0)
    edge = {"edgecolor": FAINT, "linewidth": 0.5}
    looks: dict[str, dict[str, Any]] = {
        f"{kind}_share": {"color": color, "label": name, **edge}
        for kind, (color, name) in _KINDS.items()
    }
    looks["unknown_share"]["hatch"] = HATCH
    stacked_bars(ax, shown, looks, 0.62)
    label_rows(ax, [_ACCOUNTS[str(name)] for name in shown.index])
    ax.set_xlim(0, 100)
    ax.set_xlabel("share of the CPU's time, %")
    ax.spines["left"].set_visible(False)
    legend_above(ax, columns=len(looks))


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
            look: dict[str, Any] = {"color": ESTIMATE["hidden"], "alpha": 0.8, "markersize": 5.5}
            ax.plot(thousand[mask], points[mask], marker, label=label, **look)
    row = coefficients.astype(float).to_dict("index")["hidden_ns"]
    end = float(thousand.max()) * 1.05
    value, low, high = (row[name] * end / 1e4 for name in ("value", "low", "high"))
    label = f"{row['value'] / 1000:.1f} µs for each interrupt"
    ax.plot([0, end], [0, value], color=INK, linewidth=1.2, label=label)
    if np.isfinite(low):
        band: dict[str, Any] = {"color": FAINT, "alpha": 0.2, "linewidth": 0}
        ax.fill_between([0, end], [0, low], [0, high], label="95 % interval", **band)
    ax.axhline(0, color=FAINT, linewidth=0.7)
    ax.set_xlim(0, end or 1)
    ax.set_xlabel("interrupts of the victim's CPU, thousands/s")
    ax.set_ylabel("lost beyond traced time,\npercentage points")
    ax.legend(loc="upper left")


def predicted(ax: Axes, table: pd.DataFrame, run: str) -> None:
    """Draw predicted against measured loss of runs that were not learnt from, five points shaded.

    run: load_traced or load.
    """
    shown = table[table["run"] == run]
    for predictor, rows in shown.groupby("predictor", sort=False):
        role = _role(str(predictor))
        look: dict[str, Any] = {"color": ESTIMATE[role], "markersize": 5, "alpha": 0.8}
        lost, loss_predicted = 100 * rows["lost_share"], 100 * rows["predicted_share"]
        ax.plot(lost, loss_predicted, _MARKERS[role], label=_PREDICTORS[str(predictor)], **look)
    end = 1.08 * float(np.nanmax([100 * shown["lost_share"].max(), 1]))
    top = float(np.nanmax([100 * shown["predicted_share"].max(), 5, end]))
    ax.plot([0, end], [0, end], color=INK, linewidth=0.9)
    band: dict[str, Any] = {"color": FAINT, "alpha": 0.18, "linewidth": 0}
    ax.fill_between([0, end], [-5, end - 5], [5, end + 5], label="within 5 points", **band)
    ax.set_xlim(0, end)
    # Room for the legend above.
    ax.set_ylim(0, top * 1.45)
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
    names: list[str] = []
    for (run, predictor), part in table.groupby(["run", "predictor"], sort=False):
        error = 100 * part["error_share"].to_numpy(float)
        spread = 0.5 * (np.arange(len(error)) / max(len(error) - 1, 1) - 0.5)
        look: dict[str, Any] = {"color": ESTIMATE[_role(str(predictor))], "markersize": 3.5}
        ax.plot(error, len(names) + spread, "o", alpha=0.75, **look)
        kind = "traced run" if run == "load_traced" else "untraced run"
        names.append(f"{kind}: {_PREDICTORS[str(predictor)]}")
    ax.axvspan(-5, 5, color=FAINT, alpha=0.18, linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.9)
    label_rows(ax, names)
    ax.set_xlabel("predicted less measured loss, percentage points (shaded: within 5)")

"""The hidden cost of an interrupt, estimated on a calibration."""

import math
from typing import Any

import numpy as np

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...capture.bundle import Bundle
from ...opening.experiment import Experiment
from ...plots.palette import ESTIMATE, FAINT, INK
from .fitting import by_rate, calibration_runs, calibration_steps, fit, intervals, wide

# A calibration is disturbed where other tasks had a larger share of its CPU.
_OTHERS_LIMIT = 0.03
# One host's price of an interrupt is taken for another that is the same in these.
_SAME = ("kernel", "arch", "cpu_model", "virtualization")


@question(
    check=calibration_steps,
    main="coefficients",
    columns=("quantity", "value", "low", "high"),
    rows=0,
)
def hidden_cost(experiment: Experiment) -> Answer:
    """What an interrupt costs beyond what tracepoints enclose.

    A row per quantity, each with its 95 % interval. The fit is least squares without a constant
    over all runs of a calibration of capture/lab/hidden-cost, with a bootstrap over its bundles.
    hidden_cost_predictions judges it. Source: the experiment's runs: the victim's work, the
    counters around it, the traces' sums.
    """
    runs = calibration_runs(experiment)
    price = hidden_price(experiment)
    table = wide(runs)
    coefficients = intervals(table)
    value = coefficients["value"]
    # How much of an event's own cost lies between the tracepoints of a pair is not known: one end
    # assumes none of it, the other all.
    ends = sorted((price - float(value["event_ns"] * value["events_per_interrupt"]), price))
    host = _first_bundle(experiment).manifest.host
    names = (host.cpu_model, host.virtualization)
    return Answer(
        runs=runs,
        coefficients=coefficients,
        steal_max_share=float(runs["steal_share"].max()),
        by_rate=by_rate(table),
        untraced_low_ns=ends[0],
        untraced_high_ns=ends[1],
        others_max_share=float(runs["others_share"].max()),
        disturbed_runs=int((runs["others_share"] > _OTHERS_LIMIT).sum()),
        limit_share=_OTHERS_LIMIT,
        host=[name for name in names if name and name != "none"],
    )


def hidden_price(experiment: Experiment) -> float:
    """hidden_ns of hidden_cost(), without an interval. Raises as that does."""
    price = float(fit(wide(calibration_runs(experiment)))["hidden_ns"].iloc[0])
    if math.isnan(price):
        raise CaptureError(
            f"{experiment.path} cannot tell: no run has the victim's time in its trace "
            "(sched:sched_switch), its work and the interrupts that it met"
        )
    return price


def price_for(bundle: Bundle | None, calibration: Experiment) -> dict[str, Any]:
    """A calibration's price of an interrupt, where it can be taken for a bundle.

    hidden_ns: None where the calibration is of another host, or has no price: refused says why.
    tools: the recorders of the bundle and of the calibration, where they differ.
    """
    price: dict[str, Any] = {"hidden_ns": None, "same_host": False, "refused": None, "tools": []}
    try:
        hidden_ns = hidden_price(calibration)
        if bundle is None or not len(calibration.steps):
            return price
        manifests = bundle.manifest, _first_bundle(calibration).manifest
    except CaptureError as error:
        return price | {"refused": str(error)}
    own, its = ([getattr(one.host, key) for key in _SAME] for one in manifests)
    if not all(own) or own != its:
        return price
    tools = [one.tool for one in manifests]
    two = tools if all(tools) and tools[0] != tools[1] else []
    return price | {"hidden_ns": hidden_ns, "same_host": True, "tools": two}


def _first_bundle(experiment: Experiment) -> Bundle:
    return experiment.bundle(str(experiment.steps["bundle"].iloc[0]))


@hidden_cost.plot(title="Loss beyond traced time, by interrupt rate", height=3.4)
def _gap(ax: Axes, answer: Answer) -> None:
    runs = answer["runs"]
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
    row = answer.frame.astype(float).to_dict("index")["hidden_ns"]
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

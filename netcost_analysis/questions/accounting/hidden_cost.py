"""The hidden cost of an interrupt, estimated on a calibration."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from .calibrations import first_bundle
from .fitting import by_rate, fit, intervals, wide
from .runs import calibration_runs, calibration_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...opening.experiment import Experiment

# What other tasks may have of a calibration's CPU before it has to be said.
OTHERS_LIMIT = 0.03


@dataclass(frozen=True)
class HiddenCost:
    """What each interrupt of a calibration cost beyond what tracepoints enclose.

    Attributes
    ----------
    runs : pandas.DataFrame
        A row per run of the victim, as calibration_runs() returns them.
    coefficients : pandas.DataFrame
        A row per quantity (index: hidden_ns, event_ns, traced_interrupt_ns, traced_packet_ns,
        events_per_interrupt, events_per_packet): value, low, high (the 95 % interval).
    steal_max_share : float
        The largest steal of any run, 0 to 1.
    by_rate : pandas.DataFrame
        hidden_ns fitted at each rate alone: a row per condition.
    """

    runs: pd.DataFrame
    coefficients: pd.DataFrame
    steal_max_share: float
    by_rate: pd.DataFrame

    @property
    def others_max_share(self) -> float:
        """The most of the victim's CPU that other tasks had in a traced run; NaN if unknown."""
        return float(self.runs["others_share"].max())

    @property
    def disturbed(self) -> int:
        """In how many traced runs other tasks had more than OTHERS_LIMIT of it."""
        return len(self.runs[self.runs["others_share"] > OTHERS_LIMIT])

    @property
    def hidden_ns(self) -> float:
        """Per interrupt of a traced run, with what of tracing's own cost no pair encloses."""
        return float(self.coefficients["value"]["hidden_ns"])

    @property
    def untraced_hidden_ns(self) -> tuple[float, float]:
        """Per interrupt of an untraced run, from and to.

        Which part of the events' own cost lies between the tracepoints of a pair nobody knows:
        none of it at the lower end, all of it at the upper.
        """
        value = self.coefficients["value"]
        tracing = float(value["event_ns"] * value["events_per_interrupt"])
        low, high = self.hidden_ns - tracing, self.hidden_ns
        return min(low, high), max(low, high)


@question(
    check=calibration_steps,
    main="coefficients",
    columns=("quantity", "value", "low", "high"),
    rows=0,
)
def hidden_cost(experiment: "Experiment") -> HiddenCost:
    """What an interrupt costs beyond what tracepoints enclose.

    - experiment: Of capture/lab/hidden-cost.

    runs, coefficients (ns and events, each with its 95 % interval), steal_max_share, by_rate.

    Least squares without a constant on all runs; the interval is a bootstrap over the bundles.
    hidden_cost_predictions() judges it.

    Source: the experiment's runs: the victim's work, the counters around it, the traces' sums.
    """
    runs = calibration_runs(experiment)
    hidden_price(experiment)
    table = wide(runs)
    return HiddenCost(
        runs=runs,
        coefficients=intervals(table),
        steal_max_share=float(runs["steal_share"].max()),
        by_rate=by_rate(table),
    )


def hidden_price(experiment: "Experiment") -> float:
    """hidden_ns of hidden_cost(), without an interval. Raises as that does."""
    price = float(fit(wide(calibration_runs(experiment)))["hidden_ns"].iloc[0])
    if math.isnan(price):
        raise CaptureError(
            f"{experiment.path} cannot tell: no run has the victim's time in its trace "
            "(sched:sched_switch), its work and the interrupts that it met"
        )
    return price


class Spread(NamedTuple):
    """The prices of two rates and more, each fitted alone.

    lowest, highest: the rates with that price; fewest: the one with fewest interrupts, of which
    point_ns is what an error of one percentage point of work is for each of them.
    """

    lowest: str
    lowest_ns: float
    highest: str
    highest_ns: float
    fewest: str
    point_ns: float


class Fitted(NamedTuple):
    """The hidden cost with its interval, and what it holds; times in ns, None where unknown.

    value, low, high: of an interrupt; event: of a recorded event, with its ends, and
    events_per_interrupt. untraced: without tracing, from and to. traced_interrupt, traced_packet:
    what the trace itself has. host: of the calibration, in words. runs, rates: how many. spread:
    None for one rate. others_limit_share: what of the CPU other tasks had in disturbed runs.
    """

    value: float
    low: float
    high: float
    event: float
    event_low: float
    event_high: float
    events_per_interrupt: float
    untraced_low: float
    untraced_high: float
    traced_interrupt: float
    traced_packet: float
    host: list[str]
    runs: int
    rates: int
    spread: Spread | None
    steal_max_share: float
    others_max_share: float
    disturbed: int
    others_limit_share: float


@hidden_cost.figures
def fitted(answer: "Answer") -> Fitted:
    hidden = answer.result
    value, low, high = (hidden.coefficients[name] for name in ("value", "low", "high"))
    host = first_bundle(answer.sources["Experiment"]).manifest.host
    named = [host.cpu_model, host.virtualization]
    untraced_low, untraced_high = hidden.untraced_hidden_ns
    return Fitted(
        value=float(value["hidden_ns"]),
        low=float(low["hidden_ns"]),
        high=float(high["hidden_ns"]),
        event=float(value["event_ns"]),
        event_low=float(low["event_ns"]),
        event_high=float(high["event_ns"]),
        events_per_interrupt=float(value["events_per_interrupt"]),
        untraced_low=untraced_low,
        untraced_high=untraced_high,
        traced_interrupt=float(value["traced_interrupt_ns"]),
        traced_packet=float(value["traced_packet_ns"]),
        host=[str(one) for one in named if one and one != "none"],
        runs=len(hidden.runs[hidden.runs["run"] == "load_traced"]),
        rates=hidden.runs["condition"].nunique(),
        spread=_spread(hidden.by_rate),
        steal_max_share=hidden.steal_max_share,
        others_max_share=hidden.others_max_share,
        disturbed=hidden.disturbed,
        others_limit_share=OTHERS_LIMIT,
    )


def _spread(table: pd.DataFrame) -> Spread | None:
    if len(table) < 2:
        return None
    rows = table.sort_values("hidden_ns", kind="stable")
    few = table.iloc[int(table["cpu_interrupts_per_s"].argmin())]
    ends = [(row["condition"], row["hidden_ns"]) for _, row in rows.iloc[[0, -1]].iterrows()]
    return Spread(*ends[0], *ends[1], few["condition"], few["point_ns"])


@hidden_cost.plot(title="Loss beyond traced time by rate of interrupts", height=3.4)
def _gap(ax: "Axes", answer: "Answer") -> None:
    from .plots import gap

    gap(ax, answer.result.runs, answer.result.coefficients)

"""The hidden cost of an interrupt: estimated on a calibration, judged on what it had not seen."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ..question import question
from .fitting import by_rate, fit, intervals, wide
from .predicting import errors, predictions
from .runs import calibration_runs

if TYPE_CHECKING:
    from ...capture.experiment import Experiment

# What other tasks may have of a calibration's CPU before it has to be said.
OTHERS_LIMIT = 0.03


class Noise(NamedTuple):
    """How far by_work_share is from 1 in traced runs without a load: how many, mean and most."""

    runs: int
    mean_share: float
    most_share: float


@dataclass(frozen=True)
class HiddenCost:
    """What each interrupt of a calibration cost beyond what tracepoints enclose.

    runs: as calibration_runs returns them. coefficients: a row per quantity (value, low, high):
    hidden_ns, looking_ns, traced_interrupt_ns, traced_packet_ns, events_per_interrupt,
    events_per_packet. predicted, error_table: as predicting.predictions and errors return them.
    steal_max_share: the largest steal of any run. by_rate: as fitting.by_rate returns it.
    """

    runs: pd.DataFrame
    coefficients: pd.DataFrame
    predicted: pd.DataFrame
    error_table: pd.DataFrame
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
    def noise(self) -> Noise:
        """How far the measure itself goes from one run to the next, when nothing happens."""
        runs = self.runs
        idle = (runs["condition"] == "0") & (runs["run"] == "load_traced")
        shares = runs[(runs["run"] == "idle_traced") | idle]["by_work_share"].dropna()
        off = (shares - 1).abs()
        return Noise(len(off), float(off.mean()), float(off.max()))

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
        looking = float(value["looking_ns"] * value["events_per_interrupt"])
        low, high = self.hidden_ns - looking, self.hidden_ns
        return min(low, high), max(low, high)


@question()
def hidden_cost(series: "Experiment") -> HiddenCost:
    """What an interrupt costs beyond what tracepoints enclose, and whether it predicts other runs.

    series: of capture/lab/hidden-cost. Fits on all runs, with an interval by bootstrap over the
    bundles; and for each run once more on the runs of other rates, of other repeats and of both,
    to predict it. Raises CaptureError for an experiment without calibrations, or whose traces
    cannot tell what the victim had.
    """
    runs = calibration_runs(series)
    table = wide(runs)
    if not fit(table)["hidden_ns"].notna().all():
        raise CaptureError(
            f"{series.path} cannot tell: no run has the victim's time in its trace "
            "(sched:sched_switch), its work and the interrupts that it met"
        )
    predicted = predictions(table)
    return HiddenCost(
        runs=runs,
        coefficients=intervals(table),
        predicted=predicted,
        error_table=errors(predicted),
        steal_max_share=float(runs["steal_share"].max()),
        by_rate=by_rate(table),
    )

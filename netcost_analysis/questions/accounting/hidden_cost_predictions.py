"""Whether the hidden cost predicts what runs lost from which it was not learnt."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...errors import ArgumentError
from ...opening.experiment import Experiment
from ...plots.palette import ESTIMATE, FAINT, INK
from .fitting import calibration_runs, calibration_steps, fit, wide

# What a prediction may be off by: five percentage points of work against the baseline.
AIM_SHARE = 0.05
_COLUMNS = (
    *("bundle", "condition", "repeat", "held_out", "run", "predictor"),
    *("predicted_share", "lost_share", "error_share", "steal_share"),
)
# A run is predicted from those that differ from it in these columns.
_HELD_OUT = {"rate": ["condition"], "repeat": ["repeat"], "both": ["condition", "repeat"]}
# The predictor that each kind of run is judged by: it uses all that may be known of the run.
_BEST = {"load_traced": "traced_and_hidden", "load": "counted_and_hidden"}


@question(
    check=calibration_steps,
    columns=(
        *("run", "predictor", "runs", "mean_error_share", "mean_absolute_error_share"),
        *("largest_error_share", "within_5_points_share"),
    ),
)
def hidden_cost_predictions(
    experiment: Experiment, held_out: Literal["rate", "repeat", "both"] = "both"
) -> Answer:
    """Whether the hidden cost predicts the loss of runs that it was not fitted on.

    A row per kind of run and predictor; predicted has each prediction. For each run of a
    calibration by capture/lab/hidden-cost, the costs are fitted again on the other runs. Runs of
    the same rate, of the same repeat, or both are left out. Source: hidden_cost of the other runs.
    """
    if held_out not in _HELD_OUT:
        raise ArgumentError(f"held_out is {', '.join(_HELD_OUT)}, not {held_out!r}")
    runs = calibration_runs(experiment)
    predicted = predictions(wide(runs), held_out)
    table = errors(predicted)
    known = predicted[_is_best(predicted) & predicted["error_share"].notna()]
    order = known["error_share"].abs().sort_values(ascending=False, kind="stable").index
    # How much the measure varies from run to run when nothing happens.
    idle = (runs["condition"] == "0") & (runs["run"] == "load_traced")
    off = (runs.loc[(runs["run"] == "idle_traced") | idle, "by_work_share"].dropna() - 1).abs()
    return Answer(
        error_table=table,
        predicted=predicted,
        noise={
            "runs": len(off),
            "mean_share": float(off.mean()),
            "most_share": float(off.max()),
        },
        best=table[_is_best(table)],
        farthest=known.loc[order[:1]],
    )


def _is_best(table: pd.DataFrame) -> "pd.Series[bool]":
    return table["run"].map(_BEST) == table["predictor"]


def predictions(table: pd.DataFrame, held_out: str) -> pd.DataFrame:
    """What each run with a load lost, predicted from others.

    table: as fitting.wide returns it. Predictors of a traced run: ticks and traced, which learn
    nothing; traced_and_hidden, its own traced loss and interrupts times hidden_ns. Of an untraced
    run: ticks; counted, its own interrupts and packets times what the others' traces show of each;
    counted_and_hidden, with hidden_ns more and the cost of the events less.
    """
    rows = []
    # A run at rate 0 loses nothing: it would only make the errors look smaller.
    loaded = table[table["untraced_lost"].notna()]
    for name, run in loaded.iterrows():
        columns = _HELD_OUT[held_out]
        learnt = table[(table[columns] != run[columns]).all(axis=1)]
        if not len(learnt):
            continue
        head = (name, run["condition"], run["repeat"], held_out)
        for kind, predictor, predicted in _predicted(run, fit(learnt).iloc[0]):
            before = "" if kind == "load_traced" else "untraced_"
            lost, steal = run[f"{before}lost"], run[f"{before}steal"]
            rows.append((*head, kind, predictor, predicted, lost, predicted - lost, steal))
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    return frame.astype(dict.fromkeys(_COLUMNS[-4:], float))


def _predicted(run: pd.Series, learnt: pd.Series) -> Iterator[tuple[str, str, float]]:
    yield "load_traced", "ticks", run["ticks"]
    yield "load_traced", "traced", run["traced"]
    hidden = learnt["hidden_ns"] / 1e9
    yield "load_traced", "traced_and_hidden", run["traced"] + hidden * run["interrupts"]
    yield "load", "ticks", run["untraced_ticks"]
    interrupts, packets = run["untraced_interrupts"], run["untraced_packets"]
    counted = (
        learnt["traced_interrupt_ns"] * interrupts + learnt["traced_packet_ns"] * packets
    ) / 1e9
    yield "load", "counted", counted
    # The traced and the hidden cost include that of tracing, which an untraced run does not pay.
    events = learnt["events_per_interrupt"] * interrupts + learnt["events_per_packet"] * packets
    tracing = learnt["event_ns"] * events / 1e9
    yield "load", "counted_and_hidden", counted + hidden * interrupts - tracing


def errors(predicted: pd.DataFrame) -> pd.DataFrame:
    """How far predictions are off, by held_out, run and predictor."""
    size = predicted["error_share"].abs()
    predicted = predicted.assign(size=size, within=(size <= AIM_SHARE).where(size.notna()))
    grouped = predicted.groupby(["held_out", "run", "predictor"], sort=False)
    return grouped.agg(
        runs=("size", "count"),
        mean_error_share=("error_share", "mean"),
        mean_absolute_error_share=("size", "mean"),
        largest_error_share=("size", "max"),
        within_5_points=("within", "sum"),
        within_5_points_share=("within", "mean"),
    ).reset_index()


_PREDICTORS = {
    "ticks": "its clock (ticks)",
    "traced": "trace alone",
    "traced_and_hidden": "trace and hidden cost",
    "counted": "counters × traced price",
    "counted_and_hidden": "counters × traced price and hidden cost",
}
# Of roles in colours: ticks, what tracepoints enclose, and that with the hidden cost.
_MARKERS = {"ticks": "o", "traced": "s", "hidden": "^"}


def _role(predictor: str) -> str:
    if predictor == "ticks":
        return "ticks"
    return "hidden" if predictor.endswith("hidden") else "traced"


def _kind(run: str) -> str:
    return "traced" if run == "load_traced" else "untraced"


@hidden_cost_predictions.plot(
    title=lambda _, run: f"Predicted against measured loss of {_kind(run)} runs",
    height=4.0,
    panels=lambda answer: [
        {"run": run} for run in _BEST if (answer["predicted"]["run"] == run).any()
    ],
)
def _predicted_against(ax: Axes, answer: Answer, run: str) -> None:
    shown = answer["predicted"]
    shown = shown[shown["run"] == run]
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
    ax.set_title(f"{_kind(run).capitalize()} runs")


@hidden_cost_predictions.plot(
    "errors",
    title="Errors of the predictions",
    height=2.6,
    panels=lambda answer: [{}] if len(answer["predicted"]) else [],
)
def _errors(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import label_rows

    names: list[str] = []
    for (run, predictor), part in answer["predicted"].groupby(["run", "predictor"], sort=False):
        error = 100 * part["error_share"].to_numpy(float)
        spread = 0.5 * (np.arange(len(error)) / max(len(error) - 1, 1) - 0.5)
        look: dict[str, Any] = {"color": ESTIMATE[_role(str(predictor))], "markersize": 3.5}
        ax.plot(error, len(names) + spread, "o", alpha=0.75, **look)
        names.append(f"{_kind(str(run))} run: {_PREDICTORS[str(predictor)]}")
    ax.axvspan(-5, 5, color=FAINT, alpha=0.18, linewidth=0)
    ax.axvline(0, color=INK, linewidth=0.9)
    label_rows(ax, names)
    ax.set_xlabel("predicted less measured loss, percentage points (shaded: within 5)")

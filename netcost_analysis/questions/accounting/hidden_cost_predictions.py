"""Whether the hidden cost predicts what runs lost from which it was not learnt."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import pandas as pd

from ...answers.question import question
from ...errors import ArgumentError
from .fitting import fit, wide
from .runs import Noise, calibration_runs, calibration_steps, noise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer
    from ...opening.experiment import Experiment

# What a prediction may be off by: five percentage points of work against the baseline.
AIM_SHARE = 0.05
_SHARES = ("predicted_share", "lost_share", "error_share", "steal_share")
# Which runs the one that is predicted may not be learnt from.
_LEFT_OUT: dict[str, Callable[[pd.DataFrame, pd.Series], "pd.Series[bool]"]] = {
    "rate": lambda table, one: table["condition"] == one["condition"],
    "repeat": lambda table, one: table["repeat"] == one["repeat"],
    "both": lambda table, one: (
        (table["condition"] == one["condition"]) | (table["repeat"] == one["repeat"])
    ),
}
# By which a run of either kind is judged: all that may be known of it.
_BEST = {"load_traced": "traced_and_hidden", "load": "counted_and_hidden"}


@dataclass(frozen=True)
class Predictions:
    """Predictions of what runs lost. error_table, predicted: as errors and predictions return."""

    error_table: pd.DataFrame
    predicted: pd.DataFrame


@question(
    check=calibration_steps,
    columns=(
        *("run", "predictor", "runs", "mean_error_share", "mean_absolute_error_share"),
        *("largest_error_share", "within_5_points_share"),
    ),
)
def hidden_cost_predictions(
    experiment: "Experiment", held_out: Literal["rate", "repeat", "both"] = "both"
) -> Predictions:
    """Whether the hidden cost predicts what runs lost from which it was not learnt.

    - experiment: Of capture/lab/hidden-cost.
    - held_out: Which runs a prediction may not know: those of the same rate, of the same repeat, or
      both.

    error_table: a row per held_out, run and predictor, with errors as shares of wall time.
    predicted: a row per run and predictor.

    For each run the costs are fitted anew on the others.

    Source: hidden_cost of the other runs.
    """
    if held_out not in _LEFT_OUT:
        raise ArgumentError(f"held_out is {', '.join(_LEFT_OUT)}, not {held_out!r}")
    predicted = predictions(wide(calibration_runs(experiment)), held_out)
    return Predictions(errors(predicted), predicted)


def predictions(table: pd.DataFrame, held_out: str) -> pd.DataFrame:
    """What each run with a load lost, predicted from others.

    table: as fitting.wide returns it. held_out: which others. Returns a row per run and predictor:
    bundle, condition, repeat, held_out (rate: all runs of its rate; repeat: all of its repeat;
    both), run (load_traced, load), predictor, predicted_share (of wall time lost), lost_share
    (by work), error_share (predicted - lost), steal_share (of that run). Predictors of a traced
    run: ticks and traced, which learn nothing; traced_and_hidden, its own traced loss and
    interrupts times hidden_ns. Of an untraced run: ticks; counted, its own interrupts and packets
    times what the others' traces show of each; counted_and_hidden, with hidden_ns more and the cost
    of the events less.
    """
    rows = []
    # A run at rate 0 loses nothing, and would only make the errors look smaller.
    loaded = table[table["untraced_lost"].notna()]
    for name, one in loaded.iterrows():
        learnt = table[~_LEFT_OUT[held_out](table, one)]
        if not len(learnt):
            continue
        head = (name, one["condition"], one["repeat"], held_out)
        for run, predictor, predicted in _predicted(one, fit(learnt).iloc[0]):
            before = "" if run == "load_traced" else "untraced_"
            lost, steal = one[f"{before}lost"], one[f"{before}steal"]
            rows.append((*head, run, predictor, predicted, lost, predicted - lost, steal))
    return pd.DataFrame(
        rows,
        columns=[
            *("bundle", "condition", "repeat", "held_out", "run", "predictor"),
            *_SHARES,
        ],
    ).astype(dict.fromkeys(_SHARES, float))


def _predicted(one: pd.Series, learnt: pd.Series) -> Iterator[tuple[str, str, float]]:
    yield "load_traced", "ticks", one["ticks"]
    yield "load_traced", "traced", one["traced"]
    hidden = learnt["hidden_ns"] / 1e9
    yield "load_traced", "traced_and_hidden", one["traced"] + hidden * one["interrupts"]
    yield "load", "ticks", one["untraced_ticks"]
    interrupts, packets = one["untraced_interrupts"], one["untraced_packets"]
    counted = (
        learnt["traced_interrupt_ns"] * interrupts + learnt["traced_packet_ns"] * packets
    ) / 1e9
    yield "load", "counted", counted
    # Both what was traced and what was hidden hold the cost of tracing, which nobody paid here.
    events = learnt["events_per_interrupt"] * interrupts + learnt["events_per_packet"] * packets
    tracing = learnt["event_ns"] * events / 1e9
    yield "load", "counted_and_hidden", counted + hidden * interrupts - tracing


def errors(predicted: pd.DataFrame) -> pd.DataFrame:
    """How far predictions are off, by held_out, run and predictor.

    predicted: as predictions returns it. Returns columns held_out, run, predictor, runs (how many),
    mean_error_share (above 0 where too much is predicted), mean_absolute_error_share,
    largest_error_share, within_5_points (how many) and within_5_points_share.
    """
    keys = ["held_out", "run", "predictor"]
    size = predicted["error_share"].abs()
    grouped = predicted.assign(size=size, within=(size <= AIM_SHARE).where(size.notna())).groupby(
        keys, sort=False
    )
    return grouped.agg(
        runs=("size", "count"),
        mean_error_share=("error_share", "mean"),
        mean_absolute_error_share=("size", "mean"),
        largest_error_share=("size", "max"),
        within_5_points=("within", "sum"),
        within_5_points_share=("within", "mean"),
    ).reset_index()


class Verdict(NamedTuple):
    """How near the predictions of one kind of runs are; errors are shares of wall time."""

    traced: bool
    runs: int
    within_5_points: int
    mean_error_share: float
    largest_error_share: float


class Farthest(NamedTuple):
    """The prediction that is farthest off; steal_share: of that run, None where unknown."""

    traced: bool
    bundle: str
    lost_share: float
    predicted_share: float
    steal_share: float | None


class Judged(NamedTuple):
    """What the predictions are worth; farthest: None without any."""

    verdicts: list[Verdict]
    farthest: Farthest | None
    noise: Noise


@hidden_cost_predictions.totals
def _totals(answer: "Answer") -> dict[str, Noise]:
    # noise: how far runs without a load are from their baseline.
    return {"noise": noise(calibration_runs(answer.sources["Experiment"]))}


@hidden_cost_predictions.figures
def judged(answer: "Answer") -> Judged:
    table, predicted = answer.result.error_table, answer.result.predicted
    best = table[table["run"].map(_BEST) == table["predictor"]]
    verdicts = [
        Verdict(
            row["run"] == "load_traced",
            int(row["runs"]),
            int(row["within_5_points"]),
            float(row["mean_absolute_error_share"]),
            float(row["largest_error_share"]),
        )
        for row in best.to_dict("records")
    ]
    known = predicted[predicted["run"].map(_BEST) == predicted["predictor"]]
    known = known.dropna(subset=["error_share"])
    farthest = None
    if len(known):
        row = known.iloc[int(known["error_share"].abs().to_numpy().argmax())]
        shares = (float(row["lost_share"]), float(row["predicted_share"]))
        steal = None if pd.isna(row["steal_share"]) else float(row["steal_share"])
        farthest = Farthest(row["run"] == "load_traced", str(row["bundle"]), *shares, steal)
    return Judged(verdicts, farthest, answer.parts["noise"])


def _panels(answer: "Answer") -> list[dict[str, str]]:
    return [{"run": run} for run in _BEST if (answer.result.predicted["run"] == run).any()]


def _title(_: "Answer", run: str) -> str:
    kind = "traced" if run == "load_traced" else "untraced"
    return f"Predicted against measured loss of {kind} runs"


@hidden_cost_predictions.plot(title=_title, height=4.0, panels=_panels)
def _predicted_against(ax: "Axes", answer: "Answer", run: str) -> None:
    from .plots import predicted

    predicted(ax, answer.result.predicted, run)
    ax.set_title("Traced runs" if run == "load_traced" else "Untraced runs")


@hidden_cost_predictions.plot(
    "errors",
    title="Errors of the predictions",
    height=2.6,
    panels=lambda answer: [{}] if len(answer.result.predicted) else [],
)
def _errors(ax: "Axes", answer: "Answer") -> None:
    from .plots import prediction_errors

    prediction_errors(ax, answer.result.predicted)

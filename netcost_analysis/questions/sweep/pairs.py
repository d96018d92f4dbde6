# Pairs of steps that differ in one label only, and the difference between them at each rate: which
# data path is cheaper, and what a second destination adds.

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.question import Answer, question
from ...display.tables import first_row
from ...errors import ArgumentError, no_such
from ...opening.experiment import Experiment
from ...progress import each
from ...stats.change import LEAST_REPEATS, adjusted, change_of
from ...stats.resampling import CONFIDENCE
from ..batches.curves import PATHS, named
from ..comparison.metrics import differs, sides_of
from .step_figures import UNITS, side_counts
from .steps import Step, require_steps, steps_of

# Figures that are measured in blocks of time, and whether a change is given as a share.
METRICS = {
    "network_ns_per_packet": True,
    "network_share": False,
    "victim_share": False,
    "batch_mean": True,
}
CHANGES = ("change", "change_low", "change_high")
# The columns that a narrow table shows after those that identify a pair.
COLUMNS = (*CHANGES, "base_name", "new_name", "base", "new")


def pairs(experiment: Experiment, labels: Sequence[str], metric: str) -> pd.DataFrame:
    # A row per rate and pair of steps that differ only in one label: the first of these that the
    # steps have. Raises CaptureError where there is no pair, ArgumentError for an unknown metric.
    if metric not in METRICS:
        raise ArgumentError(no_such("metric", metric, list(METRICS)))
    every = each("reading the steps", steps_of(experiment))
    steps = [step for step in every if side_counts(step, metric)]
    label, found = _paired(experiment, steps, labels)
    # The labels that differ between steps, without the one compared.
    names = dict.fromkeys(name for step in steps for name in step.labels if name != label)
    differing = [name for name in names if len({step.labels.get(name) for step in steps}) > 1]
    rows = [_row(base, new, label, metric, differing) for base, new in found]
    frame = _widened(pd.DataFrame(rows), *_scatter(steps, metric))
    frame["p_adjusted"] = adjusted(frame["p_value"].to_numpy("float64"))
    frame["differs"] = differs(frame)
    return frame


def by_change(rows: pd.DataFrame, ascending: bool = True) -> pd.DataFrame:
    # Sorted by the size of the change.
    return rows.reindex(rows["change"].abs().sort_values(ascending=ascending).index)


def require_pairs(experiment: Experiment, labels: Sequence[str]) -> None:
    # Raises CaptureError where it is no sweep, or its table of steps has no such pair.
    require_steps(experiment)
    steps = [step for step in steps_of(experiment) if any(run.is_recorded for run in step.runs)]
    _paired(experiment, steps, labels)


def _paired(
    experiment: Experiment, steps: list[Step], labels: Sequence[str]
) -> tuple[str, list[tuple[Step, Step]]]:
    label = next((one for one in labels if any(one in step.labels for step in steps)), labels[0])
    groups: dict[tuple[object, ...], list[Step]] = {}
    for step in steps:
        if label in step.labels:
            rest = sorted((key, of) for key, of in step.labels.items() if key != label)
            groups.setdefault((step.offered, *rest), []).append(step)
    found = [pair for group in groups.values() for pair in combinations(group, 2)]
    if not found:
        raise CaptureError(
            f"{experiment.path} has no two recorded steps at one rate that differ only in "
            f"{label.replace('_', ' ')}"
        )
    return label, found


def _scatter(steps: list[Step], metric: str) -> tuple[float, int]:
    # The scatter of a metric between runs of the same step: standard deviation over mean, pooled
    # over the steps with enough repeats, and its degrees of freedom.
    squares, freedom = 0.0, 0
    for step in steps:
        counts = side_counts(step, metric)
        if len(counts) >= LEAST_REPEATS:
            values = np.array([over.sum() / under.sum() for over, under in counts])
            squares += float(np.var(values) / np.mean(values) ** 2) * len(values)
            freedom += len(values) - 1
    return (squares / freedom) ** 0.5 if freedom else float("nan"), freedom


def _widened(frame: pd.DataFrame, scatter: float, freedom: int) -> pd.DataFrame:
    # Blocks of time do not show how much another run would differ. Where repeats of other steps do,
    # their scatter widens the intervals of single runs.
    frame["run_scatter"] = np.where(frame["observed_in"] == "blocks", scatter, np.nan)
    if not freedom:
        return frame
    from scipy.stats import t as student_t

    times = student_t.ppf((1 + CONFIDENCE) / 2, freedom)
    apart = times * frame["run_scatter"].fillna(0.0) * np.hypot(frame["base"], frame["new"])
    apart = apart.where(~frame["is_relative"], apart / frame["base"].abs())
    for name, sign in (("change_low", -1), ("change_high", 1)):
        frame[name] = frame["change"] + sign * np.hypot(frame[name] - frame["change"], apart)
    return frame


def _row(
    base: Step, new: Step, label: str, metric: str, differing: Sequence[str]
) -> dict[str, object]:
    first, second = sides_of([side_counts(base, metric), side_counts(new, metric)])
    found = change_of(first, second, METRICS[metric])
    shared = ", ".join(named(name, base.labels[name]) for name in differing if name in base.labels)
    return {
        "alike": shared or "all steps",
        "offered": base.offered,
        "base_name": named(label, base.labels[label]),
        "new_name": named(label, new.labels[label]),
        "base_rate_per_s": _rate(base),
        "new_rate_per_s": _rate(new),
        "metric": metric,
        "per_unit": UNITS[metric],
        **found.columns,
        "is_relative": METRICS[metric],
        "observed_in": first.of,
    }


def _rate(step: Step) -> float:
    counts = side_counts(step, "rate_per_s")
    done, passed = (sum(float(one[side].sum()) for one in counts) for side in (0, 1))
    return done / passed if passed else float("nan")


# No difference was found.
NEITHER = "~"


@question(
    check=lambda experiment: require_pairs(experiment, PATHS),
    rows=80,
    columns=("alike", "offered", "cheaper", *COLUMNS),
    shares=CHANGES,
)
def cheaper_path(experiment: Experiment, metric: str = "network_ns_per_packet") -> Answer:
    """Which data path is cheaper at each packet rate, with the interval of the difference.

    - metric: The cost: network_ns_per_packet (on the measured CPU), network_share, batch_mean or
      victim_share (more of the last two is not cheaper: cheaper is empty).

    A row per rate and pair of paths that differ in nothing else; alike: their other labels, as far
    as steps differ in them. Intervals: permutation, over repeats if both have 6 or more, else over
    blocks of time of these recordings. The latter say nothing about other runs. If steps with 6
    repeats show how far runs of one condition scatter, single runs' intervals are widened by that
    (run_scatter, assumed to be the same at all rates). Chances: permutation, corrected for asking
    at several rates (Benjamini, Hochberg).

    Source: the steps of by_rate.
    """
    frame = pairs(experiment, PATHS, metric)
    frame["cheaper"] = ""
    if metric in ("network_ns_per_packet", "network_share"):
        less = frame["new_name"].where(frame["change"] < 0, frame["base_name"])
        frame["cheaper"] = less.where(frame["differs"] == "yes", NEITHER)
    return Answer(
        frame,
        verdicts=[
            _verdict(str(base), str(new), rows)
            for (base, new), rows in frame.groupby(["base_name", "new_name"], sort=False)
        ],
        of_blocks=int((frame["observed_in"] == "blocks").sum()),
        scatter=frame["run_scatter"].max(),
    )


def _verdict(base: str, new: str, rows: pd.DataFrame) -> dict[str, Any]:
    # At how many rates each of two paths is cheaper, and by how much, seen from the path that is
    # cheaper more often.
    rates = {name: int((rows["cheaper"] == name).sum()) for name in (base, new, NEITHER)}
    won, lost = sorted((base, new), key=lambda name: -rates[name])
    ordered = by_change(rows[rows["cheaper"] == won])
    return {
        "cheaper_name": won,
        "dearer_name": lost,
        "cheaper_at": rates[won],
        "dearer_at": rates[lost],
        "told_apart_not": rates[NEITHER],
        "compared": len(rows),
        "least_change": first_row(ordered),
        "most_change": first_row(ordered[-1:]),
    }


_LABEL = ("destinations",)


@question(
    check=lambda experiment: require_pairs(experiment, _LABEL),
    rows=80,
    columns=("alike", "offered", "differs", *COLUMNS),
    shares=CHANGES,
)
def destinations(experiment: Experiment, metric: str = "network_share") -> Answer:
    """What the same packets cost to one destination and to two: the difference at each rate.

    - metric: What is compared: network_share (of the measured CPU), network_ns_per_packet,
      batch_mean or victim_share.

    A row per rate and pair of steps that differ only in their destinations, as in cheaper_path, but
    without cheaper. At the rate max the two also differ in their rate, and so in their share of the
    CPU: base_rate_per_s, new_rate_per_s.

    Source: as cheaper_path.
    """
    frame = pairs(experiment, _LABEL, metric)
    of_paths = []
    for alike, rows in frame.groupby("alike", sort=False):
        apart = rows[rows["differs"] == "yes"]
        most = first_row(by_change(apart, ascending=False))
        counts = {"compared": len(rows), "differing": len(apart)}
        of_paths.append({"alike": str(alike), **counts, "most_change": most})
    return Answer(frame, of_paths=of_paths)


for _question, _title in (
    (cheaper_path, "Difference between data paths at each rate, with its interval"),
    (destinations, "Difference between one destination and two at each rate"),
):
    _question.plot(title=_title, height=lambda answer: 1.0 + 0.3 * len(answer.frame))(
        lambda ax, answer: plots.sweep.differences(ax, answer.frame)
    )

# Pairs of steps that differ in one label only, and the difference between them at each rate.

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...errors import ArgumentError, no_such
from ...opening.experiment import Experiment
from ...progress import each
from ...stats.change import LEAST_REPEATS, adjusted, change_of
from ...stats.resampling import CONFIDENCE
from ..batches.curves import named
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
    differing = _differing(steps, label)
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
            f"{experiment.path} has no two recorded steps of one rate that differ in "
            f"{label.replace('_', ' ')} alone"
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


def _differing(steps: list[Step], but: str) -> list[str]:
    # The labels that differ between steps, without the one compared.
    names = list(dict.fromkeys(name for step in steps for name in step.labels if name != but))
    return [name for name in names if len({step.labels.get(name) for step in steps}) > 1]


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

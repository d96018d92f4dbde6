# Changes condition by condition, with one correction over all: of each of several cases against one
# base; and whether a change is still there where client and server share one CPU.

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...comparison.run import REPEATS, label, told_apart
from ...comparison.run_set import RunSet
from ...display.names import condition
from ...errors import ArgumentError, no_such
from ...opening.experiment import Experiment
from ...plots.palette import SIDE
from ...progress import each
from ...stats.change import Side, combined, holm, repeats
from ...stats.resampling import Floats, Ints
from .changes import metric_row
from .metrics import (
    Observed,
    change_columns,
    differs,
    has_few,
    is_unchanged,
    observed,
    primary_name,
)
from .work import is_work

_CONTROL = "cpus"
_VERDICTS = (
    *("gone", "stays", "reversed", "on one CPU only", "unknown", "nothing to explain", "too few"),
)


def _require_control(experiment: Experiment) -> None:
    values = list(experiment.steps[_CONTROL].unique()) if _CONTROL in experiment.steps else []
    if len(values) < 2:
        why = (
            f"in all of its steps {_CONTROL} is {values[0]}"
            if values
            else f"its steps have no label {_CONTROL} that says whether client and server had one "
            "CPU or two"
        )
        raise CaptureError(f"{experiment.path} has no control: {why}")


@question(
    check=_require_control,
    rows=16,
    columns=("labels", "apart", "apart_low", "apart_high", "verdict"),
    shares=("apart", "apart_low", "apart_high"),
)
def one_cpu_control(
    experiment: Experiment,
    compared: str = "skb_defer_max",
    base: str | None = None,
    new: str | None = None,
    metric: str = "received_bits_per_second",
    control: str = _CONTROL,
    one: str = "one",
    two: str = "two",
) -> Answer:
    """Whether a change is still there where client and server share one CPU.

    - compared: The label whose values are compared.
    - base, new: Its two values; the first two in order unless given.
    - metric: The figure of the steps that is compared.
    - control: The label that says how many CPUs client and server had.
    - one, two: Its value for one CPU, and for two.

    A row for each combination of the other labels. If a packet's work only moved from one process's
    CPU to the other's, the change is gone on one CPU, which does both. What is left there is added
    work, or the scheduler, which switches between the two far more often (scheduler_rates,
    other_causes).

    Source: the figures of the steps; means over repeats, judged as those of changes are. The
    interval of the difference between both changes is a BCa bootstrap.
    """
    steps = experiment.steps
    labels, figures = (
        list(dict.fromkeys(chain.from_iterable(of)))
        for of in zip(*map(told_apart, steps.to_dict("records")), strict=True)
    )
    for name in (compared, control):
        if name not in labels:
            raise ArgumentError(no_such("label", name, labels))
    if metric not in figures:
        raise ArgumentError(no_such("figure", metric, figures))
    first, second = _values(steps, compared, base, new)
    for value in (one, two):
        _require_value(steps, control, value)
    others = [name for name in labels if name not in (*REPEATS, compared, control)]
    texts = steps.assign(**{name: steps[name].map(label) for name in (*others, compared, control)})
    changes, conditions = [], []
    for _, rows in texts.groupby(others, sort=False) if others else [("", texts)]:
        figures_of = {key: of[metric] for key, of in rows.groupby([control, compared])}
        keys = [(count, value) for count in (two, one) for value in (first, second)]
        if not all(key in figures_of for key in keys):
            continue
        sides = [repeats(figures_of[key].to_numpy("float64")) for key in keys]
        called = _labels(rows.iloc[0], others)
        for count, (before, after) in (("two", sides[:2]), ("one", sides[2:])):
            row = {"labels": called, "control": count, **change_columns(before, after, True)}
            changes.append(row)
        conditions.append({"labels": called, **_apart(sides)})
    if not changes:
        raise CaptureError(f"{experiment.path}: no steps differ in {compared} and {control} alone")
    frame = pd.DataFrame(changes)
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy("float64"))
    frame["differs"] = differs(frame).mask(has_few(frame), "too_few")
    frame = frame.drop(columns="observed_in")
    judged = frame.to_dict("records")
    for apart, on_two, on_one in zip(conditions, judged[::2], judged[1::2], strict=True):
        apart["verdict"] = _verdict(apart, on_two, on_one)
    verdicts = pd.DataFrame(conditions)
    # First what can be told.
    place = verdicts["verdict"].map(_VERDICTS.index)
    verdicts = verdicts.loc[place.sort_values(kind="stable").index].reset_index(drop=True)
    counts = verdicts["verdict"].value_counts().rename("condition_count").reset_index()
    return Answer(
        conditions=verdicts,
        changes=frame,
        compared_label=compared,
        base_name=first,
        new_name=second,
        metric=metric,
        verdict_counts=counts,
    )


def _values(steps: pd.DataFrame, name: str, base: str | None, new: str | None) -> tuple[str, str]:
    known = [label(one) for one in sorted(steps[name].unique())]
    given = [None if one is None else label(one) for one in (base, new)]
    for value in filter(None, given):
        _require_value(steps, name, value)
    left = iter([one for one in known if one not in given])
    first, second = (next(left, "") if one is None else one for one in given)
    if not first or not second or first == second:
        raise ArgumentError(f"two values of {name} are needed; there are {', '.join(known)}")
    return first, second


def _require_value(steps: pd.DataFrame, name: str, value: object) -> None:
    known = sorted({label(one) for one in steps[name]})
    if label(value) not in known:
        raise ArgumentError(no_such(name, label(value), known))


def _labels(row: "pd.Series[Any]", others: list[str]) -> str:
    # A value such as "on" needs its label's name.
    return ", ".join(
        f"{name} {row[name]}" if row[name] in ("on", "off") or row[name].isdigit() else row[name]
        for name in others
    )


def _apart(sides: list[Side]) -> dict[str, float]:
    # Change on one CPU minus change on two. sides: base and new on two CPUs, then on one.
    def between(*which: Ints) -> Floats:
        values = [side.values(rows) for side, rows in zip(sides, which, strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            apart: Floats = values[3] / values[2] - values[1] / values[0]
        return apart

    apart = combined(between, *(len(side.numerator) for side in sides))
    return {"apart": apart.value, "apart_low": apart.low, "apart_high": apart.high}


def _verdict(row: dict[str, Any], two: dict[Any, Any], one: dict[Any, Any]) -> str:
    if "too_few" in (two["differs"], one["differs"]):
        return "too few"
    if two["differs"] == "no" and (two["change_low"] > 0 or two["change_high"] < 0):
        # Its interval excludes zero; only the correction for many conditions says "no".
        return "unknown"
    if two["differs"] == "no":
        return "nothing to explain" if one["differs"] == "no" else "on one CPU only"
    if one["differs"] == "yes":
        return "stays" if one["change"] * two["change"] > 0 else "reversed"
    apart = row["apart_low"] > 0 or row["apart_high"] < 0
    return "gone" if apart else "unknown"


@one_cpu_control.plot(
    title="Change on two CPUs and on one, with its interval",
    height=lambda answer: 1.1 + 0.4 * len(answer.frame),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import CHANGE, interval, intervals

    changes = answer["changes"]
    labels = list(changes["labels"].unique())
    looks = {"two": ("on two CPUs", -0.18, SIDE["base"]), "one": ("on one CPU", 0.18, SIDE["new"])}
    drawn = []
    for row in changes.to_dict("records"):
        place = labels.index(row["labels"])
        name, shift, color = looks[row["control"]]
        named = {} if place else {"label": name}
        drawn.append(interval(place + shift, row, CHANGE, color, 100, **named))
    intervals(ax, labels, drawn)
    ax.set_xlabel(f"change of {answer['metric'].replace('_', ' ')}, %")
    ax.legend(frameon=False)


def cases(runs: RunSet, by: str, base: object, **options: Any) -> pd.DataFrame:
    # What each case, by a label's value, changes against the base, load by load. A row per metric,
    # load and case, as rows of `changes`: the metric named as primary, else the first that says
    # what was done and the network's CPU time. p_adjusted: over all rows. options: as Comparison
    # takes them. Raises ArgumentError for a label that does not tell runs apart, or a base that no
    # run has.
    values = runs.labels.get(by, ())
    if len(values) < 2:
        several = [name for name, some in runs.labels.items() if len(some) > 1]
        raise ArgumentError(
            f"all runs have the same {by}: {values[0]}" if values else no_such("label", by, several)
        )
    named = label(base)
    if named not in values:
        raise ArgumentError(no_such(by, named, values))
    rows: list[dict[str, Any]] = []
    for load, case, sides in each("comparing the cases", list(_pairs(runs, by, named))):
        compared = Comparison(*sides, **options)
        rows += [
            {"case": case, "load": load, **metric_row(compared, one)} for one in _wanted(compared)
        ]
    if not rows:
        raise ArgumentError(f"no load was measured both with {by} {named} and without")
    frame = pd.DataFrame(rows).drop(columns="better")
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy("float64"))
    frame["differs"] = differs(frame).where(frame["differs"] == "", frame["differs"])
    frame["is_unchanged"] = is_unchanged(frame)
    frame["more_repeats"] = frame["more_repeats"].astype("Int64").mask(frame["differs"] == "yes")
    return frame


def _pairs(runs: RunSet, by: str, base: str) -> Iterator[tuple[str, str, tuple[RunSet, RunSet]]]:
    # Base and case under each load, which is of all labels but the one that tells cases apart.
    apart = [name for name, some in runs.labels.items() if len(some) > 1 and name != by]
    groups: dict[str, dict[str, list[Any]]] = {}
    for run in runs:
        known = [name for name in apart if name in run.labels]
        load = ", ".join(condition(name, run.labels[name]) for name in known)
        groups.setdefault(load, {}).setdefault(run.labels.get(by, ""), []).append(run)
    order = sorted({run.labels[by] for run in runs if by in run.labels}, key=_by_number)
    for load, found in sorted(groups.items()):
        for case in order:
            if case != base and base in found and case in found:
                yield load, case, (RunSet(found[base]), RunSet(found[case]))


def _by_number(value: str) -> tuple[float, str]:
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), value


def _wanted(comparison: Comparison) -> list[Observed]:
    every = observed(comparison)
    names = [one.metric.name for one in every]
    if not every:
        return []
    primary = primary_name(comparison, names)
    work = [one.metric.name for one in every if is_work(one.metric.name, one.metric.unit)]
    wanted = {primary} if comparison.primary else {primary, *work[:1]}
    return [one for one in every if one.metric.name in wanted]

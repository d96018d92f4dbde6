# Document 003's control: is there still a change where client and server share one CPU?

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.run_set import CONDITIONS, CONTROL, REPEATS, label
from ...display.tables import listed
from ...errors import ArgumentError, no_such
from ...opening.experiment import Experiment
from ...stats.change import LEAST_REPEATS, Side, adjusted, change_of, combined, repeats
from ...stats.resampling import CONFIDENCE, Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_CONTROL = "cpus"


@dataclass(frozen=True)
class OneCpuControl:
    """Answer of `one_cpu_control`.

    Attributes
    ----------
    conditions : pandas.DataFrame
        A row per labels (of other conditions): apart, apart_low, apart_high (the change on one CPU
        less that on two), verdict.
    changes : pandas.DataFrame
        A row per labels and control ("two", "one"): base, new, change with intervals, p_value,
        p_adjusted, differs, base_observations, new_observations.
    compared_label, base_name, new_name, metric : str
        What was compared, and in which figure.
    """

    conditions: pd.DataFrame
    changes: pd.DataFrame
    compared_label: str
    base_name: str
    new_name: str
    metric: str


def _require_control(experiment: Experiment) -> None:
    if _CONTROL not in experiment.steps:
        raise CaptureError(
            f"{experiment.path} has no control: its steps have no label {_CONTROL} that says "
            "whether client and server had one CPU or two"
        )
    if experiment.steps[_CONTROL].nunique() < 2:
        (only,) = experiment.steps[_CONTROL].unique()
        raise CaptureError(
            f"{experiment.path} has no control: in all of its steps {_CONTROL} is {only}"
        )


@question(
    topic="comparison",
    check=_require_control,
    main="conditions",
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
) -> OneCpuControl:
    """Whether a change is still there where client and server share one CPU.

    - experiment: Steps with both ends on one CPU, and on two.
    - compared: The label whose values are compared.
    - base, new: Its two values; the first two in order unless given.
    - metric: The figure of the steps that is compared.
    - control: The label that says how many CPUs they had.
    - one, two: Its value for one CPU, and for two.

    A row for each combination of the other labels.

    Where the work of a packet is the same and only moved from one process's CPU to the other's, the
    change is gone on one CPU, which does both. What is left there is work that was added, or the
    scheduler, which switches between the two far more often (scheduler_rates, other_causes).
    Source: the figures of the steps; medians over repeats, BCa bootstrap, permutation, chances
    corrected for being many (Benjamini, Hochberg).
    """
    steps = experiment.steps
    for name in (compared, control):
        if name not in steps:
            raise ArgumentError(no_such("label", name, [n for n in CONDITIONS if n in steps]))
    figures = [
        str(name)
        for name in steps.select_dtypes("number")
        if name not in (*CONDITIONS, *REPEATS) and not str(name).startswith(CONTROL)
    ]
    if metric not in figures:
        raise ArgumentError(no_such("figure", metric, figures))
    first, second = _values(steps, compared, base, new)
    for value in (one, two):
        _require_value(steps, control, value)
    others = [name for name in CONDITIONS if name in steps and name not in (compared, control)]
    texts = steps.assign(**{name: steps[name].map(label) for name in (*others, compared, control)})
    changes, conditions, sides = [], [], []
    for _, rows in texts.groupby(others, sort=False) if others else [("", texts)]:
        found = {
            (count, value): rows.loc[
                (rows[control] == count) & (rows[compared] == value), metric
            ].to_numpy("float64")
            for count in (two, one)
            for value in (first, second)
        }
        if not all(len(values) for values in found.values()):
            continue
        named = _labels(rows.iloc[0], others)
        four = _Four(*(repeats(values) for values in found.values()))
        sides.append(four)
        changes += [_change(named, "two", *four[:2]), _change(named, "one", *four[2:])]
        conditions.append({"labels": named, **four.apart()})
    if not changes:
        raise CaptureError(f"{experiment.path}: no steps differ in {compared} and {control} alone")
    frame = pd.DataFrame(changes)
    frame["p_adjusted"] = adjusted(frame["p_value"].to_numpy("float64"))
    frame["differs"] = [_differs(row) for row in frame.to_dict("records")]
    told = frame.to_dict("records")
    for place, row in enumerate(conditions):
        row["verdict"] = _verdict(row, told[2 * place], told[2 * place + 1])
    return OneCpuControl(pd.DataFrame(conditions), frame, compared, first, second, metric)


def _values(steps: pd.DataFrame, name: str, base: str | None, new: str | None) -> tuple[str, str]:
    known = [label(one) for one in sorted(steps[name].unique())]
    given = [one for one in (base, new) if one is not None]
    for value in given:
        _require_value(steps, name, value)
    left = [one for one in known if one not in given]
    first = label(base) if base is not None else left.pop(0) if left else ""
    second = label(new) if new is not None else left[0] if left else ""
    if not first or not second or first == second:
        raise ArgumentError(f"two values of {name} are needed; there are {', '.join(known)}")
    return first, second


def _require_value(steps: pd.DataFrame, name: str, value: object) -> None:
    known = sorted({label(one) for one in steps[name]})
    if label(value) not in known:
        raise ArgumentError(no_such(name, label(value), known))


def _labels(row: "pd.Series[Any]", others: list[str]) -> str:
    # Of a label with a value that says nothing by itself, its name too.
    return ", ".join(
        f"{name} {row[name]}" if row[name] in ("on", "off") or row[name].isdigit() else row[name]
        for name in others
    )


class _Four(NamedTuple):
    two_base: Side
    two_new: Side
    one_base: Side
    one_new: Side

    def apart(self) -> dict[str, float]:
        # How much farther the figure went on one CPU.
        def between(*which: Ints) -> Floats:
            values = [side.values(rows) for side, rows in zip(self, which, strict=True)]
            with np.errstate(divide="ignore", invalid="ignore"):
                found: Floats = values[3] / values[2] - values[1] / values[0]
            return found

        found = combined(between, *(len(side.numerator) for side in self))
        return {"apart": found.value, "apart_low": found.low, "apart_high": found.high}


def _change(named: str, control: str, base: Side, new: Side) -> dict[str, Any]:
    found = change_of(base, new, True)
    return {
        "labels": named,
        "control": control,
        **found.columns,
        "base_observations": len(base.numerator),
        "new_observations": len(new.numerator),
    }


def _differs(row: dict[Any, Any]) -> str:
    if min(row["base_observations"], row["new_observations"]) < LEAST_REPEATS:
        return "too_few"
    excludes = row["change_low"] > 0 or row["change_high"] < 0
    return "yes" if excludes and row["p_adjusted"] < 1 - CONFIDENCE else "no"


def _verdict(row: dict[str, Any], two: dict[Any, Any], one: dict[Any, Any]) -> str:
    if "too_few" in (two["differs"], one["differs"]):
        return "too few"
    if two["differs"] == "no" and (two["change_low"] > 0 or two["change_high"] < 0):
        # Only for being one of many conditions it is none.
        return "unknown"
    if two["differs"] == "no":
        return "nothing to explain" if one["differs"] == "no" else "on one CPU only"
    if one["differs"] == "yes":
        return "stays" if one["change"] * two["change"] > 0 else "reversed"
    apart = row["apart_low"] > 0 or row["apart_high"] < 0
    return "gone" if apart else "unknown"


@one_cpu_control.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # verdict_counts: how many conditions have each.
    counts = answer.frame["verdict"].value_counts()
    return {"verdict_counts": counts.rename("condition_count").reset_index()}


@one_cpu_control.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    found = {(row["labels"], row["control"]): row for row in listed(answer.parts["changes"])}
    rows = [
        {**row, **{count: found[row["labels"], count] for count in ("two", "one")}}
        for row in listed(answer.frame)
    ]
    names = ("compared_label", "base_name", "new_name", "metric")
    counts = listed(answer.parts["verdict_counts"])
    return {
        "conditions": rows,
        "verdict_counts": counts,
        **{name: answer.parts[name] for name in names},
    }


@one_cpu_control.plot(
    title="Change on two CPUs and on one, with its interval",
    height=lambda answer: 1.1 + 0.4 * len(answer.frame),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots_causes import changes_by_cpus

    found = answer.result
    changes_by_cpus(ax, found.changes, list(found.conditions["labels"]), found.metric)

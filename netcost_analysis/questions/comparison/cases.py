# More than two sides: cases by loads, each case against one base, with one correction over all.

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import label
from ...comparison.run_set import RunSet
from ...errors import ArgumentError, no_such
from ...progress import each
from ...stats.change import holm
from .comparability import refusals
from .metrics import (
    Observed,
    change_columns,
    differs,
    has_few,
    more_repeats,
    observed,
    primary_name,
)
from .work import is_work


def cases(runs: RunSet, by: str, base: object, **options: Any) -> pd.DataFrame:
    """What each case changes against the base, load by load.

    Parameters
    ----------
    runs : RunSet
        Runs of all cases and loads.
    by : str
        The label that tells cases apart.
    base : object
        Its value of the base.
    **options : object
        As Comparison takes them: per, primary, victim, client, server.

    Returns
    -------
    pandas.DataFrame
        A row per metric, load and case, as rows of `changes`: the metric named as primary, else the
        first that says what was done and the network's CPU time. p_adjusted: over all rows.

    Raises
    ------
    ArgumentError
        For a label that does not tell runs apart, or a base that no run has.
    """
    values = runs.labels.get(by, ())
    if len(values) < 2:
        several = [name for name, some in runs.labels.items() if len(some) > 1]
        raise ArgumentError(
            f"all runs have the same {by}: {values[0]}" if values else no_such("label", by, several)
        )
    named = label(base)
    if named not in values:
        raise ArgumentError(no_such(by, named, values))
    rows = []
    for load, case, sides in each("comparing the cases", list(_pairs(runs, by, named))):
        compared = Comparison(*sides, **options)
        rows += [
            {
                "case": case,
                "load": load,
                "metric": one.metric.name,
                "per_unit": one.metric.unit,
                "is_relative": one.metric.relative,
                **change_columns(one.base, one.new, one.metric.relative),
                "more_repeats": more_repeats(one.runs, one.metric.relative),
                "is_refused": bool(refusals(compared, one.metric)),
            }
            for one in _wanted(compared)
        ]
    if not rows:
        raise ArgumentError(f"no load was measured both with {by} {named} and without")
    frame = pd.DataFrame(rows)
    frame["p_adjusted"] = holm(frame["p_value"].to_numpy("float64"))
    told = differs(frame).mask(has_few(frame), "too_few")
    frame["differs"] = told.mask(frame.pop("is_refused"), "refused")
    frame["more_repeats"] = frame["more_repeats"].astype("Int64").mask(frame["differs"] == "yes")
    return frame


def _pairs(runs: RunSet, by: str, base: str) -> Iterator[tuple[str, str, tuple[RunSet, RunSet]]]:
    # Base and case under each load, which is of all labels but the one that tells cases apart.
    apart = [name for name, some in runs.labels.items() if len(some) > 1 and name != by]
    groups: dict[str, dict[str, list[Any]]] = {}
    for run in runs:
        known = [name for name in apart if name in run.labels]
        load = ", ".join(f"{name.replace('_', ' ')} {run.labels[name]}" for name in known)
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

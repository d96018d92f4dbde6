# What is observed of the metrics of a comparison: of both sides, or of one alone.

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...comparison.run_set import RunSet
from ...errors import AbsentError, no_such
from ...progress import each
from ...stats.change import (
    LEAST_REPEATS,
    TOLD,
    Counts,
    Side,
    blocks,
    change_of,
    repeats,
    repeats_that_tell,
)
from ...stats.resampling import CHANCE, Floats
from ...timeline.reading import once
from .counted import Metric, of_recordings, read
from .run_blocks import by_block, run_blocks
from .tasks import require_tasks
from .work import (
    UNITS,
    counted_by,
    is_traffic,
    printed,
    throughput_of,
    unit_of,
    unit_of_work,
    units_of,
)


class Observed(NamedTuple):
    # A metric on both sides, in observations of the same kind. runs: by side, each run that has it
    # and its value there. unowned: the CPU time of base and new without a known owner, in the unit
    # of the metric; 0 of what does not depend on it.
    metric: Metric
    base: Side
    new: Side
    runs: dict[str, list[tuple[Run, float]]]
    unowned: tuple[float, float] = (0.0, 0.0)


# A metric, and by side, where every run of it has the metric, each run with what it counted.
_Counted = tuple[Metric, dict[str, list[tuple[Run, Counts]]]]
# Unless a metric is named, the verdict is about the first of these that exists.
_PRIMARY = ("network_ns_per_", "received_bits_per_second")
# Which direction is better, for figures in a table of steps.
_BETTER = {
    "received_bits_per_second": "more",
    "sent_bits_per_second": "more",
    "sent_pps": "more",
    "received": "more",
    "unaccounted": "less",
}
# Counts over a whole step. They grow with its length, so only rates made of them are compared.
COUNTED = ("sent", "received", "received_bytes", "received_packets", "answered_packets", "seconds")


@once
def observed(comparison: Comparison) -> list[Observed]:
    # Every metric that both sides have; those that are 0 everywhere only where they were named.
    found = [_observed(*one) for one in _counted(comparison) if len(one[1]) == 2]
    return [
        one
        for one in found
        if np.isfinite([one.base.value, one.new.value]).all()
        and (one.base.value or one.new.value or one.metric.name in comparison.beforehand)
    ]


@once
def one_sided(comparison: Comparison) -> list[tuple[Metric, str, Side]]:
    # Every metric that one side alone has in all of its runs, and which.
    found = []
    for metric, runs in _counted(comparison):
        for name, of_side in runs.items() if len(runs) == 1 else ():
            [side] = _sides(metric, [[counts for _, counts in of_side]])
            if np.isfinite(side.value) and side.value:
                found.append((metric, name, side))
    return found


@once
def _counted(comparison: Comparison) -> list[_Counted]:
    require_tasks(comparison)
    done = [*_figures(comparison), *_printed(comparison)]
    says_rate = any(is_traffic(metric.name) for metric, _ in done)
    return [*done, *_recorded(comparison, says_rate)]


def _recorded(comparison: Comparison, says_rate: bool) -> list[_Counted]:
    # says_rate: something else says how fast the traffic was.
    sides = _beside(comparison, lambda side: side.recorded)
    if not sides:
        return []
    for run in each("reading the recordings", [*chain.from_iterable(sides.values())]):
        read(run)
    found = []
    unit = unit_of(comparison)
    metrics = of_recordings(comparison, unit)
    if unit.source == "polls" and not says_rate:
        rate = Metric("packets_per_s", "packets/s", "more", kind="counts")
        metrics.insert(0, (rate, lambda run: (units_of(run)[unit], run_blocks(run).seconds)))
    for metric, counted in metrics:
        known = {
            name: [(run, pair) for run in side if (pair := counted(run)) is not None]
            for name, side in sides.items()
        }
        complete = {name: of for name, of in known.items() if len(of) == len(sides[name])}
        found.append((metric, complete))
    return found


def _beside(
    comparison: Comparison, runs_of: Callable[[RunSet], tuple[Run, ...]]
) -> dict[str, tuple[Run, ...]]:
    # Such runs of both sides, where they are pairs in one order; empty where a side has none.
    sides = {name: runs_of(side) for name, side in comparison.sides.items()}
    if not all(sides.values()):
        return {}
    return sides | {"new": comparison.beside(sides["base"], sides["new"])}


def _figures(comparison: Comparison) -> list[_Counted]:
    return _of_each(
        _beside(comparison, lambda side: side.measured),
        lambda run: {name: of for name, of in run.figures.items() if name not in COUNTED},
        lambda name: Metric(name, "", _BETTER.get(name, ""), kind="figures"),
    )


def _of_each(
    sides: Mapping[str, Sequence[Run]],
    figures: Callable[[Run], Mapping[str, float]],
    metric: Callable[[str], Metric],
) -> list[_Counted]:
    # One value of each run; of a side only what all of its runs have.
    names = dict.fromkeys(name for side in sides.values() for name in figures(side[0]))
    return [
        (
            metric(name),
            {
                side: [(run, (np.array([figures(run)[name]]), np.ones(1))) for run in runs]
                for side, runs in sides.items()
                if all(name in figures(run) for run in runs)
            },
        )
        for name in names
    ]


def _printed(comparison: Comparison) -> list[_Counted]:
    # What loads and victims printed, and no table of steps has. Recording slows a run: where others
    # were measured, these count.
    def metric(name: str) -> Metric:
        unit, better = unit_of_work(name), "more" if name.endswith("_per_s") else "less"
        return Metric(name, unit, better, unit != "share", kind="figures")

    sides = _beside(comparison, lambda side: side.measured or side.recorded)
    return _of_each(sides, printed, metric)


def _observed(metric: Metric, runs: dict[str, list[tuple[Run, Counts]]]) -> Observed:
    base, new = _sides(metric, [[counts for _, counts in side] for side in runs.values()])
    values, unowned = {}, [0.0, 0.0]
    for at, (name, side) in enumerate(runs.items()):
        sums = [(run, float(above.sum()), float(below.sum())) for run, (above, below) in side]
        values[name] = [(run, above / below) for run, above, below in sums if below]
        done = sum(below for *_, below in sums)
        if metric.kind == "times" and done:
            unowned[at] = sum(float(unknown_ns(run).sum()) for run, _ in side) / done
    return Observed(metric, base, new, values, (unowned[0], unowned[1]))


@once
def unknown_ns(run: Run) -> Floats:
    # The CPU time without a known owner, lost time included, per block.
    recording = run_blocks(run)
    return by_block(recording, recording.sums[recording.sums["context"] == "unknown"])


def _sides(metric: Metric, known: list[list[Counts]]) -> list[Side]:
    # Figures of steps are of repeats, however few.
    if metric.kind == "figures":
        return [repeats(np.concatenate([above for above, _ in side])) for side in known]
    return sides_of(known)


def sides_of(known: list[list[Counts]]) -> list[Side]:
    # known: of each side, numerator and denominator of each run, block by block. Observations are
    # repeats where all sides have enough, else blocks of time, which say nothing of other runs.
    if min(map(len, known)) >= LEAST_REPEATS:
        sums = [np.array([[one.sum() for one in counts] for counts in side]).T for side in known]
        # Of a run without work there is no figure.
        with np.errstate(divide="ignore", invalid="ignore"):
            return [repeats(above / below) for above, below in sums]
    sides = [zip(*side, strict=True) for side in known]
    return list(blocks(*((np.concatenate(above), np.concatenate(below)) for above, below in sides)))


def sides_per(comparison: Comparison, counted: Callable[[Run], Counts]) -> tuple[Side, Side]:
    base, new = sides_of([[counted(run) for run in side] for side in comparison.recorded_sides])
    return base, new


def no_metric(name: str, names: Sequence[str]) -> str:
    # The line about a metric that there is not, and what gives it.
    unit = name.rpartition("_per_")[2]
    how = f"; --per {unit} divides costs by it" if unit in UNITS and name not in names else ""
    return f"{no_such('metric', name, names)}{how}{counted_by(unit) if how else ''}"


def primary_name(comparison: Comparison, names: list[str]) -> str:
    # The metric that was named beforehand, else the default.
    if comparison.primary is None:
        first = (name for wanted in _PRIMARY for name in names if name.startswith(wanted))
        return next(first, names[0])
    if comparison.primary not in names:
        raise AbsentError(no_metric(comparison.primary, names))
    return comparison.primary


def primary(comparison: Comparison) -> Observed | None:
    # The metric that the verdict is about; None where the sides have no metric in common.
    metrics = {one.metric.name: one for one in observed(comparison)}
    return metrics[primary_name(comparison, list(metrics))] if metrics else None


def throughputs(comparison: Comparison) -> tuple[str, str, list[Floats]] | None:
    # The unit, who counted it, and units per second of each run of base and new; of pairs only if
    # all have it. None where the work was not counted. Runs without a recording, which slows, come
    # first. Blocks are the victim's: costs have to be divided by them to say how fast traffic was.
    base, new = (
        [run for run in side if not run.is_recorded] or list(side)
        for side in comparison.sides.values()
    )
    pairs = base, comparison.beside(base, new)
    sides = [[throughput_of(run) for run in runs] for runs in pairs]
    least = len(base) if comparison.paired else 1
    for unit in filter(None, (comparison.per, "transaction", "work", "byte", "packet", "block")):
        found = [[one[unit] for one in side if unit in one] for side in sides]
        sources = {source for side in found for _, source in side}
        if min(map(len, found)) >= least and len(sources) == 1:
            return unit, sources.pop(), [np.array([rate for rate, _ in side]) for side in found]
    return None


def change_columns(base: Side, new: Side, relative: bool, paired: bool = False) -> dict[str, Any]:
    # How a value changed, and how often it was observed.
    return {**change_of(base, new, relative, paired).columns, **observed_columns(base, new)}


def observed_columns(base: Side, new: Side) -> dict[str, Any]:
    return {
        "observed_in": base.of,
        "base_observations": len(base.numerator),
        "new_observations": len(new.numerator),
    }


def has_few(rows: pd.DataFrame) -> "pd.Series[bool]":
    # Too few repeats for a claim. Blocks of time claim nothing about other runs anyway.
    observations = rows[["base_observations", "new_observations"]].min(axis=1)
    return (rows["observed_in"] == "repeats") & (observations < LEAST_REPEATS)


def differs(rows: pd.DataFrame) -> "pd.Series[str]":
    # "yes" where the interval excludes zero and the corrected chance is small.
    excludes = (rows["change_low"] > 0) | (rows["change_high"] < 0)
    apart = excludes & (rows["p_adjusted"] < CHANCE)
    return apart.map({True: "yes", False: "no"})


def is_unchanged(rows: pd.DataFrame) -> "pd.Series[bool]":
    # The whole interval is within the smallest change worth knowing; without parts, of 0.
    worth = TOLD * (rows["is_relative"].astype(bool) | (rows["per_unit"] == "share"))
    is_within = (rows["change_low"] >= -worth) & (rows["change_high"] <= worth)
    return is_within & (rows["differs"] == "no")


def more_repeats(runs: Mapping[str, Sequence[tuple[object, float]]], relative: bool) -> int | None:
    # How many more on each side; 0 where there are enough, None where no number that can be run
    # is. runs: by side, each run and its value. With one run a side the scatter is unknown.
    values = [np.array([value for _, value in of]) for of in runs.values()]
    told = TOLD * abs(float(np.mean(values[0]))) if relative else TOLD
    variances = [one.var(ddof=1) for one in values if len(one) > 1]
    needed: int | None = LEAST_REPEATS
    if variances and told > 0:
        needed = repeats_that_tell(told, float(np.sqrt(np.mean(variances))))
    return None if needed is None else max(needed - min(map(len, values)), 0)

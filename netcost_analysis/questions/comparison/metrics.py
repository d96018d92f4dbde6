# The metrics of a comparison: each a ratio of two things counted block by block, or a figure of
# each repeat. None of them is a share of a total that grows with the throughput.

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unmet
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_such
from ...progress import each
from ...stats.change import LEAST_REPEATS, Counts, Side, blocks, repeats
from ...stats.resampling import CONFIDENCE, Floats
from ...timeline.facts import groups
from ...timeline.reading import once
from ...timeline.task import Task, rows_of
from ..processes.skb_frees import EVENTS, freed
from .measured import busiest, by_block, ends_of, measured, require_tasks, victim_of
from .work import Unit, throughput_of, unit_of, units_of

# Of the rows of a run's sums, which count.
Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]
# What is above and below in each block of a run; None where it has none of it.
Counted = Callable[[Run], Counts | None]


class Metric(NamedTuple):
    # A metric: what one of it is (unit), whether more or less of it is better ("" for neither),
    # whether its change is a part of the base's figure.
    name: str
    unit: str
    better: str = "less"
    relative: bool = True


class Observed(NamedTuple):
    # Both sides of a metric, as observations of the same kind.
    metric: Metric
    base: Side
    new: Side


class Primary(NamedTuple):
    # The metric that a verdict is about. runs: by side each run that has it, with its figure.
    observed: Observed
    runs: dict[str, list[tuple[Run, float]]]


def network(sums: pd.DataFrame) -> "pd.Series[bool]":
    return (sums["is_network"] == "yes").astype(bool)


def _of_class(name: str) -> Rows:
    return lambda sums: network(sums) & (sums["cost_class"] == name).astype(bool)


def _in(*contexts: str) -> Rows:
    return lambda sums: network(sums) & sums["context"].isin(contexts)


# CPU time divided by the work done.
TIMES: dict[str, Rows] = {
    "network_ns": network,
    "network_softirq_ns": _in("softirq", "poll"),
    "network_irq_ns": _in("hardirq", "vector"),
    "stolen_ns": _of_class("stolen"),
    "synchronous_ns": _of_class("synchronous"),
    "scheduled_ns": _of_class("scheduled"),
    "from_idle_ns": _of_class("from_idle"),
    "busy_ns": lambda sums: ~sums["context"].isin(["idle", "unknown"]),
}
VICTIM_SHARE = Metric("victim_share", "share", "more", False)
# The verdict is about the first of these that there is, unless another is named.
_PRIMARY = ("network_ns_per_", "received_bits_per_second")
# How figures of a table of steps are better; of others nobody knows.
_BETTER = {
    "received_bits_per_second": "more",
    "sent_bits_per_second": "more",
    "sent_pps": "more",
    "received": "more",
    "unaccounted": "less",
}
# Counts over a whole step, which lasted as long as it lasted: rates are made of them.
COUNTED = ("sent", "received", "received_bytes", "received_packets", "answered_packets", "seconds")


def observed(comparison: Comparison) -> list[Observed]:
    # Every metric that both sides have.
    require_tasks(comparison)
    found = _figures(comparison)
    sides = [side.recorded for side in comparison.sides.values()]
    if all(sides):
        for run in each("reading the recordings", [*chain.from_iterable(sides)]):
            measured(run)
        for metric, counted in of_recordings(comparison, unit_of(comparison)):
            known = [[counts for run in side if (counts := counted(run))] for side in sides]
            if [*map(len, known)] == [*map(len, sides)]:
                found.append(Observed(metric, *sides_of(known)))
    return [one for one in found if _is_known(one.base.value, one.new.value)]


def _is_known(*values: float) -> bool:
    return bool(np.isfinite(values).all()) and any(values)


def of_recordings(comparison: Comparison, unit: Unit) -> list[tuple[Metric, Counted]]:
    return [
        *(
            (Metric(f"{name}_per_{unit}", f"ns/{unit}"), partial(_times, rows=rows, unit=unit))
            for name, rows in TIMES.items()
        ),
        *(
            (Metric(f"{name}_per_{unit}", f"1/{unit}", ""), partial(_counts, name=name, unit=unit))
            for name in ("switches", "migrations")
        ),
        (VICTIM_SHARE, partial(own_time, task=comparison.victim)),
        # It grows with the throughput: how it moved says nothing of better or worse.
        (Metric("stolen_share", "share", "", False), _stolen),
        (Metric("batch_mean", "packets", ""), lambda run: busiest(measured(run))),
        # What of the work went from one to the other is neither better nor worse by itself.
        (Metric("client_frees_share", "share", "", False), client_frees),
    ]


def _times(run: Run, rows: Rows, unit: Unit) -> Counts:
    own = measured(run)
    return by_block(own, rows(own.sums)), units_of(run)[unit]


def _counts(run: Run, name: str, unit: Unit) -> Counts | None:
    counted = getattr(measured(run), name)
    return None if counted is None else (counted, units_of(run)[unit])


def own_time(run: Run, task: Task | None = None) -> Counts | None:
    # A task's own time over the time that passed: 1 is a CPU of its own. None: the bundle's victim.
    victim = victim_of(run, task)
    if victim is None:
        return None
    own = measured(run)
    of_victim = own.sums.index.isin(rows_of(own.sums, victim).index)
    its_own = (own.sums["context"] == "task") & of_victim
    return (by_block(own, its_own), own.seconds * 1e9) if its_own.any() else None


def _stolen(run: Run) -> Counts:
    # Of all tasks' time on a CPU, whoever they are.
    own = measured(run)
    on_cpu = (own.sums["tid"] > 0).fillna(False).astype(bool)
    stolen = on_cpu & (own.sums["cost_class"] == "stolen").astype(bool)
    return by_block(own, stolen), by_block(own, on_cpu)


@once
def client_frees(run: Run) -> Counts | None:
    # Packets whose data was freed in the client's time, and all; None where that is not known.
    client, timelines = ends_of(run).get("client"), run.timelines()
    if client is None or any(unmet(one.capture, groups((EVENTS,))) for one in timelines):
        return None
    parts = []
    for timeline, of_file in zip(timelines, measured(run).files, strict=True):
        counts = np.zeros((2, of_file.number))
        try:
            for frees in freed(timeline):
                block = of_file.of(frees["time_ns"])
                by_client = block[(frees["tid"] == client).to_numpy()]
                counts += [np.bincount(one, minlength=of_file.number) for one in (by_client, block)]
        except CaptureError:
            return None
        parts.append(counts)
    above, below = np.hstack(parts)
    return (above, below) if below.any() else None


def sides_of(known: list[list[Counts]]) -> list[Side]:
    # Of what is above and below in each block of each run of one side or several: repeats where all
    # have enough of them, else all their blocks: of these runs, and no others.
    if min(map(len, known)) >= LEAST_REPEATS:
        return [
            repeats(np.array([above.sum() / below.sum() for above, below in side]))
            for side in known
        ]
    joined = [tuple(np.concatenate(part) for part in zip(*side, strict=True)) for side in known]
    return list(blocks(*((above, below) for above, below in joined)))


def _figures(comparison: Comparison) -> list[Observed]:
    # What was measured of each repeat beside its recording, or without one.
    sides = [side.measured for side in comparison.sides.values()]
    if not all(sides):
        return []
    names = [
        name
        for name in sides[0][0].figures
        if name not in COUNTED and all(name in run.figures for side in sides for run in side)
    ]
    return [
        Observed(
            Metric(name, "", _BETTER.get(name, "")),
            *(repeats(np.array([run.figures[name] for run in side])) for side in sides),
        )
        for name in names
    ]


def primary_name(comparison: Comparison, names: list[str]) -> str:
    # Of the metrics that there are, the one that was named beforehand.
    if comparison.primary is None:
        first = (name for wanted in _PRIMARY for name in names if name.startswith(wanted))
        return next(first, names[0])
    if comparison.primary not in names:
        raise AbsentError(no_such("metric", comparison.primary, names))
    return comparison.primary


@once
def primary(comparison: Comparison) -> Primary | None:
    # None where the sides have no metric in common.
    metrics = {one.metric.name: one for one in observed(comparison)}
    if not metrics:
        return None
    name = primary_name(comparison, list(metrics))
    sides = comparison.sides.items()
    if all(name in run.figures for _, side in sides for run in side.measured):
        figures = {key: [(run, run.figures[name]) for run in side.measured] for key, side in sides}
        if all(figures.values()):
            return Primary(metrics[name], figures)
    counted = {one.name: of for one, of in of_recordings(comparison, unit_of(comparison))}[name]
    runs = {}
    for key, side in sides:
        counts = [(run, counted(run)) for run in side.recorded]
        known = [(run, pair) for run, pair in counts if pair is not None and pair[1].sum()]
        runs[key] = [(run, float(above.sum() / below.sum())) for run, (above, below) in known]
    return Primary(metrics[name], runs)


def throughputs(comparison: Comparison) -> tuple[str, list[Floats]] | None:
    # The unit, and the units a second of each run of base and new: of those measured without a
    # recording where there are any, for recording slows them. None where nobody counted.
    sides = []
    for side in comparison.sides.values():
        runs = [run for run in side if not run.is_recorded] or list(side)
        sides.append([throughput_of(run) for run in runs])
    for unit in ("transaction", "work", "byte", "packet"):
        found = [[one[unit] for one in side if unit in one] for side in sides]
        sources = {source for side in found for _, source in side}
        if all(found) and len(sources) == 1:
            return unit, [np.array([rate for rate, _ in side]) for side in found]
    return None


def differs(rows: pd.DataFrame) -> "pd.Series[str]":
    # "yes" where the interval excludes no change, and the chance is small for all that were asked.
    excludes = (rows["change_low"] > 0) | (rows["change_high"] < 0)
    apart = excludes & (rows["p_adjusted"] < 1 - CONFIDENCE)
    return apart.map({True: "yes", False: "no"})

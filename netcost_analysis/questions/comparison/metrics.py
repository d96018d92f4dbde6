# The metrics of a comparison: each a ratio of two things counted block by block, or a figure of
# each repeat. None of them is a share of a total that grows with the throughput.

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unmet
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_such
from ...progress import each
from ...stats.change import LEAST_REPEATS, Counts, Side, blocks, change_of, repeats
from ...stats.resampling import CONFIDENCE, Floats
from ...timeline.facts import tracepoint_groups
from ...timeline.reading import once
from ...timeline.task import Task, rows_of
from ..processes.skb_frees import EVENTS, freed
from .run_blocks import busiest, by_block, run_blocks
from .tasks import client_of, require_tasks, victim_of
from .work import Unit, throughput_of, unit_of, units_of
from .work_metrics import is_traffic, work_printed

# Selects rows of a run's sums.
Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]
# Numerator and denominator of a metric in each block of a run; None where the run lacks it.
Counted = Callable[[Run], Counts | None]


class Metric(NamedTuple):
    # unit: of a value. better: "more", "less", or "" for neither. relative: whether its change is
    # given as a share of the base's value.
    name: str
    unit: str
    better: str = "less"
    relative: bool = True


class Observed(NamedTuple):
    # A metric on both sides, in observations of the same kind. runs: by side, each run that has it
    # and its value there.
    metric: Metric
    base: Side
    new: Side
    runs: dict[str, list[tuple[Run, float]]]


def network(sums: pd.DataFrame) -> "pd.Series[bool]":
    return (sums["is_network"] == "yes").astype(bool)


def _of_class(name: str) -> Rows:
    return lambda sums: network(sums) & (sums["cost_class"] == name).astype(bool)


def _in(*contexts: str) -> Rows:
    return lambda sums: network(sums) & sums["context"].isin(contexts)


# CPU times, which are divided by the work done.
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
    # Every metric that both sides have.
    require_tasks(comparison)
    metrics = [*_figures(comparison), *_printed(comparison)]
    sides = {name: side.recorded for name, side in comparison.sides.items()}
    if all(sides.values()):
        for run in each("reading the recordings", [*chain.from_iterable(sides.values())]):
            run_blocks(run)
        unit = unit_of(comparison)
        rates = [] if any(is_traffic(one.metric.name) for one in metrics) else _polled(unit)
        for metric, counted in [*rates, *_of_recordings(comparison, unit)]:
            counts = {name: [counted(run) for run in side] for name, side in sides.items()}
            known = [[pair for pair in side if pair is not None] for side in counts.values()]
            if [*map(len, known)] == [*map(len, counts.values())]:
                runs = {
                    name: [
                        (run, float(above.sum() / below.sum()))
                        for run, (above, below) in zip(sides[name], side, strict=True)
                        if below.sum()
                    ]
                    for name, side in zip(sides, known, strict=True)
                }
                base, new = sides_of(known)
                metrics.append(Observed(metric, base, new, runs))
    return [one for one in metrics if _is_known(one.base.value, one.new.value)]


def _is_known(*values: float) -> bool:
    return bool(np.isfinite(values).all()) and any(values)


def _printed(comparison: Comparison) -> list[Observed]:
    made = []
    for name, unit, better, runs in work_printed(comparison):
        base, new = (repeats(np.array([value for _, value in of])) for of in runs.values())
        made.append(Observed(Metric(name, unit, better, unit != "share"), base, new, runs))
    return made


def _polled(unit: Unit) -> list[tuple[Metric, Counted]]:
    # The rate at which packets came, where nothing else says how fast the traffic was.
    if unit.source != "polls":
        return []
    rate = Metric("packets_per_s", "packets/s", "more")
    return [(rate, lambda run: (units_of(run)[unit], run_blocks(run).seconds))]


def _of_recordings(comparison: Comparison, unit: Unit) -> list[tuple[Metric, Counted]]:
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
        # It grows with the throughput, so neither direction is better.
        (Metric("stolen_share", "share", "", False), _stolen),
        (Metric("batch_mean", "packets", ""), lambda run: busiest(run_blocks(run))),
        # Work that moves between client and server is neither better nor worse.
        (Metric("client_frees_share", "share", "", False), _client_frees),
    ]


def _times(run: Run, rows: Rows, unit: Unit) -> Counts:
    recording = run_blocks(run)
    return by_block(recording, rows(recording.sums)), units_of(run)[unit]


def _counts(run: Run, name: str, unit: Unit) -> Counts | None:
    counted = getattr(run_blocks(run), name)
    return None if counted is None else (counted, units_of(run)[unit])


def own_time(run: Run, task: Task | None = None) -> Counts | None:
    # A task's own time over the time that passed: 1 is a whole CPU. task None: the bundle's victim.
    victim = victim_of(run, task)
    if victim is None:
        return None
    recording = run_blocks(run)
    of_victim = recording.sums.index.isin(rows_of(recording.sums, victim).index)
    its_own = (recording.sums["context"] == "task") & of_victim
    return (by_block(recording, its_own), recording.seconds * 1e9) if its_own.any() else None


def _stolen(run: Run) -> Counts:
    # As a share of the time that any task was on a CPU.
    recording = run_blocks(run)
    on_cpu = (recording.sums["tid"] > 0).fillna(False).astype(bool)
    stolen = on_cpu & (recording.sums["cost_class"] == "stolen").astype(bool)
    return by_block(recording, stolen), by_block(recording, on_cpu)


@once
def _client_frees(run: Run) -> Counts | None:
    # Packets whose data the client freed, and all packets; None where unknown.
    client, timelines = client_of(run), run.timelines()
    if client is None or any(unmet(one.capture, tracepoint_groups((EVENTS,))) for one in timelines):
        return None
    number, files = len(run_blocks(run).seconds), run_blocks(run).files
    counts = np.zeros((2, number))
    for timeline, file in zip(timelines, files, strict=True):
        try:
            for frees in freed(timeline):
                block = file.of(frees["time_ns"])
                by_client = block[(frees["tid"] == client).to_numpy()]
                counts += [np.bincount(one, minlength=number) for one in (by_client, block)]
        except CaptureError:
            return None
    above, below = counts
    return (above, below) if below.any() else None


def sides_of(known: list[list[Counts]]) -> list[Side]:
    # known: of each side, numerator and denominator of each run, block by block. Observations are
    # repeats where all sides have enough, else blocks of time, which say nothing of other runs.
    if min(map(len, known)) >= LEAST_REPEATS:
        return [
            repeats(np.array([above.sum() / below.sum() for above, below in side]))
            for side in known
        ]
    joined = [tuple(np.concatenate(part) for part in zip(*side, strict=True)) for side in known]
    return list(blocks(*((above, below) for above, below in joined)))


def _figures(comparison: Comparison) -> list[Observed]:
    # Figures of the table of steps.
    sides = {name: side.measured for name, side in comparison.sides.items()}
    if not all(sides.values()):
        return []
    runs = [*chain.from_iterable(sides.values())]
    metrics = []
    for name in runs[0].figures:
        if name not in COUNTED and all(name in run.figures for run in runs):
            values = {side: [(run, run.figures[name]) for run in of] for side, of in sides.items()}
            base, new = (repeats(np.array([value for _, value in of])) for of in values.values())
            metrics.append(Observed(Metric(name, "", _BETTER.get(name, "")), base, new, values))
    return metrics


def primary_name(comparison: Comparison, names: list[str]) -> str:
    # The metric that was named beforehand, else the default.
    if comparison.primary is None:
        first = (name for wanted in _PRIMARY for name in names if name.startswith(wanted))
        return next(first, names[0])
    if comparison.primary not in names:
        raise AbsentError(no_such("metric", comparison.primary, names))
    return comparison.primary


def primary(comparison: Comparison) -> Observed | None:
    # The metric that the verdict is about; None where the sides have no metric in common.
    metrics = {one.metric.name: one for one in observed(comparison)}
    return metrics[primary_name(comparison, list(metrics))] if metrics else None


def throughputs(comparison: Comparison) -> tuple[str, list[Floats]] | None:
    # The unit, and units per second of each run of base and new. Recording slows a run, so runs
    # without a recording are preferred. None where the work was not counted.
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


def change_columns(base: Side, new: Side, relative: bool) -> dict[str, Any]:
    # How a value changed, and how often it was observed.
    return {
        **change_of(base, new, relative).columns,
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
    apart = excludes & (rows["p_adjusted"] < 1 - CONFIDENCE)
    return apart.map({True: "yes", False: "no"})

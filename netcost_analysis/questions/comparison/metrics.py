# The metrics of a comparison: each a ratio of two things counted block by block, or a figure of
# each repeat. None of them is a share of a total that grows with the throughput.

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...progress import each
from ...stats.change import LEAST_REPEATS, Side, blocks, repeats
from ...stats.resampling import Floats
from ...timeline.task import Task, rows_of
from .contexts import require_tasks
from .frees import client_frees
from .measured import Measured, busiest, measured, victim_of
from .work import Unit, throughput_of, unit_of, units_of

Rows = Callable[[pd.DataFrame], "pd.Series[bool]"]


class Metric(NamedTuple):
    # A metric: what one of it is (unit), whether more or less of it is better ("" for neither),
    # whether its change is a part of the base's figure.
    name: str
    unit: str
    better: str = "less"
    relative: bool = True


def network(sums: pd.DataFrame) -> "pd.Series[bool]":
    return (sums["is_network"] == "yes").astype(bool)


def _of_class(name: str) -> Rows:
    return lambda sums: network(sums) & (sums["cost_class"] == name).astype(bool)


def _in(*contexts: str) -> Rows:
    return lambda sums: network(sums) & sums["context"].isin(contexts)


def _busy(sums: pd.DataFrame) -> "pd.Series[bool]":
    return ~sums["context"].isin(["idle", "unknown"])


# CPU time divided by the work done.
TIMES: dict[str, Rows] = {
    "network_ns": network,
    "network_softirq_ns": _in("softirq", "poll"),
    "network_irq_ns": _in("hardirq", "vector"),
    "stolen_ns": _of_class("stolen"),
    "synchronous_ns": _of_class("synchronous"),
    "scheduled_ns": _of_class("scheduled"),
    "from_idle_ns": _of_class("from_idle"),
    "busy_ns": _busy,
}
VICTIM_SHARE = Metric("victim_share", "share", "more", False)
# It grows with the throughput: how it moved says nothing of better or worse.
STOLEN_SHARE = Metric("stolen_share", "share", "", False)
BATCH = Metric("batch_mean", "packets", "")
# What of the work went from one to the other is neither better nor worse by itself.
CLIENT_FREES = Metric("client_frees_share", "share", "", False)
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


class Observed(NamedTuple):
    # Both sides of a metric, as observations of the same kind.
    metric: Metric
    base: Side
    new: Side


def observed(comparison: Comparison) -> list[Observed]:
    # Every metric that both sides have.
    require_tasks(comparison)
    found = _figures(comparison)
    if all(side.recorded for side in comparison.sides.values()):
        sides_recorded = (side.recorded for side in comparison.sides.values())
        for run in each("reading the recordings", [*chain.from_iterable(sides_recorded)]):
            measured(run)
        unit = unit_of(comparison)
        for metric, of in of_recordings(comparison, unit):
            sides = _sides(comparison, of)
            if sides is not None:
                found.append(Observed(metric, *sides))
    return [one for one in found if _known(one)]


def _known(one: Observed) -> bool:
    values = one.base.value, one.new.value
    return bool(np.isfinite(values).all()) and any(values)


Counted = Callable[[Run], tuple[Floats, Floats] | None]


def of_recordings(comparison: Comparison, unit: Unit) -> list[tuple[Metric, Counted]]:
    # What is above and below in each block of a run.
    found: list[tuple[Metric, Counted]] = []
    for name, rows in TIMES.items():
        metric = Metric(f"{name}_per_{unit}", f"ns/{unit}")
        found.append((metric, partial(_times, rows=rows, unit=unit)))
    for name in ("switches", "migrations"):
        metric = Metric(f"{name}_per_{unit}", f"1/{unit}", "")
        found.append((metric, partial(_counts, name=name, unit=unit)))
    found.append((VICTIM_SHARE, partial(own_time, task=comparison.victim)))
    found.append((STOLEN_SHARE, _stolen))
    found.append((BATCH, _batch))
    found.append((CLIENT_FREES, client_frees))
    return found


def _times(run: Run, rows: Rows, unit: Unit) -> tuple[Floats, Floats]:
    own = measured(run)
    return by_block(own, rows(own.sums)), units_of(run)[unit]


def by_block(own: Measured, rows: "pd.Series[bool]") -> Floats:
    # ns of these rows of the sums in each block.
    chosen = own.sums[rows.to_numpy(dtype=bool)]
    return np.bincount(chosen["block"], chosen["ns"], len(own.seconds)).astype("float64")


def _counts(run: Run, name: str, unit: Unit) -> tuple[Floats, Floats] | None:
    counted = getattr(measured(run), name)
    return None if counted is None else (counted, units_of(run)[unit])


def own_time(run: Run, task: Task | None = None) -> tuple[Floats, Floats] | None:
    # A task's own time over the time that passed: 1 is a CPU of its own. None: the bundle's victim.
    victim = victim_of(run, task)
    if victim is None:
        return None
    own = measured(run)
    of_victim = own.sums.index.isin(rows_of(own.sums, victim).index)
    its_own = (own.sums["context"] == "task") & of_victim
    if not its_own.any():
        return None
    return by_block(own, its_own), own.seconds * 1e9


def _stolen(run: Run) -> tuple[Floats, Floats]:
    # Of all tasks' time on a CPU, whoever they are.
    own = measured(run)
    on_cpu = (own.sums["tid"] > 0).fillna(False).astype(bool)
    stolen = on_cpu & (own.sums["cost_class"] == "stolen").astype(bool)
    return by_block(own, stolen), by_block(own, on_cpu)


def _batch(run: Run) -> tuple[Floats, Floats] | None:
    return busiest(measured(run))


def _sides(comparison: Comparison, of: Counted) -> list[Side] | None:
    # Repeats where both sides have enough, else all their blocks: of these runs, and no others.
    runs = [[of(run) for run in side.recorded] for side in comparison.sides.values()]
    known = [[pair for pair in side if pair is not None] for side in runs]
    if [*map(len, known)] != [*map(len, runs)]:
        return None
    return sides_of(known)


def sides_of(known: list[list[tuple[Floats, Floats]]]) -> list[Side]:
    # Of what is above and below in each block of each run of one side or several: repeats where all
    # have enough of them, else all their blocks.
    if min(map(len, known)) >= LEAST_REPEATS:
        return [
            repeats(np.array([above.sum() / below.sum() for above, below in side]))
            for side in known
        ]
    joined = [
        (np.concatenate([above for above, _ in side]), np.concatenate([below for _, below in side]))
        for side in known
    ]
    return list(blocks(*joined))


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


def throughputs(comparison: Comparison) -> tuple[str, list[Floats], str] | None:
    # The unit, the units a second of each run of base and new, and who counted: of those measured
    # without a recording where there are any, for recording slows them. None where nobody counted.
    sides = []
    for side in comparison.sides.values():
        runs = [run for run in side if not run.is_recorded] or list(side)
        sides.append([throughput_of(run) for run in runs])
    for unit in ("transaction", "work", "byte", "packet"):
        found = [[one[unit] for one in side if unit in one] for side in sides]
        sources = {source for side in found for _, source in side}
        if all(found) and len(sources) == 1:
            rates = [np.array([rate for rate, _ in side]) for side in found]
            return unit, rates, sources.pop()
    return None

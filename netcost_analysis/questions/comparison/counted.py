# What the metrics of a comparison count in a recording, block by block. None is a share of a total
# that grows with the throughput.

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unmet
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...stats.change import Counts
from ...timeline.facts import tracepoint_groups
from ...timeline.reading import displaced_waits, once
from ...timeline.task import Task, rows_of
from ..processes.skb_frees import EVENTS, freed
from .run_blocks import busiest, by_block, run_blocks
from .tasks import client_of, scheduled_of, victim_of
from .work import Unit, units_of

# Numerator and denominator of a metric in each block of a run; None where the run lacks it.
Counted = Callable[[Run], Counts | None]


# What a metric depends on. "times": owners of CPU time. "counts": what a recording counted, whoever
# had the CPU. "figures": neither, for a step's figures are measured beside recordings.
Kind = Literal["times", "counts", "figures"]


class Metric(NamedTuple):
    # unit: of a value. better: "more", "less", or "" for neither. relative: whether its change is
    # given as a share of the base's value.
    name: str
    unit: str
    better: str = "less"
    relative: bool = True
    kind: Kind = "times"


def network(sums: pd.DataFrame) -> "pd.Series[bool]":
    return (sums["is_network"] == "yes").astype(bool)


# CPU times, which are divided by the work done: of network time what has one of these values in a
# column of a run's sums.
_TIMES = {
    "network_ns": ("is_network", ["yes"]),
    "network_softirq_ns": ("context", ["softirq", "poll"]),
    "network_irq_ns": ("context", ["hardirq", "vector"]),
    "stolen_ns": ("cost_class", ["stolen"]),
    "synchronous_ns": ("cost_class", ["synchronous"]),
    "scheduled_ns": ("cost_class", ["scheduled"]),
    "from_idle_ns": ("cost_class", ["from_idle"]),
}
VICTIM_SHARE = Metric("victim_share", "share", "more", False)


def of_recordings(comparison: Comparison, unit: Unit) -> list[tuple[Metric, Counted]]:
    times = [
        (Metric(f"{name}_per_{unit}", f"ns/{unit}"), partial(_time, name=name, unit=unit))
        for name in (*_TIMES, "busy_ns")
    ]
    counts = [
        (
            Metric(f"{name}_per_{unit}", f"1/{unit}", "", kind="counts"),
            partial(_count, name=name, unit=unit),
        )
        for name in ("switches", "migrations")
    ]
    return [
        *times,
        *counts,
        (VICTIM_SHARE, partial(own_time, task=comparison.victim)),
        # It grows with the throughput, so neither direction is better.
        (Metric("stolen_share", "share", "", False), _stolen),
        (Metric("batch_mean", "packets", "", kind="counts"), lambda run: busiest(run_blocks(run))),
        # Work that moves between client and server is neither better nor worse.
        (Metric("client_frees_share", "share", "", False, "counts"), _client_frees),
    ]


def read(run: Run) -> None:
    # What needs the run's timelines, one after the other: only those of one run are kept. Waits
    # first: where they are followed, native keeps the rows.
    for timeline in run.timelines():
        displaced_waits(timeline)
    run_blocks(run)
    scheduled_of(run)
    _client_frees(run)


def _time(run: Run, name: str, unit: Unit) -> Counts:
    recording = run_blocks(run)
    rows = recording.sums
    if name in _TIMES:
        column, values = _TIMES[name]
        rows = rows[network(rows) & rows[column].isin(values)]
    else:
        rows = rows[~rows["context"].isin(["idle", "unknown"])]
    return by_block(recording, rows), units_of(run)[unit]


def _count(run: Run, name: str, unit: Unit) -> Counts | None:
    counted = getattr(run_blocks(run), name)
    return None if counted is None else (counted, units_of(run)[unit])


def own_time(run: Run, task: Task | None = None) -> Counts | None:
    # A task's own time over the time that passed: 1 is a whole CPU. task None: the bundle's victim.
    victim = victim_of(run, task)
    if victim is None:
        return None
    recording = run_blocks(run)
    of_victim = rows_of(recording.sums, victim)
    its_own = of_victim[of_victim["context"] == "task"]
    return (by_block(recording, its_own), recording.seconds * 1e9) if len(its_own) else None


def _stolen(run: Run) -> Counts:
    # As a share of the time that any task was on a CPU.
    recording = run_blocks(run)
    on_cpu = recording.sums[(recording.sums["tid"] > 0).fillna(False).astype(bool)]
    stolen = on_cpu[(on_cpu["cost_class"] == "stolen").astype(bool)]
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

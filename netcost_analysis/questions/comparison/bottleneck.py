# What limits the throughput of a comparison's base: who has no time to spare.

from typing import NamedTuple

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...stats.resampling import Floats
from ...timeline.task import Task, rows_of
from .measured import Measured, ends_of, measured, scheduled_of, victim_of
from .metrics import by_block, network

# Of its time: who slept no more of it has none to spare.
SATURATED = 0.95
ENDS = ("client", "server")


class Candidate(NamedTuple):
    # name: "client", "server" or "CPU 0". base_busy_share, new_busy_share: of its time, what it was
    # not asleep, or not idle; NaN where not known. base_cpu_share, new_cpu_share: what it had of a
    # CPU's time; of a CPU what it was in use. is_bottleneck: the one that was chosen.
    name: str
    base_busy_share: float
    new_busy_share: float
    base_cpu_share: float
    new_cpu_share: float
    is_bottleneck: bool = False

    @property
    def is_saturated(self) -> bool:
        return self.base_busy_share >= SATURATED


class Times(NamedTuple):
    # ns in each block of a run. had: a process had a CPU, of a CPU: all its time. softirq, net_rx:
    # softirqs of the network in it. spare: it slept, or was idle; None where unknown. life: of
    # these the time that it had, waited for and slept; of a CPU all.
    had: Floats
    softirq: Floats
    net_rx: Floats
    spare: Floats | None
    life: Floats | None


def task_of(run: Run, end: str, comparison: Comparison) -> Task | None:
    # Who is the client, or the server, of a run.
    given: Task | None = getattr(comparison, end)
    return ends_of(run).get(end) if given is None else given


def times_of(run: Run, name: str, comparison: Comparison) -> Times | None:
    # Of a candidate in a run; None where it is not in it.
    own = measured(run)
    if name in ENDS:
        task = task_of(run, name, comparison)
        rows = rows_of(own.sums, task) if task is not None else own.sums[:0]
        if not len(rows):
            return None
        spare = life = None
        had = _in_rows(own, rows)
        if scheduled_of(run) is not None and rows["tid"].nunique() == 1:
            asleep, woken, preempted = (
                of_task(run, task, what, "ns") for what in ("asleep", "wake-up", "runnable")
            )
            spare, life = asleep, had + woken + preempted + asleep
    else:
        rows = own.sums[own.sums["cpu"] == int(name.removeprefix("CPU "))]
        if not len(rows):
            return None
        had = life = own.seconds * 1e9
        spare = _in_rows(own, rows[_spare(rows, run, comparison)])
    softirqs = rows[(network(rows) & rows["context"].isin(["softirq", "poll"])).to_numpy(bool)]
    received = softirqs[(softirqs["thief"] != "NET_TX").to_numpy(bool)]
    return Times(had, _in_rows(own, softirqs), _in_rows(own, received), spare, life)


def of_task(run: Run, task: Task | None, what: str, column: str) -> Floats:
    # count or ns of what the scheduler did to a task, in each block.
    moves = scheduled_of(run)
    assert moves is not None
    rows = rows_of(moves[moves["what"] == what], task)
    number = len(measured(run).seconds)
    return np.bincount(rows["block"], rows[column], number).astype("float64")


def _in_rows(own: Measured, rows: pd.DataFrame) -> Floats:
    return by_block(own, pd.Series(own.sums.index.isin(rows.index)))


def _spare(rows: pd.DataFrame, run: Run, comparison: Comparison) -> "pd.Series[bool]":
    # A victim's own time is a softirq's to take.
    victim = victim_of(run, comparison.victim)
    idle = rows["context"].isin(["idle", "unknown"])
    if victim is None:
        return idle
    own = rows.index.isin(rows_of(rows, victim).index)
    return idle | ((rows["context"] == "task") & own).astype(bool)


def candidates(comparison: Comparison) -> list[Candidate]:
    # Client and server where every run has both, else its CPUs; of those without time to spare the
    # one that is most busy with the network is the bottleneck.
    runs = [run for side in comparison.sides.values() for run in side.recorded]
    names: list[str] = list(ENDS)
    if any(task_of(run, end, comparison) is None for run in runs for end in ENDS):
        cpus = [set(measured(run).sums["cpu"].unique()) for run in runs]
        names = [f"CPU {cpu}" for cpu in sorted(set.intersection(*cpus))]
    found, taken = [], {}
    for name in names:
        shares = {}
        for side, of in comparison.sides.items():
            known = [(run, times_of(run, name, comparison)) for run in of.recorded]
            shares[side] = _shares([(run, one) for run, one in known if one is not None])
            if side == "base":
                taken[name] = sum(one.softirq.sum() for _, one in known if one is not None)
        (base, base_cpu), (new, new_cpu) = shares["base"], shares["new"]
        found.append(Candidate(name, base, new, base_cpu, new_cpu))
    saturated = [one for one in found if one.is_saturated]
    if not saturated:
        return found
    limit = max(saturated, key=lambda one: taken[one.name])
    return [one._replace(is_bottleneck=one is limit) for one in found]


def _shares(known: list[tuple[Run, Times]]) -> tuple[float, float]:
    # Busy, of its life; and on a CPU, of the time that passed.
    passed = sum(1e9 * measured(run).seconds.sum() for run, _ in known)
    if not passed:
        return float("nan"), float("nan")
    on_cpu = float(sum(times.had.sum() for _, times in known) / passed)
    spare, life = 0.0, 0.0
    for _, times in known:
        if times.spare is None or times.life is None:
            return float("nan"), on_cpu
        spare += times.spare.sum()
        life += times.life.sum()
    return 1 - spare / life, on_cpu

# What limits the throughput of the base: the client, the server or a CPU that has no idle time.

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...stats.change import Change
from ...timeline.reading import once
from ...timeline.task import rows_of
from .counted import network
from .run_blocks import by_block, run_blocks
from .tasks import of_task, scheduled_of, task_of, victim_of
from .work import Unit, require_recorded, unit_of

# Busy for this share of the time: no time to spare.
SATURATED = 0.95
ENDS = ("client", "server")
_KEPT = ["passed", "had", "spare", "life", "softirq", "net_rx"]


def require_work(comparison: Comparison) -> Unit:
    require_recorded(comparison, "what limits its throughput")
    unit = unit_of(comparison)
    if unit.name == "second":
        raise CaptureError(
            "the work of the two sides was not counted in the same way (packets, bytes, "
            "transactions), so there is no time per unit of it"
        )
    return unit


@once
def times_of(run: Run, name: str, comparison: Comparison) -> pd.DataFrame | None:
    # ns of a candidate in each block; None where the run does not have it. passed: the block's
    # time. had: the process was on a CPU; for a CPU, all of its time. softirq, net_rx: network
    # softirqs within that. spare: the process slept, or the CPU was idle. life: time on a CPU,
    # waiting for one and asleep; for a CPU, all of its time. NaN where unknown.
    recording = run_blocks(run)
    passed = recording.seconds * 1e9
    spare = life = np.full(len(passed), np.nan)
    if name in ENDS:
        task = task_of(run, name, comparison)
        rows = recording.sums[:0] if task is None else rows_of(recording.sums, task)
        had = by_block(recording, rows)
        if scheduled_of(run) is not None and rows["tid"].nunique() == 1:
            spare = of_task(run, task, "asleep", "ns")
            life = had + spare
            life += sum(of_task(run, task, what, "ns") for what in ("wake-up", "runnable"))
    else:
        rows = recording.sums[recording.sums["cpu"] == int(name.removeprefix("CPU "))]
        had = life = passed
        # Softirqs run before the victim, so its own time is spare time for them.
        is_spare = rows["context"].isin(["idle", "unknown"])
        if (victim := victim_of(run, comparison.victim)) is not None:
            is_own = rows.index.isin(rows_of(rows, victim).index)
            is_spare |= (rows["context"] == "task").astype(bool) & is_own
        spare = by_block(recording, rows[is_spare])
    if not len(rows):
        return None
    softirqs = rows[(network(rows) & rows["context"].isin(["softirq", "poll"])).to_numpy(bool)]
    received = softirqs[(softirqs["thief"] != "NET_TX").to_numpy(bool)]
    return pd.DataFrame(
        {
            "passed": passed,
            "had": had,
            "spare": spare,
            "life": life,
            "softirq": by_block(recording, softirqs),
            "net_rx": by_block(recording, received),
        }
    )


def cost_columns(costs: Change) -> dict[str, float]:
    return {
        "base_ns_per_unit": costs.base,
        "new_ns_per_unit": costs.new,
        "difference_ns": costs.change,
        "difference_low_ns": costs.low,
        "difference_high_ns": costs.high,
    }


def candidates(comparison: Comparison) -> pd.DataFrame:
    # Client and server where every run has both, else the CPUs. The bottleneck is the candidate
    # without time to spare that spends most time in network softirqs.
    names: list[str] = list(ENDS)
    if any(task_of(run, end, comparison) is None for run in comparison.recorded for end in ENDS):
        cpus = [set(run_blocks(run).sums["cpu"].unique()) for run in comparison.recorded]
        names = [f"CPU {cpu}" for cpu in sorted(set.intersection(*cpus))]
    rows, softirq_ns = [], []
    for name in names:
        ns = {}
        for side, of in comparison.sides.items():
            found = (times_of(run, name, comparison) for run in of.recorded)
            known = [times for times in found if times is not None] or [pd.DataFrame(columns=_KEPT)]
            ns[side] = pd.concat(known).sum(skipna=False, min_count=1).astype("float64")
        busy = {f"{side}_busy_share": 1 - of["spare"] / of["life"] for side, of in ns.items()}
        on_cpu = {f"{side}_cpu_share": of["had"] / of["passed"] for side, of in ns.items()}
        rows.append({"candidate": name, **busy, **on_cpu})
        softirq_ns.append(ns["base"]["softirq"])
    columns = ["candidate", *(f"{s}_{of}_share" for of in ("busy", "cpu") for s in ("base", "new"))]
    frame = pd.DataFrame(rows, columns=columns)
    is_saturated = frame["base_busy_share"] >= SATURATED
    saturated_ns = pd.Series(softirq_ns, dtype="float64")[is_saturated]
    limit = saturated_ns.idxmax() if len(saturated_ns) else None
    return frame.assign(is_bottleneck=frame.index == limit)

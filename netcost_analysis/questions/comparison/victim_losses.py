# Who had the CPU time that a victim did not have. A neighbour's share is not the network's doing.

from typing import Any

import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...timeline.owners import INTERRUPT_CONTEXTS
from ...timeline.reading import once
from ...timeline.task import Task, by_of, is_of, rows_of
from ..waited_for import holders
from .rules_host import programs
from .run_blocks import run_blocks
from .tasks import victim_of

NEIGHBOURS = "neighbours"
TAKERS = (
    *("victim", "network interrupts", "other interrupts", "network threads", "load"),
    *(NEIGHBOURS, "slept"),
)
_THREADS = ("ksoftirqd/", "napi/")
_COLUMNS = ("taker", "base_share", "new_share", "run_most_share", "most_run")


def victim_losses(comparison: Comparison) -> pd.DataFrame:
    # A row per taker; none where a run has no victim, or nobody knows for whom it waited.
    sides = []
    for side in comparison.sides.values():
        found = [(run, _taken(run, comparison.victim)) for run in side.recorded]
        known = [(run, one) for run, one in found if one is not None]
        if not known or len(known) < len(found):
            return pd.DataFrame(columns=[*_COLUMNS])
        sides.append(known)
    rows: list[dict[str, Any]] = []
    for taker in TAKERS:
        shares = [
            sum(one[taker] for _, one in side) / sum(sum(one.values()) for _, one in side)
            for side in sides
        ]
        each = {run.name: one[taker] / sum(one.values()) for side in sides for run, one in side}
        most = max(each, key=lambda name: each[name])
        rows.append(dict(zip(_COLUMNS, (taker, *shares, each[most], most), strict=True)))
    return pd.DataFrame(rows)


@once
def _taken(run: Run, given: Task | None) -> dict[str, float] | None:
    # ns by taker; together the time that passed. None where they are not known.
    victim = victim_of(run, given)
    recording = run_blocks(run)
    if victim is None or recording.switches is None:
        return None
    mine = rows_of(recording.sums, victim)
    inside = mine["context"].isin(INTERRUPT_CONTEXTS)
    network = (mine["is_network"].astype(object) == "yes") & inside
    found = dict.fromkeys(TAKERS, 0.0)
    found["victim"] = float(mine.loc[mine["context"] == "task", "ns"].sum())
    found["network interrupts"] = float(mine.loc[network, "ns"].sum())
    found["other interrupts"] = float(mine.loc[inside & ~network, "ns"].sum())
    for timeline in run.timelines():
        held = holders(timeline, "tid")
        for tid, comm, holder, ns in zip(*(held[name] for name in _HELD), strict=True):
            if is_of(comm if by_of(victim) == "comm" else (tid, comm), victim):
                found[_taker(run, holder)] += ns
    found["slept"] = max(float(recording.seconds.sum() * 1e9) - sum(found.values()), 0.0)
    return found if found["victim"] else None


_HELD = ("tid", "comm", "holder_comm", "ns")


def _taker(run: Run, holder: str) -> str:
    if holder.startswith(_THREADS):
        return "network threads"
    if holder in programs(run):
        return "load"
    # While a CPU was being woken or switched nobody took it.
    return "slept" if holder in ("(idle)", "(unknown)") else NEIGHBOURS

# In whose context CPU time was spent, as a comparison tells it apart.

import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_task
from ...masking.names import is_kernel_thread
from ...timeline.task import Task, rows_of
from .measured import Measured, ends_of, measured, victim_of

CONTEXTS = ("client", "server", "victim", "kernel thread", "other", "idle", "unknown")


def require_tasks(comparison: Comparison) -> None:
    # Raises AbsentError for a named task that is in no recording: its figures would be absent, or
    # another's, and nobody told.
    runs = [run for side in comparison.sides.values() for run in side.recorded]
    for task in (comparison.victim, comparison.client, comparison.server):
        if task is None or any(
            len(rows_of(measured(run).sums, victim_of(run, task))) for run in runs
        ):
            continue
        names = [str(one) for run in runs for one in measured(run).sums["comm"].dropna().unique()]
        raise AbsentError(no_task(task, list(dict.fromkeys(names))))


def process_contexts(run: Run, own: Measured, comparison: Comparison) -> "pd.Series[str]":
    # Of each row of a run's sums.
    sums = own.sums
    found = pd.Series("other", index=sums.index)
    comm = sums["comm"].astype("string").fillna("")
    names = {name: is_kernel_thread(name) for name in comm.unique()}
    # Recordings have no flag of it.
    found = found.mask(comm.map(names).astype(bool), "kernel thread")
    victim, ends = victim_of(run, comparison.victim), ends_of(run)
    named: list[tuple[str, Task | None]] = [
        ("victim", victim),
        ("client", comparison.client or ends.get("client")),
        ("server", comparison.server or ends.get("server")),
    ]
    for name, task in named:
        if task is not None:
            found[rows_of(sums, task).index] = name
    found = found.mask(sums["tid"].eq(0).fillna(False).astype(bool), "idle")
    return found.mask(sums["context"] == "unknown", "unknown")

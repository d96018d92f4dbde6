# How often tasks were migrated, by cause.

import pandas as pd

from ...answers.question import question
from ...timeline.by import TaskBy
from ...timeline.owners import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ..moments import NEXT
from ..processes.keys import task_keys
from .migrations import migrations

_CAUSES = ("wake-up", "balance", "stopper", "stopper: exec")


@question(needs=("sched:sched_migrate_task", "sched:sched_switch"), inputs=("migrations", NEXT))
def migration_rates(timeline: Timeline, by: TaskBy = "comm") -> pd.DataFrame:
    """How often tasks were migrated, by cause.

    - by: What tells rows apart: "tid" with the name, "cpu" the one they left.

    A row per task that was migrated, falling by migrations: migrations, migrations_per_s (over the
    window), migrations_per_on_cpu_s (over the task's time on CPU; NaN by "cpu"), wake_up, balance,
    stopper, exec (counts of each cause; they add up to migrations), to_idle (how many went to a CPU
    that was known to be idle).

    Source: migrations(), and the timeline's sums.
    """
    keys = task_keys(by)
    rows = migrations(timeline)
    rows = rows.assign(comm=plain_names(rows["comm"]), cpu=rows["orig_cpu"])
    groups = rows.groupby(keys, dropna=False)
    frame = groups.size().rename("migrations").to_frame()
    frame["migrations_per_s"] = frame["migrations"] / (timeline.duration_ns / 1e9 or float("nan"))
    frame["migrations_per_on_cpu_s"] = float("nan")
    if by != "cpu":
        own = of_tasks(timeline.sums())
        own = own.assign(tid=own["tid"].astype("Int64"), comm=plain_names(own["comm"]))
        seconds = own.groupby(keys)["ns"].sum().reindex(frame.index) / 1e9
        frame["migrations_per_on_cpu_s"] = frame["migrations"] / seconds.where(seconds > 0)
    for cause, name in zip(_CAUSES, ("wake_up", "balance", "stopper", "exec"), strict=True):
        of_cause = rows[(rows["cause"] == cause).to_numpy()].groupby(keys, dropna=False).size()
        frame[name] = of_cause.reindex(frame.index, fill_value=0).astype("int64")
    idle = rows[rows["dest_idle"].fillna(False).to_numpy(dtype=bool)]
    frame["to_idle"] = idle.groupby(keys).size().reindex(frame.index, fill_value=0).astype("int64")
    frame = frame.reset_index()
    return frame.sort_values("migrations", ascending=False, kind="stable", ignore_index=True)

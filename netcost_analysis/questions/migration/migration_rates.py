# How often tasks were migrated, by cause.

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.owners import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ..moments import NEXT
from .migrations import migrations

_CAUSES = {
    "wake-up": "wake_up",
    "balance": "balance",
    "stopper": "stopper",
    "stopper: exec": "exec",
}


@question(needs=("sched:sched_migrate_task", "sched:sched_switch"), inputs=("migrations", NEXT))
def migration_rates(timeline: Timeline, by: TaskBy = "comm") -> Answer:
    """How often tasks were migrated, by cause.

    A row per task that was migrated, or per CPU that it left, most migrations first.
    migrations_per_on_cpu_s is NaN by "cpu". Source: migrations(), and the timeline's sums.
    """
    check_by(by, TaskBy)
    keys = victim_keys(by)
    rows = migrations(timeline).frame
    rows = rows.assign(comm=plain_names(rows["comm"]), cpu=rows["orig_cpu"])
    frame = rows.groupby(keys, dropna=False).size().rename("migrations").to_frame()
    frame["migrations_per_s"] = frame["migrations"] / (timeline.duration_ns / 1e9 or float("nan"))
    frame["migrations_per_on_cpu_s"] = float("nan")
    if by != "cpu":
        own = of_tasks(timeline.sums())
        own = own.assign(tid=own["tid"].astype("Int64"), comm=plain_names(own["comm"]))
        seconds = own.groupby(keys)["ns"].sum().reindex(frame.index) / 1e9
        frame["migrations_per_on_cpu_s"] = frame["migrations"] / seconds.where(seconds > 0)
    counted = {name: rows["cause"] == cause for cause, name in _CAUSES.items()}
    counted["to_idle"] = rows["dest_idle"].fillna(False).astype(bool)
    for name, is_counted in counted.items():
        count = is_counted.groupby([rows[key] for key in keys], dropna=False).sum()
        frame[name] = count.astype("int64")
    frame = frame.reset_index()
    frame = frame.sort_values("migrations", ascending=False, kind="stable", ignore_index=True)
    return Answer(frame)

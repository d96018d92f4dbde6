# What was migrated, why, and who held either CPU.

from typing import NamedTuple

import pandas as pd

from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ...units import ranges
from ..processes.keys import TaskBy, in_window, task_keys
from ..question import question

_CAUSES = ("wake-up", "balance", "stopper", "stopper: exec")


@question(needs=("sched:sched_migrate_task", "sched:sched_switch"))
def migrations(timeline: Timeline) -> pd.DataFrame:
    """Every migration, with its cause, who held either CPU, and how long the task then waited.

    Returns a row per sched_migrate_task in order of time: time_ns, tid, comm, orig_cpu, dest_cpu,
    cause ("wake-up", "balance", "stopper", "stopper: exec"), orig_holder_tid, orig_holder_comm,
    dest_holder_tid, dest_holder_comm (who ran on either CPU then), dest_idle (whether that was the
    idle task; NA where unknown), until_run_ns (Int64, until the task next began to run, NA where it
    did not, or the CPUs' clocks disagree), ran_on_dest (whether that was on dest_cpu). Raises
    MissingEventsError without sched_migrate_task or sched_switch. Source: the tables migrations and
    slices.
    """
    timeline.load("migrations", "slices")
    moved = timeline.migrations
    moved = moved[in_window(moved["time_ns"], timeline)]
    return migrations_from(moved, timeline.slices, timeline.across_cpus)


def migrations_from(
    moved: pd.DataFrame, slices: pd.DataFrame, across_cpus: bool = True
) -> pd.DataFrame:
    # migrations() on the tables.
    frame = moved.copy()
    for name in ("comm", "cause", "orig_holder_comm", "dest_holder_comm"):
        known = frame[name].notna()
        frame[name] = frame[name].astype(object).where(known, None)
    frame["tid"] = frame["tid"].astype("int64")
    frame = frame.sort_values("time_ns", kind="stable", ignore_index=True)
    holder = frame["dest_holder_tid"].astype("Int64")
    frame["dest_idle"] = (holder == 0).astype("boolean")
    stays = slices[slices["tid"].notna().to_numpy()]
    stays = pd.DataFrame(
        {
            "tid": stays["tid"].astype("int64"),
            "in_ns": stays["in_ns"].astype("int64"),
            "ran_on": stays["cpu"].astype("Int64"),
        }
    ).sort_values("in_ns", kind="stable")
    next_stay = pd.merge_asof(
        frame[["time_ns", "tid"]].astype({"time_ns": "int64"}),
        stays,
        left_on="time_ns",
        right_on="in_ns",
        by="tid",
        direction="forward",
    )
    came = next_stay["ran_on"].notna() & across_cpus
    until = next_stay["in_ns"].astype("Int64") - frame["time_ns"].astype("Int64")
    frame["until_run_ns"] = until.mask(~came)
    on_dest = next_stay["ran_on"] == frame["dest_cpu"].astype("Int64")
    frame["ran_on_dest"] = on_dest.astype("boolean").mask(~came)
    return frame


@question(needs=("sched:sched_migrate_task", "sched:sched_switch"))
def migration_rates(timeline: Timeline, by: TaskBy = "comm") -> pd.DataFrame:
    """How often tasks were migrated, by cause.

    by: "comm", "tid" (and name) or "cpu" (the one they left). Returns a row per task that was
    migrated, falling by migrations: migrations, migrations_per_s (over the window),
    migrations_per_on_cpu_s (over the task's time on CPU; NaN by "cpu"), wake_up, balance, stopper,
    exec (counts of each cause; they add up to migrations), to_idle (how many went to a CPU that was
    known to be idle). Raises as migrations().
    """
    keys = task_keys(by)
    rows = migrations(timeline)
    sums = timeline.sums()
    on_cpu_ns = None
    if by != "cpu":
        own = of_tasks(sums)
        own = own.assign(tid=own["tid"].astype("Int64"), comm=plain_names(own["comm"]))
        on_cpu_ns = own.groupby(keys)["ns"].sum()
    return migration_rates_from(rows, keys, timeline.duration_ns, on_cpu_ns)


def migration_rates_from(
    rows: pd.DataFrame, keys: list[str], duration_ns: int, on_cpu_ns: "pd.Series[int] | None" = None
) -> pd.DataFrame:
    # migration_rates() on what migrations() returns.
    rows = rows.assign(comm=plain_names(rows["comm"]), cpu=rows["orig_cpu"])
    groups = rows.groupby(keys, dropna=False)
    frame = groups.size().rename("migrations").to_frame()
    frame["migrations_per_s"] = frame["migrations"] / (duration_ns / 1e9 or float("nan"))
    frame["migrations_per_on_cpu_s"] = float("nan")
    if on_cpu_ns is not None:
        seconds = on_cpu_ns.reindex(frame.index) / 1e9
        frame["migrations_per_on_cpu_s"] = frame["migrations"] / seconds.where(seconds > 0)
    for cause, name in zip(_CAUSES, ("wake_up", "balance", "stopper", "exec"), strict=True):
        of_cause = rows[(rows["cause"] == cause).to_numpy()].groupby(keys, dropna=False).size()
        frame[name] = of_cause.reindex(frame.index, fill_value=0).astype("int64")
    idle = rows[rows["dest_idle"].fillna(False).to_numpy(dtype=bool)]
    frame["to_idle"] = idle.groupby(keys).size().reindex(frame.index, fill_value=0).astype("int64")
    frame = frame.reset_index()
    return frame.sort_values("migrations", ascending=False, kind="stable", ignore_index=True)


def incomparable(timeline: Timeline, moved: pd.DataFrame) -> str | None:
    """Why what a task got before a migration and after it cannot be set side by side, if so.

    moved: of migrations().
    """
    here = list(timeline.summary["cpus"])
    ends = set(moved["orig_cpu"].dropna()) | set(moved["dest_cpu"].dropna())
    other = sorted(int(cpu) for cpu in ends.difference(here))
    if other:
        cpus = f"CPU{'' if len(other) == 1 else 's'} {ranges(other)}"
        return (
            f"tasks were moved to or from {cpus}, of which the timeline has nothing: it takes a "
            "recording, and a timeline, of all CPUs"
        )
    if len(moved) and not timeline.across_cpus:
        return "the clocks of the CPUs that it was moved between disagree"
    return None


class Moves(NamedTuple):
    """Migrations in all: how many a second (NaN for no window), to CPUs idle, busy and unknown.

    until_run_ns: the median time until the task ran again, NaN where that is known of none.
    """

    per_s: float
    to_idle: int
    to_busy: int
    to_unknown: int
    until_run_ns: float


def moves_of(rows: pd.DataFrame, duration_ns: int) -> Moves:
    """Counts over migrations(). duration_ns: the window's."""
    idle = rows["dest_idle"].dropna()
    to_idle = int(idle.sum())
    return Moves(
        len(rows) / (duration_ns / 1e9) if duration_ns else float("nan"),
        to_idle,
        len(idle) - to_idle,
        len(rows) - len(idle),
        float(rows["until_run_ns"].dropna().astype("int64").median()),
    )

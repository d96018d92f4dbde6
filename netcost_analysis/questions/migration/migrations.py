# What was migrated, why, how often, and who held either CPU.

from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...frames import most_first, to_frame
from ...spans import columns
from ...timeline.aggregates import Aggregate
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.owners import of_tasks, plain_names
from ...timeline.reading import bounds_of, rows
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from ...units import ranges
from ..moments import Moments, asked
from ..processes.traffic import endpoints

# Of a page's picture: as many tasks as fit.
_MAX_ROWS = 11


def _after_each(timeline: Timeline) -> Moments:
    tids, times = columns(moved_tasks(timeline), "tid", "time_ns")
    return asked("next", tids, times)


# When and where each task began to run after each of its migrations: in_ns, ran_on; NA for never.
NEXT = Aggregate(_after_each)


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    inputs=("migrations", NEXT, OF_EXCERPT),
    columns=(
        *("time_ns", "tid", "comm", "orig_cpu", "dest_cpu", "cause", "dest_idle", "until_run_ns"),
    ),
)
def migrations(timeline: Timeline) -> Answer:
    """Every migration: its cause, what held either CPU, and how long the task then waited.

    A row per sched_migrate_task in order of time. When the task ran again is NA where it did not,
    or where the CPUs' clocks disagree. Source: the tables migrations and slices.
    """
    frame = moved_tasks(timeline).astype({"cause": object})
    frame["dest_idle"] = frame["dest_holder_tid"].astype("Int64") == 0
    next_stay = to_frame(NEXT(timeline)["moments"])
    came = next_stay["ran_on"].notna() & (not timeline.missing["clocks"])
    until = next_stay["in_ns"].astype("Int64") - frame["time_ns"].astype("Int64")
    frame["until_run_ns"] = until.mask(~came)
    on_dest = next_stay["ran_on"] == frame["dest_cpu"]
    frame["ran_on_dest"] = on_dest.astype("boolean").mask(~came)
    causes = frame["cause"].value_counts().rename_axis("cause").reset_index(name="migrations")
    return Answer(frame, in_all=_in_all(frame, timeline.duration_ns), causes=causes)


def moved_tasks(timeline: Timeline) -> pd.DataFrame:
    # The migrations of the window, in order of time.
    (moved,) = rows(timeline, "migrations")
    inside = moved[bounds_of(timeline).has(moved["time_ns"])].astype({"tid": "int64"})
    return inside.sort_values("time_ns", kind="stable", ignore_index=True)


def _in_all(frame: pd.DataFrame, duration_ns: int) -> dict[str, Any]:
    is_idle, until_run_ns = frame["dest_idle"].dropna(), frame["until_run_ns"].dropna()
    return {
        "migrations": len(frame),
        "duration_ns": duration_ns,
        "migrations_per_s": len(frame) / (duration_ns / 1e9) if duration_ns else None,
        "to_idle": int(is_idle.sum()),
        "to_busy": int((~is_idle).sum()),
        "to_unknown": len(frame) - len(is_idle),
        "until_run_median_ns": float(until_run_ns.median()) if len(until_run_ns) else None,
    }


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
            f"tasks moved to or from {cpus}, which the timeline does not cover: this needs a "
            "recording, and a timeline, of all CPUs"
        )
    if len(moved) and timeline.missing["clocks"]:
        return "the clocks of the CPUs that it moved between disagree"
    return None


def _height(answer: Answer) -> float:
    # A row for each of client and server, and one for each name of the others.
    rows, tids = answer.frame, endpoints(answer.timeline)
    names = rows["comm"].where(~rows["tid"].isin(tids)).nunique() + len(tids)
    return 1.3 + 0.24 * min(names, _MAX_ROWS)


@migrations.plot(title="Migrations over time, by task and cause", height=_height)
def _over_time(ax: "plots.Axes", answer: Answer) -> None:
    line = answer.timeline
    plots.tasks.moves(ax, answer.frame, bounds_of(line).span, endpoints(line))


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
    counted = {name: rows["cause"] == cause for cause, name in _CAUSES.items()}
    counted["to_idle"] = rows["dest_idle"].fillna(False)
    rows = rows.assign(comm=plain_names(rows["comm"]), cpu=rows["orig_cpu"], migrations=1)
    groups = rows.assign(**counted).groupby(keys, dropna=False)
    frame = groups[["migrations", *counted]].sum()
    seconds = pd.Series(float("nan"), frame.index)
    if by != "cpu":
        own = of_tasks(timeline.sums())
        own = own.assign(tid=own["tid"].astype("Int64"), comm=plain_names(own["comm"]))
        seconds = own.groupby(keys)["ns"].sum().reindex(frame.index) / 1e9
    per_s = frame["migrations"] / (timeline.duration_ns / 1e9 or float("nan"))
    frame.insert(1, "migrations_per_s", per_s)
    frame.insert(2, "migrations_per_on_cpu_s", frame["migrations"] / seconds.where(seconds > 0))
    return Answer(most_first(frame.reset_index(), "migrations"))

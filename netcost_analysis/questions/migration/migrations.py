# What was migrated, why, and who held either CPU.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...spans import columns
from ...timeline.reading import in_window, rows
from ...timeline.timeline import Timeline
from ...units import ranges
from ..moments import NEXT, next_stays
from ..processes.endpoints import endpoints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of a page's picture: as many tasks as fit.
_MAX_ROWS = 11


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    inputs=("migrations", NEXT),
    columns=(
        *("time_ns", "tid", "comm", "orig_cpu", "dest_cpu", "cause", "dest_idle", "until_run_ns"),
    ),
)
def migrations(timeline: Timeline) -> pd.DataFrame:
    """Every migration, with its cause, who held either CPU, and how long the task then waited.

    A row per sched_migrate_task in order of time: time_ns (instant), tid, comm, orig_cpu, dest_cpu,
    cause ("wake-up", "balance", "stopper", "stopper: exec"), orig_holder_tid, orig_holder_comm,
    dest_holder_tid, dest_holder_comm (who ran on either CPU then), dest_idle (whether that was the
    idle task; NA where unknown), until_run_ns (Int64, until the task next began to run, NA where it
    did not, or the CPUs' clocks disagree), ran_on_dest (whether that was on dest_cpu).

    Source: the tables migrations and slices.
    """
    (moved,) = rows(timeline, "migrations")
    frame = moved[in_window(moved["time_ns"], timeline)].copy()
    for name in ("comm", "cause", "orig_holder_comm", "dest_holder_comm"):
        known = frame[name].notna()
        frame[name] = frame[name].astype(object).where(known, None)
    frame["tid"] = frame["tid"].astype("int64")
    frame = frame.sort_values("time_ns", kind="stable", ignore_index=True)
    holder = frame["dest_holder_tid"].astype("Int64")
    frame["dest_idle"] = (holder == 0).astype("boolean")
    next_stay = next_stays(timeline, *columns(frame, "tid", "time_ns"))
    came = next_stay["ran_on"].notna() & (not timeline.missing["clocks"])
    until = next_stay["in_ns"].astype("Int64") - frame["time_ns"].astype("Int64")
    frame["until_run_ns"] = until.mask(~came)
    on_dest = next_stay["ran_on"] == frame["dest_cpu"].astype("Int64")
    frame["ran_on_dest"] = on_dest.astype("boolean").mask(~came)
    return frame


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
    if len(moved) and timeline.missing["clocks"]:
        return "the clocks of the CPUs that it was moved between disagree"
    return None


class Moves(NamedTuple):
    """Migrations in all.

    migrations, duration_ns (of the window), migrations_per_s (None for no window); to_idle,
    to_busy, to_unknown: to CPUs of which that is known, or not. until_run_median_ns: the median
    time until the task ran again, None where that is known of none.
    """

    migrations: int
    duration_ns: int
    migrations_per_s: float | None
    to_idle: int
    to_busy: int
    to_unknown: int
    until_run_median_ns: float | None


def moves_of(rows: pd.DataFrame, duration_ns: int) -> Moves:
    """Counts over migrations(). duration_ns: the window's."""
    idle = rows["dest_idle"].dropna()
    to_idle = int(idle.sum())
    until_run_ns = rows["until_run_ns"].dropna().astype("int64")
    return Moves(
        len(rows),
        duration_ns,
        len(rows) / (duration_ns / 1e9) if duration_ns else None,
        to_idle,
        len(idle) - to_idle,
        len(rows) - len(idle),
        float(until_run_ns.median()) if len(until_run_ns) else None,
    )


@migrations.totals
def _totals(answer: "Answer") -> dict[str, Moves]:
    return {"in_all": moves_of(answer.frame, answer.timeline.duration_ns)}


@migrations.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # causes: how many of each, most first.
    causes = answer.frame["cause"].value_counts()
    return {**answer.parts["in_all"]._asdict(), "causes": causes.to_dict()}


def _height(answer: "Answer") -> float:
    # A row for each of client and server, and one for each name of the others.
    rows, tids = answer.frame, endpoints(answer.timeline)
    names = rows["comm"].where(~rows["tid"].isin(tids)).nunique() + len(tids)
    return 1.3 + 0.24 * min(names, _MAX_ROWS)


@migrations.plot(
    title="Migrations over time, by task and cause",
    height=_height,
    panels=lambda answer: [{}] if len(answer.frame) else [],
)
def _over_time(ax: "Axes", answer: "Answer") -> None:
    from .plots import moves

    summary = answer.timeline.summary
    window = (summary["start_ns"], summary["end_ns"])
    moves(ax, answer.frame, window, endpoints(answer.timeline))

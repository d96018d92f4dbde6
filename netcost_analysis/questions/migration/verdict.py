# Whether migrations explain anything here, in a word and a sentence.

from dataclasses import dataclass
from math import isnan, nan

import pandas as pd

from ...timeline.aggregate import of_tasks, plain_names, require_task
from ...timeline.timeline import Timeline
from ...units import duration, share
from ..processes.waiting import waited_within
from ..question import question
from .effect import chosen, migration_effect
from .interval import FEWEST
from .listing import incomparable, migrations

# After so long caches are warm again, and a migration's own effect is over.
HORIZON_NS = 10_000_000
# Of a task's time: less explains nothing that anybody asks about.
WORTH = 0.01


@dataclass(frozen=True)
class MigrationVerdict:
    """Whether migrations explain anything of what a task got.

    explains: "yes", "no" or "cannot tell". reason: a sentence. task: who it is about, None for all
    tasks. migrations, migrations_per_s, studied: how many, over the window, and of how many the
    effect is known. horizon_ns: how long a migration is taken to act. reach_share: of the time that
    the task wanted a CPU (on CPU or waiting), how much lies within the horizon after a migration,
    at most. effect, effect_low, effect_high: of a migration on the share of time the task ran, in
    that window (NaN where migration_effect() has NaN). at_stake_low_share, at_stake_high_share:
    what that came to, of the time the task ran in all: lost where negative.
    """

    explains: str
    reason: str
    task: int | str | None
    migrations: int
    migrations_per_s: float
    studied: int
    horizon_ns: int
    reach_share: float
    effect: float
    effect_low: float
    effect_high: float
    at_stake_low_share: float
    at_stake_high_share: float


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    shares=("effect", "effect_low", "effect_high"),
)
def migration_verdict(
    timeline: Timeline, task: int | str | None = None, horizon_ns: int = HORIZON_NS
) -> MigrationVerdict:
    """Whether migrations explain anything of what a task got: yes, no, or cannot tell.

    task: a tid or a name, None for all tasks together. horizon_ns: how long a migration is taken to
    act. "no" where even the loss of all time within the horizon, or the effect's whole interval,
    comes to less than 1 % of the task's time; "yes" where all of the interval comes to more, on one
    side of 0; "cannot tell" otherwise, and where fewer than 10 or less than half could be studied.
    Of several tasks together the effect never says "yes": time that those who were moved gained
    others may have lost. Raises as migrations().
    """
    require_task(timeline.sums(), task)
    moved = chosen(migrations(timeline), task)
    sums = of_tasks(timeline.sums())
    slices = of_tasks(timeline.slices)
    if task is not None:
        sums, slices = (
            rows[
                (
                    (rows["tid"] if isinstance(task, int) else plain_names(rows["comm"])) == task
                ).to_numpy(dtype=bool)
            ]
            for rows in (sums, slices)
        )
    on_cpu_ns = int(sums["ns"].sum())
    own_ns = int(sums["ns"][(sums["context"] == "task").to_numpy()].sum())
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    wanted_ns = on_cpu_ns + waited_within(slices, window)
    problem = incomparable(timeline, moved)
    row = pd.Series({"studied": 0, "effect": nan, "effect_low": nan, "effect_high": nan})
    if problem is None:
        effect = migration_effect(timeline, task, (horizon_ns,), by_cause=False)
        row = effect[effect["measure"] == "run"].iloc[0]
    several = task is None or slices["tid"].nunique() > 1
    return judged(
        *(task, len(moved), timeline.duration_ns, horizon_ns, wanted_ns, own_ns, row),
        several=several,
        problem=problem,
    )


def judged(
    task: int | str | None,
    count: int,
    duration_ns: int,
    horizon_ns: int,
    wanted_ns: int,
    own_ns: int,
    row: "pd.Series[float]",
    several: bool = False,
    problem: str | None = None,
) -> MigrationVerdict:
    """The verdict from the figures.

    row: of migration_effect, measure run at the horizon. wanted_ns: the task's time on CPU and
    waiting. own_ns: the time it ran itself. several: whether these are of more than one task.
    problem: why nothing could be studied.
    """
    reach = min(1.0, count * horizon_ns / wanted_ns) if wanted_ns else 0.0
    low, high = float(row["effect_low"]), float(row["effect_high"])
    each = count * horizon_ns / own_ns if own_ns else float("nan")
    stakes = (low * each, high * each)
    most = max(abs(stakes[0]), abs(stakes[1]))
    least = 0.0 if stakes[0] <= 0 <= stakes[1] else min(abs(stakes[0]), abs(stakes[1]))
    figures = f"{count:,} migration{'' if count == 1 else 's'} in {duration(duration_ns)}"
    studied = int(row["studied"])
    range_ = (
        f"what goes with them comes to between {_signed(stakes[0])} and {_signed(stakes[1])} of "
        f"the time {'they' if several else 'it'} ran"
    )
    if not count:
        explains, reason = "no", "nothing was migrated"
    elif reach < WORTH:
        explains = "no"
        reason = (
            f"{figures}: were all of the {duration(horizon_ns)} after each lost, that would be "
            f"{_below(reach)} of the time in which a CPU was wanted"
        )
    elif problem is not None:
        explains, reason = "cannot tell", f"{figures}, but {problem}"
    elif studied < FEWEST:
        explains = "cannot tell"
        reason = (
            f"{figures}, of which {studied or 'none'} can be compared with moments without one, "
            f"where it takes {FEWEST}"
        )
    elif isnan(low):
        explains = "cannot tell"
        reason = (
            f"{figures}; the {studied} that can be compared with moments without one, or those "
            "moments, are too close together in time to tell chance from effect"
        )
    elif 2 * studied < count:
        explains = "cannot tell"
        reason = (
            f"{figures}, of which only {studied} can be compared with moments without one. Were "
            f"the others like these, {range_}"
        )
    elif most < WORTH:
        explains, reason = "no", f"{figures}: {range_}"
    elif least < WORTH:
        explains = "cannot tell"
        reason = f"{figures}: {range_}, so it may be nothing, or matter"
    elif several:
        explains = "cannot tell"
        reason = (
            f"{figures}: {range_}. But what those who were moved gained or lost others may have "
            "lost or gained; ask about one task, by its tid"
        )
    else:
        explains, reason = "yes", f"{figures}: {range_}"
    return MigrationVerdict(
        explains=explains,
        reason=reason,
        task=task,
        migrations=count,
        migrations_per_s=count / (duration_ns / 1e9) if duration_ns else float("nan"),
        studied=studied,
        horizon_ns=horizon_ns,
        reach_share=reach,
        effect=float(row["effect"]),
        effect_low=low,
        effect_high=high,
        at_stake_low_share=stakes[0],
        at_stake_high_share=stakes[1],
    )


def _below(fraction: float) -> str:
    # Not rounded up to the limit that it is below.
    hundredths = int(1e4 * fraction)
    return f"{hundredths / 100:g} %" if hundredths else "<0.01 %"


def _signed(fraction: float) -> str:
    sign = "-" if fraction < 0 else "+"
    return f"{sign}{share(abs(fraction))}" if fraction else "0 %"


def nearest(rows: pd.DataFrame) -> "pd.Series[float]":
    """The row of migration_effect() whose window is nearest to HORIZON_NS."""
    return rows.iloc[int((rows["width_ns"] - HORIZON_NS).abs().to_numpy().argmin())]

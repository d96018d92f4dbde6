# Whether migrations explain anything of what tasks got.

from math import floor, isnan, nan
from pathlib import Path
from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...display.templates import as_text, render
from ...timeline.owners import of_tasks
from ...timeline.task import Task, comm_of, rows_of
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from ..moments import PASSED
from ..processes.client_and_server import SLICES
from ..processes.traffic import endpoints
from ..victim import asked_or_given
from .event_study import FEWEST
from .lifetimes import MOVED
from .migration_effect import HORIZON_NS, WIDTHS_NS, at_horizon, effects_of, plot_panels
from .migrations import NEXT, incomparable, migrations

# A smaller share of a task's time explains nothing that anybody asks about.
WORTH = 0.01
# The reason and its figures in a sentence.
_WHY = Path(__file__).with_name("migration_reason.md")


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    inputs=(SLICES, MOVED, NEXT, PASSED, "migrations", "coverage", OF_EXCERPT),
    columns=(
        *("side", "tid", "comm", "explains", "reason", "migrations", "reach_share"),
        *("at_stake_low_share", "at_stake_high_share"),
    ),
    shares=("effect", "effect_low", "effect_high"),
)
def migration_verdict(
    timeline: Timeline, victim: Task | None = None, horizon_ns: int = HORIZON_NS
) -> Answer:
    """Whether migrations explain any of what a task got: yes, no, or cannot tell.

    - victim: A task by tid or comm; ALL for all tasks together. None: the timeline's where it was
      given one; else client and server where two tasks talk to each other, else the one that the
      timeline chose (Timeline.victim), in either case with all tasks together.
    - horizon_ns: How long a migration is assumed to act.

    verdicts: a row per task; tid is NA for a name, and comm too for all tasks together. effects:
    migration_effect() of the one that was migrated most.

    - "no": even the loss of all time within the horizon, or the effect's whole interval, comes to
      less than 1 % of the task's time.
    - "yes": all of the interval comes to more, on one side of 0.
    - "cannot tell": otherwise, and where fewer than 10 or less than half could be studied.

    For several tasks together the effect never gives "yes", because others may have lost the time
    that the migrated tasks gained. Source: migrations(), migration_effect().
    """
    everyone = migrations(timeline).frame
    given = victim is not None or timeline.given_victim is not None
    victim = asked_or_given(timeline, victim)
    subjects: list[tuple[str | None, Task | None]] = [(None, None)]
    if given:
        subjects = [(None, victim)]
    elif pair := endpoints(timeline):
        subjects = [*zip(("client", "server"), pair, strict=True), *subjects]
    elif timeline.victim is not None:
        subjects = [(None, timeline.victim), *subjects]
    widths_ns = tuple(dict.fromkeys((*WIDTHS_NS, int(horizon_ns))))
    moved = {task: rows_of(everyone, task) for _, task in subjects}
    problems = {task: incomparable(timeline, rows) for task, rows in moved.items()}
    comparable = tuple(task for task, problem in problems.items() if problem is None)
    effects = effects_of(timeline, comparable, widths_ns, by_cause=False)
    rows = [
        {
            "side": side,
            "tid": pd.NA if isinstance(task, str | None) else task,
            "comm": comm_of(timeline, task),
            **_verdict(
                timeline, len(moved[task]), task, horizon_ns, effects.get(task), problems[task]
            ),
        }
        for side, task in subjects
    ]
    verdicts = pd.DataFrame(rows)
    named = verdicts[verdicts["comm"].notna()]
    most = victim
    if named["migrations"].any():
        most = subjects[int(named["migrations"].to_numpy().argmax())][1]
    of_most = effects.get(most, pd.DataFrame())
    if len(of_most):
        of_most = of_most[of_most["width_ns"].isin(WIDTHS_NS)].reset_index(drop=True)
    near = at_horizon(of_most) if len(of_most) else of_most
    return Answer(verdicts=verdicts, effects=of_most, at_horizon=near)


def _verdict(
    timeline: Timeline,
    count: int,
    victim: Task | None,
    horizon_ns: int,
    effect: pd.DataFrame | None,
    problem: str | None,
) -> dict[str, Any]:
    # On one task, on those of a name, or for None on all, with so many migrations. effect: of
    # them, None where there is a problem.
    sums = rows_of(of_tasks(timeline.sums()), victim)
    slices = rows_of(of_tasks(SLICES(timeline).frame), victim)
    own_ns = int(sums["ns"][sums["context"] == "task"].sum())
    wanted_ns = int(sums["ns"].sum()) + int(slices["waited_ns"].sum())
    row = pd.Series({"studied": 0, "effect": nan, "effect_low": nan, "effect_high": nan})
    if effect is not None:
        row = effect[(effect["width_ns"] == horizon_ns) & (effect["measure"] == "run")].iloc[0]
    several = victim is None or slices["tid"].nunique() > 1
    return judged(
        *(count, timeline.duration_ns, horizon_ns, wanted_ns, own_ns, row),
        several=several,
        problem=problem,
    )


def judged(
    count: int,
    duration_ns: int,
    horizon_ns: int,
    wanted_ns: int,
    own_ns: int,
    row: "pd.Series[float]",
    several: bool = False,
    problem: str | None = None,
) -> dict[str, Any]:
    """The verdict from the figures: columns of migration_verdict().

    row: of migration_effect(), measure run at the horizon. wanted_ns: the task's time on CPU and
    waiting. own_ns: the time it ran itself. several: whether these are of more than one task.
    problem: why nothing could be studied.
    """
    reach = min(1.0, count * horizon_ns / wanted_ns) if wanted_ns else 0.0
    low, high = float(row["effect_low"]), float(row["effect_high"])
    each = count * horizon_ns / own_ns if own_ns else nan
    stakes = (low * each, high * each)
    most = max(map(abs, stakes))
    least = 0.0 if stakes[0] <= 0 <= stakes[1] else min(map(abs, stakes))
    studied = int(row["studied"])
    # The first rule that fits.
    explains, reason = next(
        (explains, reason)
        for fits, explains, reason in (
            (not count, "no", "not migrated"),
            (reach < WORTH, "no", "too seldom"),
            (problem is not None, "cannot tell", "incomparable"),
            (studied < FEWEST, "cannot tell", "too few studied"),
            (isnan(low), "cannot tell", "too close in time"),
            (2 * studied < count, "cannot tell", "under half studied"),
            (most < WORTH, "no", "too small"),
            (least < WORTH, "cannot tell", "uncertain"),
            (several, "cannot tell", "others' time"),
            (True, "yes", "effect"),
        )
        if fits
    )
    figures: dict[str, Any] = {
        "explains": explains,
        "reason": reason,
        "why": None,
        "migrations": count,
        "migrations_per_s": count / (duration_ns / 1e9) if duration_ns else nan,
        "studied": studied,
        "horizon_ns": horizon_ns,
        "reach_share": reach,
        "effect": float(row["effect"]),
        "effect_low": low,
        "effect_high": high,
        "at_stake_low_share": stakes[0],
        "at_stake_high_share": stakes[1],
    }
    said = {
        "duration_ns": duration_ns,
        "fewest": FEWEST,
        "several": several,
        "problem": problem,
        # Not rounded up to the limit that it is below.
        "reach_percent": floor(1e4 * reach) / 100,
    }
    return figures | {"why": as_text(render(_WHY, figures | said))}


migration_verdict.plot(
    title=lambda _, measure: f"The effect of migrations: {measure}",
    height=1.8,
    panels=lambda answer: plot_panels(answer["effects"]),
)(lambda ax, answer, measure: plots.tasks.effects(ax, answer["effects"], measure))

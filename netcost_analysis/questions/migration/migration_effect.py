# What a task got after a migration, against before, and against when it was not migrated.

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.question import Answer, question
from ...spans import Flags, Floats, Ints, Spans, spans_of
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ..moments import PASSED
from ..victim import asked_or_given
from .event_study import FEWEST, LEFT_OUT, Compared, Study, interval, moments_in, study
from .lifetimes import (
    MEASURES,
    MOVED,
    Amounts,
    Lifetimes,
    instructions_and_cycles,
    lifetimes_of,
    measured,
    own_and_softirq,
)
from .migrations import NEXT, incomparable, migrations

WIDTHS_NS = (1_000_000, 10_000_000, 100_000_000)
# By then caches are warm again, and the effect of a migration itself is over.
HORIZON_NS = 10_000_000
# More migrations than these are studied by a sample of so many.
MOST = 5_000
_SEED = 1
_MEANS = ("before", "after", "change", "control_change", "effect", "effect_low", "effect_high")
_LEFT_OUT = [f"left_out_{reason}" for reason in LEFT_OUT]
# A measure before and after each migration, and its change at the moments of its controls.
_Changes = tuple[Floats, Floats, Floats]


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    inputs=(MOVED, NEXT, PASSED, "migrations", "coverage"),
    columns=(*("cause", "width_ns", "measure", "effect", "effect_low", "effect_high", "studied"),),
    shares=("before", "after", "change", "control_change", "effect", "effect_low", "effect_high"),
)
def migration_effect(
    timeline: Timeline,
    victim: Task | None = None,
    widths_ns: Sequence[int] = WIDTHS_NS,
    by_cause: bool = True,
) -> Answer:
    """What migrations did to the tasks that were migrated: an event study.

    - victim: A task by tid or comm; ALL for all tasks together. None: the timeline's where it was
      given one, else ALL.
    - widths_ns: Lengths of the windows before and after each migration.

    A row per cause, width_ns and measure. A task that was never migrated has rows of 0.

    Each migration is compared with moments of the same task in the same state, as long after that
    state began. A wake-up that moved the task is compared with its wake-ups that did not. A task
    that was moved while it waited is compared with its waits of at least that length. There are 8
    of these moments each, drawn with a fixed seed. Without them every wake-up would look like a
    gain, because the task sleeps before it.

    The interval is a bootstrap over blocks of time (a fortieth of the window, or four widths), and
    over tasks, whichever is wider. Of more than 5,000 migrations a sample is studied. Source: the
    tables migrations, slices, segments, coverage.
    """
    task = asked_or_given(timeline, victim)
    frame = effects_of(timeline, (task,), tuple(widths_ns), by_cause)[task]
    of_all = at_horizon(frame[frame["cause"] == "all"])
    return Answer(frame, at_horizon=of_all, victim=label_of(timeline, task))


@once
def effects_of(
    timeline: Timeline,
    victims: tuple[Task | None, ...],
    widths_ns: tuple[int, ...] = WIDTHS_NS,
    by_cause: bool = True,
) -> dict[Task | None, pd.DataFrame]:
    # migration_effect() of each victim, None for all tasks together: one pass for all of them.
    everyone = migrations(timeline).frame
    moved = {victim: rows_of(everyone, victim) for victim in victims}
    for rows in moved.values():
        problem = incomparable(timeline, rows)
        if problem is not None:
            raise CaptureError(f"migration_effect: {problem}")
    counters = instructions_and_cycles(timeline.capture)
    return effects(
        moved,
        spans_of(everyone, "time_ns", "time_ns"),
        # Of all that were moved: the same slices for whichever victim.
        lifetimes_of(timeline, everyone["tid"]),
        lambda tids, times: own_and_softirq(timeline, tids, times) | counters,
        widths_ns,
        by_cause,
    )


def effects(
    moved: Mapping[Task | None, pd.DataFrame],
    migrated: Spans,
    lifetimes: Lifetimes,
    amounts_at: Callable[[Ints, Ints], Amounts],
    widths_ns: Sequence[int],
    by_cause: bool = True,
) -> dict[Task | None, pd.DataFrame]:
    # migration_effect() on some of migrations(), by victim. migrated: all migrations, of other
    # tasks too. amounts_at: what tasks had between moments of theirs, but for what lifetimes tell.
    asked = {victim: _sample(rows.reset_index(drop=True)) for victim, rows in moved.items()}
    studies = {
        victim: {int(width): study(rows, lifetimes, migrated, int(width)) for width in widths_ns}
        for victim, rows in asked.items()
    }
    every = [pair for by_width in studies.values() for pair in by_width.items()]
    amounts = amounts_at(*moments_in(every))
    amounts |= {"on_cpu": lifetimes.on_cpu, "waiting": lifetimes.waiting}
    causes = {
        victim: sorted(set(plain_names(rows["cause"]))) if by_cause else []
        for victim, rows in moved.items()
    }
    return {
        victim: _effects_of(asked[victim], studies[victim], causes[victim], amounts, lifetimes)
        for victim in moved
    }


def _sample(moved: pd.DataFrame) -> pd.DataFrame:
    if len(moved) <= MOST:
        return moved
    return moved.sample(MOST, random_state=_SEED).sort_index().reset_index(drop=True)


def _effects_of(
    asked: pd.DataFrame,
    studies: dict[int, Study],
    causes: list[str],
    amounts: Amounts,
    lifetimes: Lifetimes,
) -> pd.DataFrame:
    measures = [name for name in MEASURES if MEASURES[name][0] in amounts]
    rows: list[dict[str, Any]] = []
    for width_ns, studied in studies.items():
        kept = studied.left_out.isna().to_numpy()
        changes = {name: _changes(amounts, name, studied, width_ns) for name in measures}
        for cause in ("all", *causes):
            here = np.full(len(asked), cause == "all") | (asked["cause"] == cause).to_numpy(bool)
            reasons = studied.left_out[here].value_counts().reindex(LEFT_OUT, fill_value=0)
            counts = {"cause": cause, "width_ns": width_ns, "migrations": int(here.sum())}
            counts |= zip(_LEFT_OUT, reasons.tolist(), strict=True)
            for name in measures:
                summary = _summary(studied, here[kept], changes[name], width_ns, lifetimes.window)
                rows.append({**counts, "measure": name, **summary})
    columns = ["cause", "width_ns", "measure", "migrations", "studied", *_MEANS, *_LEFT_OUT]
    return pd.DataFrame(rows)[columns]


def _changes(amounts: Amounts, measure: str, studied: Study, width_ns: int) -> _Changes:
    def around(tids: Ints, times: Ints) -> tuple[Floats, Floats]:
        before = measured(amounts, measure, tids, times - width_ns, times)
        return before, measured(amounts, measure, tids, times, times + width_ns)

    flat = studied.controls.reshape(-1)
    usable = flat >= 0
    group = np.repeat(studied.tids, studied.controls.shape[1])
    control: Floats = np.full(len(flat), np.nan)
    first, second = around(group[usable], flat[usable])
    control[usable] = second - first
    return *around(studied.tids, studied.times), control.reshape(studied.controls.shape)


def _summary(
    studied: Study, here: Flags, changes: _Changes, width_ns: int, window: tuple[int, int]
) -> dict[str, float]:
    # here: which of those studied this row is about.
    before, after, controls = changes
    known = here & ~(np.isnan(before) | np.isnan(after) | np.isnan(controls).all(axis=1))
    before, after, controls = before[known], after[known], controls[known]
    nothing = {"studied": int(known.sum()), **dict.fromkeys(_MEANS, float("nan"))}
    if known.sum() < FEWEST:
        return nothing
    change = after - before
    compared = Compared(
        studied.tids[known], studied.times[known], change, studied.controls[known], controls
    )
    low, high = interval(compared, width_ns, window)
    if np.isnan(low):
        return nothing
    control = np.nanmean(controls, axis=1)
    means = [float(each.mean()) for each in (before, after, change, control, change - control)]
    return nothing | dict(zip(_MEANS, [*means, low, high], strict=True))


def at_horizon(rows: pd.DataFrame) -> pd.DataFrame:
    """Of run and wait, where an effect is known, the row whose width is nearest to HORIZON_NS.

    rows: of migration_effect(), of one cause.
    """
    known = rows[rows["effect"].notna() & rows["measure"].isin(["run", "wait"])]
    nearest = (known["width_ns"] - HORIZON_NS).abs().sort_values(kind="stable").index
    near = known.loc[nearest].drop_duplicates("measure")
    # "run" comes before "wait".
    return near.sort_values("measure", ignore_index=True)


def plot_panels(rows: pd.DataFrame) -> list[dict[str, Any]]:
    # A picture of each measure, none where no effect is known.
    if not len(rows) or rows["effect"].isna().all():
        return []
    return [{"measure": str(name)} for name in rows["measure"].unique()]


def _of_all_causes(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["cause"] == "all"]


migration_effect.plot(
    title=lambda _, measure: f"The effect of migrations: {measure}",
    height=1.8,
    panels=lambda answer: plot_panels(_of_all_causes(answer)),
)(lambda ax, answer, measure: plots.tasks.effects(ax, _of_all_causes(answer), measure))

# What a task got after a migration, against before, and against when it was not migrated.

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...spans import Flags, Floats, Ints, Spans, spans_of
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ..moments import NEXT, PASSED
from ..victim import asked_or_given
from .interval import FEWEST, Compared, interval
from .ipc import with_counters
from .lives import MEASURES, MOVED, Lives, lives_of, stays, wakes_of, with_passed
from .matching import LEFT_OUT, Study, moments_in, study
from .migrations import incomparable, migrations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

WIDTHS_NS = (1_000_000, 10_000_000, 100_000_000)
# More migrations than these are studied by a sample of so many.
MOST = 5_000
DRAWS = 8
_SEED = 1


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
) -> pd.DataFrame:
    """What migrations did to those who were migrated: an event study.

    - victim: A task by tid or comm; ALL for all tasks together. None: the timeline's where it was
      given one, else ALL.
    - widths_ns: Lengths of the windows before and after each migration.
    - by_cause: Whether to add a row for each cause to those of all.

    A row per cause, width_ns and measure ("run": share of the window in which the task itself ran;
    "wait": in which it was runnable without a CPU; "softirq": share of its time on CPU that
    softirqs took; "ipc": instructions per cycle, where both were sampled). migrations, studied, and
    why the others are not: left_out_edge (a window reaches beyond the recording or the task's
    life), left_out_gap (over 1 % of a window is unknown), left_out_overlap (another migration of
    the task from two widths before to one after), left_out_unmatched (no moment to compare with).
    before, after, change: means over those studied. control_change: the same at the moments they
    are compared with. effect: change minus control_change. effect_low, effect_high: its 95 %
    interval. NaN where fewer than 10 were studied, or they or those moments lie in fewer than 10
    blocks of time.

    Moments to compare with are of the same task in the same state, as long after it began: for a
    wake-up that moved the task its wake-ups that did not, for a task that was moved while it waited
    its waits of at least that length, 8 of them each, drawn with a fixed seed. Without them every
    wake-up would look like a gain, for before it the task sleeps. The interval is a bootstrap over
    blocks of time (a fortieth of the window, or four widths), and over tasks, whichever is wider.
    Of more than 5,000 migrations a sample is studied. A task that was never migrated has rows that
    say 0. Source: the tables migrations, slices, segments, coverage.
    """
    return effect_of(timeline, asked_or_given(timeline, victim), tuple(widths_ns), by_cause)


@once
def effect_of(
    timeline: Timeline,
    victim: Task | None,
    widths_ns: tuple[int, ...] = WIDTHS_NS,
    by_cause: bool = True,
) -> pd.DataFrame:
    # migration_effect() of one victim, or for None of all tasks together.
    everyone = migrations(timeline)
    moved = rows_of(everyone, victim)
    problem = incomparable(timeline, moved)
    if problem is not None:
        raise CaptureError(f"migration_effect: {problem}")
    # Of all that were moved: the same stays for whichever victim.
    tids = pd.Index(everyone["tid"].unique())
    lives = with_counters(lives_of(timeline, tids), timeline.capture)
    wakes = wakes_of(stays(timeline, tids))
    return migration_effect_from(moved, lives, wakes, widths_ns, by_cause, everyone, timeline)


def migration_effect_from(
    moved: pd.DataFrame,
    lives: Lives,
    wakes: Spans,
    widths_ns: Sequence[int] = WIDTHS_NS,
    by_cause: bool = True,
    everyone: pd.DataFrame | None = None,
    timeline: Timeline | None = None,
) -> pd.DataFrame:
    # migration_effect() on migrations(), lives and wake-ups. everyone: the migrations of all tasks,
    # where moved are some of them. timeline: whose segments tell what lives_of() leaves out.
    whole = moved if everyone is None else everyone
    migrated = spans_of(whole, "time_ns", "time_ns")
    counters = lives.instructions is not None and lives.cycles is not None
    measures = (*MEASURES, "ipc") if counters else MEASURES
    causes = ["all"]
    if by_cause:
        causes += sorted(set(plain_names(moved["cause"])))
    asked = moved.reset_index(drop=True)
    if len(asked) > MOST:
        asked = asked.sample(MOST, random_state=_SEED).sort_index().reset_index(drop=True)
    studies = {
        int(width_ns): study(asked, lives, wakes, migrated, int(width_ns), DRAWS, _SEED)
        for width_ns in widths_ns
    }
    if timeline is not None:
        lives = with_passed(lives, timeline, *moments_in(studies))
    rows = []
    for width_ns, found in studies.items():
        of_each = asked["cause"].to_numpy(dtype=object)[found.left_out.isna().to_numpy()]
        changes = {name: _changes(lives, name, found, width_ns) for name in measures}
        for cause in causes:
            within = np.ones(len(asked), bool) if cause == "all" else asked["cause"] == cause
            why = found.left_out[np.asarray(within)]
            counts = {f"left_out_{name}": int((why == name).sum()) for name in LEFT_OUT}
            here = np.ones(len(of_each), bool) if cause == "all" else of_each == cause
            rows += [
                {
                    "cause": cause,
                    "width_ns": width_ns,
                    "measure": name,
                    "migrations": len(why),
                    **_summary(found, here, changes[name], width_ns, lives.window),
                    **counts,
                }
                for name in measures
            ]
    return pd.DataFrame(rows)[_COLUMNS]


_COLUMNS = [
    *("cause", "width_ns", "measure", "migrations", "studied", "before", "after", "change"),
    *("control_change", "effect", "effect_low", "effect_high"),
    *(f"left_out_{name}" for name in LEFT_OUT),
]


def _changes(
    lives: Lives, measure: str, found: Study, width_ns: int
) -> tuple[Floats, Floats, npt.NDArray[np.float64]]:
    # Before and after of each migration, and the change at each moment it is compared with.
    tids, times, controls = found.tids, found.times, found.controls
    before, after = _around(lives, measure, tids, times, width_ns)
    flat = controls.reshape(-1)
    usable = flat >= 0
    group = np.repeat(tids, controls.shape[1])
    control: Floats = np.full(len(flat), np.nan)
    first, second = _around(lives, measure, group[usable], flat[usable], width_ns)
    control[usable] = second - first
    return before, after, control.reshape(controls.shape)


def _around(
    lives: Lives, measure: str, tids: Ints, times: Ints, width_ns: int
) -> tuple[Floats, Floats]:
    return (
        lives.measured(measure, tids, times - width_ns, times),
        lives.measured(measure, tids, times, times + width_ns),
    )


def _summary(
    found: Study,
    here: Flags,
    changes: tuple[Floats, Floats, npt.NDArray[np.float64]],
    width_ns: int,
    window: tuple[int, int],
) -> dict[str, float]:
    # here: those studied that this row is about.
    before, after, controls = changes
    known = here & ~(np.isnan(before) | np.isnan(after) | np.isnan(controls).all(axis=1))
    before, after, controls = before[known], after[known], controls[known]
    studied = int(known.sum())
    names = ("before", "after", "change", "control_change", "effect", "effect_low", "effect_high")
    nothing = {"studied": studied, **dict.fromkeys(names, float("nan"))}
    if studied < FEWEST:
        return nothing
    change = after - before
    compared = Compared(
        found.tids[known], found.times[known], change, found.controls[known], controls
    )
    low, high = interval(compared, width_ns, window)
    if np.isnan(low):
        return nothing
    control = np.nanmean(controls, axis=1)
    means = [float(one.mean()) for one in (before, after, change, control, change - control)]
    return {"studied": studied, **dict(zip(names, [*means, low, high], strict=True))}


# After so long caches are warm again, and a migration's own effect is over.
HORIZON_NS = 10_000_000
_SAID = ("run", "wait")


def at_horizon(rows: pd.DataFrame) -> pd.DataFrame:
    """Of run and wait, where an effect is known, the row whose width is nearest to HORIZON_NS.

    rows: of migration_effect(), of one cause.
    """
    known = rows[rows["effect"].notna().to_numpy()]
    own = known[known["measure"].isin(_SAID).to_numpy()]
    near = (own["width_ns"] - HORIZON_NS).abs().sort_values(kind="stable").index
    order = {measure: place for place, measure in enumerate(_SAID)}
    nearest = own.loc[near].drop_duplicates("measure")
    return nearest.sort_values("measure", key=lambda of: of.map(order), ignore_index=True)


def effect_figures(rows: pd.DataFrame, said: pd.DataFrame, of: str | None) -> dict[str, Any]:
    """The figures of the words. rows: of migration_effect(), of one cause. of: whom they are about.

    said: of at_horizon(). Returns of, known (whether any effect is), found: said, with sure (its
    interval is on one side of 0), and left_out: of each width_ns how many were not studied, by
    reason.
    """
    known = rows["effect"].notna()
    found = [
        {**row, "sure": bool(row["effect_low"] > 0 or row["effect_high"] < 0)}
        for row in said.to_dict("records")
    ]
    left_out = []
    for _, row in rows.drop_duplicates("width_ns").iterrows():
        counts = {name: int(row[f"left_out_{name}"]) for name in LEFT_OUT}
        reasons = {name: number for name, number in counts.items() if number}
        if reasons:
            left_out.append({"width_ns": int(row["width_ns"]), "reasons": reasons})
    return {"of": of, "known": bool(known.any()), "found": found, "left_out": left_out}


def measured(rows: pd.DataFrame) -> list[dict[str, Any]]:
    # The panels of a picture: a measure each, none where no effect is known.
    known = bool(rows["effect"].notna().any())
    return [{"measure": str(name)} for name in rows["measure"].unique()] if known else []


def _of_all_causes(answer: "Answer") -> pd.DataFrame:
    return answer.frame[(answer.frame["cause"] == "all").to_numpy()]


@migration_effect.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    return {"at_horizon": at_horizon(_of_all_causes(answer))}


@migration_effect.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    victim = asked_or_given(answer.timeline, answer.options.get("victim"))
    called = label_of(answer.timeline, victim)
    return effect_figures(_of_all_causes(answer), answer.tables["at_horizon"], called)


@migration_effect.plot(
    title=lambda _, measure: f"The effect of migrations: {measure}",
    height=1.8,
    panels=lambda answer: measured(_of_all_causes(answer)),
)
def _effects(ax: "Axes", answer: "Answer", measure: str) -> None:
    from .plots import effects

    effects(ax, _of_all_causes(answer), measure)

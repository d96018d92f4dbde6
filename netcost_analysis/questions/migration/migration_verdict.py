# Whether migrations explain anything of what tasks got.

from dataclasses import asdict, dataclass
from math import floor, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...display.tables import plain
from ...display.templates import as_text, render
from ...timeline.owners import of_tasks
from ...timeline.task import Task, comm_of, rows_of
from ...timeline.timeline import Timeline
from ..moments import NEXT, PASSED
from ..processes.endpoints import endpoints
from ..processes.stays import STAYS, stays_by_task
from ..victim import asked_or_given
from .interval import FEWEST
from .lives import MOVED
from .migration_effect import HORIZON_NS, WIDTHS_NS, at_horizon, effect_figures, effect_of, measured
from .migrations import incomparable, migrations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of a task's time: less explains nothing that anybody asks about.
WORTH = 0.01
# Why in a sentence, as the reason and the figures have it.
_WHY = Path(__file__).with_name("migration_reason.md")


@dataclass(frozen=True)
class Verdict:
    """Whether migrations explain anything of what a task got: columns of migration_verdict()."""

    explains: str
    reason: str
    why: str
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


class MigrationVerdict(NamedTuple):
    """Returned by migration_verdict().

    verdicts: a row per task. effects: migration_effect() of all causes, of the one of them that was
    migrated most, of the victim that was asked for, or of all tasks.
    """

    verdicts: pd.DataFrame
    effects: pd.DataFrame


@question(
    needs=("sched:sched_migrate_task", "sched:sched_switch"),
    inputs=(STAYS, MOVED, NEXT, PASSED, "migrations", "coverage", "softirqs", "polls"),
    columns=(
        *("side", "tid", "comm", "explains", "reason", "migrations", "reach_share"),
        *("at_stake_low_share", "at_stake_high_share"),
    ),
    shares=("effect", "effect_low", "effect_high"),
    main="verdicts",
)
def migration_verdict(
    timeline: Timeline, victim: Task | None = None, horizon_ns: int = HORIZON_NS
) -> MigrationVerdict:
    """Whether migrations explain anything of what a task got: yes, no, or cannot tell.

    - victim: A task by tid or comm; ALL for all tasks together. None: the timeline's where it was
      given one; else client and server where two tasks talk to each other, else the one that the
      timeline chose (Timeline.victim), in either case with all tasks together.
    - horizon_ns: How long a migration is taken to act.

    verdicts: a row per task: side ("client", "server"), tid (Int64), comm (all NA for all tasks
    together, tid also for a name); explains ("yes", "no", "cannot tell"), reason (the rule that
    decided, a code), why (a sentence with the figures); migrations, migrations_per_s, studied,
    horizon_ns; reach_share (of the time that the task wanted a CPU, how much lies within the
    horizon after a migration, at most); effect, effect_low, effect_high (of a migration on the
    share of time the task ran in that window, NaN as in migration_effect()); at_stake_low_share,
    at_stake_high_share (what that came to, of the time the task ran in all: lost where negative).
    effects: the event study of the one that was migrated most.

    "no" where even the loss of all time within the horizon, or the effect's whole interval, comes
    to less than 1 % of the task's time. "yes" where all of the interval comes to more, on one side
    of 0. "cannot tell" otherwise, and where fewer than 10 or less than half could be studied. Of
    several tasks together the effect never says "yes": time that those who were moved gained others
    may have lost. Source: migrations(), migration_effect().
    """
    everyone = migrations(timeline)
    given = victim is not None or timeline.given_victim is not None
    victim = asked_or_given(timeline, victim)
    if given:
        subjects: list[tuple[str | None, Task | None]] = [(None, victim)]
    elif pair := endpoints(timeline):
        subjects = [*zip(("client", "server"), pair, strict=True), (None, None)]
    else:
        most = timeline.victim
        subjects = [(None, most), (None, None)] if most is not None else [(None, None)]
    rows = [
        {
            "side": side,
            "tid": pd.NA if isinstance(one, str | None) else one,
            "comm": comm_of(timeline, one),
            **asdict(verdict_of(timeline, everyone, one, horizon_ns)),
        }
        for side, one in subjects
    ]
    verdicts = pd.DataFrame(rows).astype({"side": object, "tid": "Int64", "comm": object})
    for name in ("side", "comm"):
        verdicts[name] = verdicts[name].where(verdicts[name].notna(), None)
    named = verdicts[verdicts["comm"].notna().to_numpy()]
    # Of a victim that was asked for, only of that one.
    studied = victim
    if named["migrations"].any():
        studied = subjects[int(named["migrations"].to_numpy().argmax())][1]
    if incomparable(timeline, rows_of(everyone, studied)) is not None:
        return MigrationVerdict(verdicts, pd.DataFrame())
    return MigrationVerdict(verdicts, _studied(timeline, studied, WIDTHS_NS, horizon_ns))


def verdict_of(
    timeline: Timeline,
    everyone: pd.DataFrame,
    victim: Task | None,
    horizon_ns: int = HORIZON_NS,
) -> Verdict:
    """The verdict on one task, on those of a name, or on all. everyone: migrations()."""
    moved = rows_of(everyone, victim)
    sums, stays = (
        rows_of(of_tasks(rows), victim) for rows in (timeline.sums(), stays_by_task(timeline))
    )
    on_cpu_ns = int(sums["ns"].sum())
    own_ns = int(sums["ns"][(sums["context"] == "task").to_numpy()].sum())
    wanted_ns = on_cpu_ns + int(stays["waited_ns"].sum())
    problem = incomparable(timeline, moved)
    row = pd.Series({"studied": 0, "effect": nan, "effect_low": nan, "effect_high": nan})
    if problem is None:
        effect = _studied(timeline, victim, (horizon_ns,), horizon_ns)
        row = effect[effect["measure"] == "run"].iloc[0]
    several = victim is None or stays["tid"].nunique() > 1
    return judged(
        *(len(moved), timeline.duration_ns, horizon_ns, wanted_ns, own_ns, row),
        several=several,
        problem=problem,
    )


def _studied(
    timeline: Timeline, victim: Task | None, widths_ns: tuple[int, ...], horizon_ns: int
) -> pd.DataFrame:
    # migration_effect() of all causes at some widths; all that are read in one pass.
    every = tuple(dict.fromkeys((*WIDTHS_NS, int(horizon_ns))))
    effect = effect_of(timeline, victim, every, by_cause=False)
    return effect[effect["width_ns"].isin(widths_ns).to_numpy()].reset_index(drop=True)


def judged(
    count: int,
    duration_ns: int,
    horizon_ns: int,
    wanted_ns: int,
    own_ns: int,
    row: "pd.Series[float]",
    several: bool = False,
    problem: str | None = None,
) -> Verdict:
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
    studied = int(row["studied"])
    if not count:
        explains, reason = "no", "not migrated"
    elif reach < WORTH:
        explains, reason = "no", "too seldom"
    elif problem is not None:
        explains, reason = "cannot tell", "incomparable"
    elif studied < FEWEST:
        explains, reason = "cannot tell", "too few studied"
    elif isnan(low):
        explains, reason = "cannot tell", "too close in time"
    elif 2 * studied < count:
        explains, reason = "cannot tell", "under half studied"
    elif most < WORTH:
        explains, reason = "no", "too small"
    elif least < WORTH:
        explains, reason = "cannot tell", "uncertain"
    elif several:
        explains, reason = "cannot tell", "others' time"
    else:
        explains, reason = "yes", "effect"
    figures: dict[str, Any] = {
        "reason": reason,
        "migrations": count,
        "studied": studied,
        "horizon_ns": horizon_ns,
        "at_stake_low_share": stakes[0],
        "at_stake_high_share": stakes[1],
    }
    said = {
        **figures,
        "duration_ns": duration_ns,
        "fewest": FEWEST,
        "several": several,
        "problem": problem,
        # Not rounded up to the limit that it is below.
        "reach_percent": floor(1e4 * reach) / 100,
    }
    return Verdict(
        explains=explains,
        why=as_text(render(_WHY, said)),
        migrations_per_s=count / (duration_ns / 1e9) if duration_ns else float("nan"),
        reach_share=reach,
        effect=float(row["effect"]),
        effect_low=low,
        effect_high=high,
        **figures,
    )


def _called(row: dict[str, Any]) -> str:
    # "the client (iperf3 219)", "openssl", "openssl (500)".
    if row["comm"] is None:
        return "all tasks together"
    if row["side"] is not None:
        return f"the {row['side']} ({row['comm']} {row['tid']})"
    return row["comm"] if row["tid"] is None else f"{row['comm']} ({row['tid']})"


@migration_verdict.totals
def _totals(answer: "Answer") -> dict[str, pd.DataFrame]:
    effects = answer.result.effects
    return {"at_horizon": at_horizon(effects) if len(effects) else effects}


@migration_verdict.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # verdicts: each with name; where two tasks talk, theirs.
    rows = [
        {str(name): plain(value) for name, value in row.items()}
        for row in answer.frame.to_dict("records")
    ]
    rows = [{**row, "name": _called(row)} for row in rows]
    pair = [row for row in rows if row["side"] is not None]
    effects = answer.result.effects
    study: dict[str, Any] = {"of": None, "known": False, "found": [], "left_out": []}
    if len(effects) and effects["migrations"].any():
        named = [row for row in rows if row["comm"] is not None and row["migrations"]]
        of = max(named, key=lambda row: row["migrations"])["name"] if named else None
        study = effect_figures(effects, answer.tables["at_horizon"], of)
    return {"verdicts": pair or rows, **study}


@migration_verdict.plot(
    title=lambda _, measure: f"The effect of migrations: {measure}",
    height=1.8,
    panels=lambda answer: measured(answer.result.effects) if len(answer.result.effects) else [],
)
def _effects(ax: "Axes", answer: "Answer", measure: str) -> None:
    from .plots import effects

    effects(ax, answer.result.effects, measure)

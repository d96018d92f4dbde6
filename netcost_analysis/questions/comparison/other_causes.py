# Whether migrations, switches, preemptions, wake-ups or utilisation explain the change.

from typing import Any

import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...plots.palette import FAINT, INK, SIDE
from ...stats.change import Counts, change_of, holm
from ...stats.resampling import CONFIDENCE, Floats
from ...units import duration
from ..migration.migration_verdict import WORTH as WORTH_OF_TIME
from .bottleneck import ENDS, SATURATED, candidates, cost_columns, require_work, times_of
from .comparability import refusals
from .metrics import sides_per
from .rules_recording import tracing_costs
from .run_blocks import run_blocks
from .tasks import of_task, scheduled_of, task_of
from .work import Unit, units_of

# By suspect: the scheduler's events that are counted, and those whose time it can have cost. A
# voluntary switch costs all of the time until the task runs again.
_CAUSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "migrations": (("migration",), ("migration",)),
    "voluntary switches": (("voluntary",), ("asleep", "wake-up")),
    "preemptions": (("involuntary",), ("runnable",)),
    "wake-ups": (("wake-up",), ("wake-up",)),
    "utilisation": ((), ("asleep",)),
}
# A suspect below this share of the change does not explain it.
WORTH = 0.05


@question(
    rows=12,
    columns=(
        *("suspect", "side", "base", "new", "per_unit", "difference_ns", "at_most_share"),
        *("verdict", "reason"),
    ),
)
def other_causes(comparison: Comparison) -> Answer:
    """Whether migrations, switches, preemptions, wake-ups or utilisation explain the change.

    A row per suspect of client and server, each dismissed or kept, with figures. `to_explain`: how
    much more, or less, time passed per unit of work. The most that a suspect can have cost is
    measured per unit:

    - migrations: the time until the task ran.
    - voluntary switches: the time until the task was back on a CPU.
    - preemptions and wake-ups: the wait for a CPU.
    - utilisation: the time asleep.

    These overlap. Each is the most that a suspect can have cost, except for caches that grew cold.
    A suspect is dismissed where the upper end of its cost's growth is below 5 % of the change, or
    where its process has time to spare. It is kept where the lower end is above that; otherwise it
    is unknown. Tracing is in the time that passed, and events do not cost both sides alike: the
    change is the measured one, or that without tracing's difference, and a verdict holds of both.
    Where no change can be told from chance, it is dismissed where both ends are within
    1 % of the base's time per unit.

    Source: slices, migrations and the sums of each recording.
    """
    unit = require_work(comparison)
    every = candidates(comparison).set_index("candidate")
    limit = next(iter(every.index[every["is_bottleneck"]]), None)
    if limit not in ENDS:
        raise CaptureError(_why_none(every))
    passed = change_of(
        *sides_per(comparison, lambda run: (1e9 * run_blocks(run).seconds, units_of(run)[unit])),
        False,
    )
    differs = (passed.low > 0 or passed.high < 0) and passed.p < 1 - CONFIDENCE
    _, tracing = tracing_costs(comparison)
    # With what tracing takes, and without as much of it as can be in that time.
    changes = passed.change, passed.change - (tracing["new"] - tracing["base"])
    # Migrations have their own event; the others come from switches.
    runs = comparison.recorded
    has_switches = all(scheduled_of(run) is not None for run in runs)
    has_migrations = all(run_blocks(run).migrations is not None for run in runs)
    rows = []
    for end in sorted(ENDS, key=lambda name: name != limit):
        busy_share = every.loc[end, ["base_busy_share", "new_busy_share"]].max(skipna=False)
        for suspect in _CAUSES:
            if not (has_migrations if suspect == "migrations" else has_switches):
                continue
            row = _row(comparison, suspect, end, unit)
            row |= _explained(row, passed.base, changes if differs else None)
            if end != limit:
                spare = busy_share < SATURATED
                row["verdict"] = "dismissed" if spare else "unknown"
                row["reason"] = "time to spare" if spare else "no time to spare either"
            rows.append(row)
    causes = pd.DataFrame(rows)
    causes["p_adjusted"] = holm(causes["p_value"].to_numpy("float64"))
    to_explain = {
        "side": limit,
        **cost_columns(passed),
        "p_value": passed.p,
        "is_change": differs,
        "base_tracing_ns": tracing["base"],
        "new_tracing_ns": tracing["new"],
    }
    refused = refusals(comparison)
    if refused:
        causes["verdict"] = causes["reason"] = "refused"
    counts = causes["verdict"].value_counts()
    return Answer(
        causes=causes,
        to_explain=pd.DataFrame([to_explain]),
        unit=str(unit),
        refusals=refused,
        dismissed=int(counts.get("dismissed", 0)),
        kept=int(counts.get("kept", 0)),
        undecided_causes=int(counts.get("unknown", 0)),
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
    )


def _why_none(every: pd.DataFrame) -> str:
    if not set(ENDS) <= set(every.index):
        return (
            "client and server are not known in every recording: name them "
            "(compare(..., client=, server=)), or record with --profile anatomy"
        )
    return (
        f"neither client nor server was busy for {SATURATED:.0%} of its time in the base, so no "
        "wait of theirs limits the throughput"
    )


def _row(comparison: Comparison, suspect: str, end: str, unit: Unit) -> dict[str, Any]:
    # How often this happened to the client or the server, and what it can have cost.
    counted, costing = _CAUSES[suspect]

    def total(run: Run, whats: tuple[str, ...], column: str) -> Floats:
        task = task_of(run, end, comparison)
        parts = (of_task(run, task, what, column) for what in whats)
        return sum(parts, 0 * run_blocks(run).seconds)

    def rate(run: Run) -> Counts:
        seconds = run_blocks(run).seconds
        if counted:
            return total(run, counted, "count"), seconds
        times = times_of(run, end, comparison)
        had = 0 * seconds if times is None else times["had"].to_numpy()
        return had, 1e9 * seconds

    def cost(run: Run) -> Counts:
        return total(run, costing, "ns"), units_of(run)[unit]

    count = sum(total(run, counted, "count").sum() for run in comparison.recorded)
    ns = sum(total(run, costing, "ns").sum() for run in comparison.recorded)
    return {
        "suspect": suspect,
        "side": end,
        "per_unit": "1/s" if counted else "share",
        **change_of(*sides_per(comparison, rate), False).columns,
        **cost_columns(change_of(*sides_per(comparison, cost), False)),
        "each_ns": float(ns / count) if count else float("nan"),
    }


def _explained(
    row: dict[str, Any], base: float, changes: tuple[float, float] | None
) -> dict[str, Any]:
    # The suspect's cost as a share of the change, or of the base's time, and the verdict. changes:
    # between which the change is; None where there is none to explain.
    low, high = row["difference_low_ns"], row["difference_high_ns"]
    if row["base_ns_per_unit"] == row["new_ns_per_unit"] == 0:
        low = high = 0.0
    of_time = max(abs(low), abs(high)) / base
    at_most = least = float("nan")
    if changes and min(changes) * max(changes) > 0:
        ends = [end / change for end in (low, high) for change in changes]
        at_most, least = max(*ends, 0.0), min(ends)
    rules = (
        (of_time != of_time, "unknown", "no interval"),
        (not changes and of_time < WORTH_OF_TIME, "dismissed", "too little of the time"),
        (not changes, "unknown", "no change"),
        (at_most != at_most, "unknown", "tracing"),
        (at_most < WORTH, "dismissed", "too little" if at_most else "no more"),
        (least >= WORTH, "kept", "enough"),
        (True, "unknown", "uncertain"),
    )
    verdict, reason = next(said for holds, *said in rules if holds)
    return {
        "at_most_share": at_most,
        "least_share": least,
        "time_at_most_share": of_time,
        "verdict": verdict,
        "reason": reason,
    }


@other_causes.plot(
    title="What each other cause can have cost, beside the change to explain",
    height=lambda answer: 1.0 + 0.26 * len(answer.frame),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import interval, intervals

    columns = "difference_ns", "difference_low_ns", "difference_high_ns"
    names, drawn = [], []
    for place, row in enumerate(answer.frame.to_dict("records")):
        drawn.append(interval(place, row, columns, INK if row["verdict"] == "kept" else FAINT))
        names.append(f"{row['suspect']} of the {row['side']}: {row['verdict']}")
    intervals(ax, names, drawn)
    difference_ns = answer["to_explain"]["difference_ns"].iloc[0]
    ax.axvline(difference_ns, color=SIDE["new"], linewidth=2, label="change to explain")
    ax.xaxis.set_major_formatter(lambda value, _: duration(value))
    ax.set_xlabel(f"more time per {answer['unit']}")
    ax.legend(frameon=False)

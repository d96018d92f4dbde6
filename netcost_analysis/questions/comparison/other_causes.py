# Migrations, switches, preemptions, wake-ups and utilisation: could they explain the change?

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...display.tables import listed
from ...stats.change import Change, adjusted, change_of
from ...stats.resampling import CONFIDENCE, Floats
from ..migration.migration_verdict import WORTH as WORTH_OF_TIME
from .bottleneck import ENDS, SATURATED, Candidate, candidates, of_task, task_of, times_of
from .comparability import refusals
from .measured import measured, scheduled_of
from .metrics import sides_of
from .throughput_prediction import require_work
from .work import Unit, units_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# What of the scheduler's doings are counted, and which of them cost the time that a cause can cost:
# of one that leaves a CPU all until it runs again.
_CAUSES = {
    "migrations": (("migration",), ("migration",)),
    "voluntary switches": (("voluntary",), ("asleep", "wake-up")),
    "preemptions": (("involuntary",), ("runnable",)),
    "wake-ups": (("wake-up",), ("wake-up",)),
    "utilisation": ((), ("asleep",)),
}
# Of the change to explain: a cause of less explains nothing of it.
WORTH = 0.05


@dataclass(frozen=True)
class OtherCauses:
    """Answer of `other_causes`.

    Attributes
    ----------
    causes : pandas.DataFrame
        A row per suspect and side (client, server): base, new, change with intervals, p_value,
        p_adjusted (of its rate); base_ns_per_unit, new_ns_per_unit, difference_ns with its interval
        (what it can have cost the process, per unit of work); each_ns, at_most_share, least_share,
        time_at_most_share, verdict, reason.
    to_explain : pandas.DataFrame
        One row: the bottleneck's time per unit of work, base and new, change with its interval, and
        whether it differs.
    unit : str
        The unit of work.
    refusals : tuple of str
        Why there is no verdict, of `comparability`; empty where there is one.
    """

    causes: pd.DataFrame
    to_explain: pd.DataFrame
    unit: str
    refusals: tuple[str, ...]


@question(
    topic="comparison",
    main="causes",
    rows=12,
    columns=(
        *("suspect", "side", "base", "new", "per_unit", "difference_ns", "at_most_share"),
        *("verdict", "reason"),
    ),
)
def other_causes(comparison: Comparison) -> OtherCauses:
    """Whether migrations, switches, preemptions, wake-ups or utilisation explain the change.

    - comparison: Two run sets, both recorded, whose client and server are known.

    A row per suspect of client and server, each dismissed or kept, with figures.

    Source: slices, migrations and the sums of each recording.

    To explain is how much more, or less, time passed per unit of work. What a suspect can have cost
    is measured, per unit: of migrations the time until the task ran; of voluntary switches until it
    was back on a CPU; of preemptions and wake-ups the wait for one; of utilisation the time asleep.
    They overlap, and are the most that each can have cost but for caches that grew cold. A suspect
    is dismissed where the upper end of what its cost grew is below 5 % of the change, or where it
    is of a process that has time to spare; kept where the lower end is above it; else unknown.
    Where no change can be told from chance, it is dismissed where both ends are within 1 % of the
    base's time per unit.
    """
    unit = require_work(comparison)
    found = {one.name: one for one in candidates(comparison)}
    limit = next((one for one in found.values() if one.is_bottleneck), None)
    if limit is None or limit.name not in ENDS:
        raise CaptureError(_why_none(found))
    passed = _changed(comparison, partial(_passed, unit=unit))
    differs = (passed.low > 0 or passed.high < 0) and passed.p < 1 - CONFIDENCE
    rows = [
        _row(comparison, suspect, found[end], limit, passed, differs, unit)
        for end in (limit.name, *(end for end in ENDS if end != limit.name))
        for suspect in _CAUSES
        if _recorded(comparison, suspect)
    ]
    frame = pd.DataFrame(rows)
    frame["p_adjusted"] = adjusted(frame["p_value"].to_numpy("float64"))
    to_explain = {
        "side": limit.name,
        "base_ns_per_unit": passed.base,
        "new_ns_per_unit": passed.new,
        "difference_ns": passed.change,
        "difference_low_ns": passed.low,
        "difference_high_ns": passed.high,
        "p_value": passed.p,
        "is_change": differs,
    }
    refused = refusals(comparison)
    if refused:
        frame["verdict"] = frame["reason"] = "refused"
    return OtherCauses(frame, pd.DataFrame([to_explain]), str(unit), refused)


def _why_none(found: dict[str, Candidate]) -> str:
    if not found.keys() >= set(ENDS):
        return (
            "client and server are not known in every recording: name them "
            "(compare(..., client=, server=)), or record with --profile anatomy"
        )
    return (
        f"neither client nor server was busy for {SATURATED:.0%} of its time in the base, so no "
        "wait of theirs limits the throughput"
    )


def _passed(run: Run, unit: Unit) -> tuple[Floats, Floats]:
    return 1e9 * measured(run).seconds, units_of(run)[unit]


def _changed(comparison: Comparison, of: Callable[[Run], tuple[Floats, Floats]]) -> Change:
    # How far a ratio, counted block by block, went from base to new.
    base, new = sides_of([[of(run) for run in side.recorded] for side in comparison.sides.values()])
    return change_of(base, new, False)


def _counts(
    run: Run, comparison: Comparison, end: str, whats: tuple[str, ...], column: str
) -> Floats:
    task, nothing = task_of(run, end, comparison), 0 * measured(run).seconds
    found: Floats = sum((of_task(run, task, what, column) for what in whats), nothing)
    return found


def _row(
    comparison: Comparison,
    suspect: str,
    one: Candidate,
    limit: Candidate,
    passed: Change,
    differs: bool,
    unit: Unit,
) -> dict[str, Any]:
    counted, costing = _CAUSES[suspect]

    def rate(run: Run) -> tuple[Floats, Floats]:
        seconds = measured(run).seconds
        if not counted:
            times = times_of(run, one.name, comparison)
            return times.had if times else 0 * seconds, 1e9 * seconds
        return _counts(run, comparison, one.name, counted, "count"), seconds

    def cost(run: Run) -> tuple[Floats, Floats]:
        ns = _counts(run, comparison, one.name, costing, "ns")
        return ns, units_of(run)[unit]

    rates = _changed(comparison, rate)
    costs = _changed(comparison, cost)
    row = {
        "suspect": suspect,
        "side": one.name,
        "per_unit": "share" if not counted else "1/s",
        **rates.columns,
        "base_ns_per_unit": costs.base,
        "new_ns_per_unit": costs.new,
        "difference_ns": costs.change,
        "difference_low_ns": costs.low,
        "difference_high_ns": costs.high,
        "each_ns": _each(comparison, one.name, counted, costing),
    }
    return row | _verdict(row, one, limit, passed, differs)


def _recorded(comparison: Comparison, suspect: str) -> bool:
    # Migrations have an event of their own; all else is in switches.
    runs = [run for side in comparison.sides.values() for run in side.recorded]
    if suspect == "migrations":
        return all(measured(run).migrations is not None for run in runs)
    return all(scheduled_of(run) is not None for run in runs)


def _each(
    comparison: Comparison, end: str, counted: tuple[str, ...], costing: tuple[str, ...]
) -> float:
    # What one of them cost in the mean, of both sides; NaN of none.
    runs = [run for side in comparison.sides.values() for run in side.recorded]
    count = sum(_counts(run, comparison, end, counted, "count").sum() for run in runs)
    ns = sum(_counts(run, comparison, end, costing, "ns").sum() for run in runs)
    return float(ns / count) if count else float("nan")


def _verdict(
    row: dict[str, Any], one: Candidate, limit: Candidate, passed: Change, differs: bool
) -> dict[str, Any]:
    low, high = row["difference_low_ns"], row["difference_high_ns"]
    if row["base_ns_per_unit"] == row["new_ns_per_unit"] == 0:
        low = high = 0.0
    found = {
        "at_most_share": float("nan"),
        "least_share": float("nan"),
        "time_at_most_share": max(abs(low), abs(high)) / passed.base,
    }
    if differs:
        ends = low / passed.change, high / passed.change
        found |= {"at_most_share": max(*ends, 0.0), "least_share": min(ends)}
    verdict, reason = _judged(found, differs)
    if one is not limit:
        spare = max(one.base_busy_share, one.new_busy_share) < SATURATED
        verdict = "dismissed" if spare else "unknown"
        reason = "time to spare" if spare else "no time to spare either"
    return {**found, "verdict": verdict, "reason": reason}


def _judged(found: dict[str, float], differs: bool) -> tuple[str, str]:
    # By what part of the change, or of the base's time, a suspect of the bottleneck can have cost.
    if found["time_at_most_share"] != found["time_at_most_share"]:
        return "unknown", "no interval"
    if not differs:
        little = found["time_at_most_share"] < WORTH_OF_TIME
        return ("dismissed", "too little of the time") if little else ("unknown", "no change")
    if found["at_most_share"] == 0:
        return "dismissed", "no more"
    if found["at_most_share"] < WORTH:
        return "dismissed", "too little"
    return ("kept", "enough") if found["least_share"] >= WORTH else ("unknown", "uncertain")


@other_causes.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # How many suspects have each verdict.
    verdicts = answer.result.causes["verdict"].value_counts()
    return {
        "dismissed": int(verdicts.get("dismissed", 0)),
        "kept": int(verdicts.get("kept", 0)),
        "undecided_causes": int(verdicts.get("unknown", 0)),
    }


@other_causes.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    comparison: Comparison = answer.sources["Comparison"]
    return {
        "causes": listed(answer.parts["causes"]),
        "passed": listed(answer.parts["to_explain"])[0],
        **{name: answer.parts[name] for name in ("unit", "refusals")},
        **{name: answer.parts[name] for name in ("dismissed", "kept", "undecided_causes")},
        "base_name": comparison.named("base"),
        "new_name": comparison.named("new"),
    }


@other_causes.plot(
    title="What each other cause can have cost, beside the change to explain",
    height=lambda answer: 1.0 + 0.26 * len(answer.frame),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots_causes import costs_beside

    found = answer.result
    costs_beside(ax, found.causes, found.to_explain, found.unit)

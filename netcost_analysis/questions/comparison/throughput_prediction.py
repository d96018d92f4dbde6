# What the bottleneck's extra softirq time does to the throughput.

from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...display.tables import listed
from ...stats.change import Counts, Side, change_of, combined, repeats
from ...stats.resampling import Floats, Ints
from .bottleneck import ENDS, SATURATED, Times, candidates, cost_columns, require_work, times_of
from .comparability import refusals
from .metrics import change_columns, has_few, sides_of, throughputs
from .run_blocks import run_blocks
from .work import Unit, units_of

# By what softirqs are called the field of Times.
_WORK = {"network softirqs": "softirq", "NET_RX": "net_rx"}
_PREDICTED = (
    *("base_ns_per_unit", "new_ns_per_unit", "difference_ns", "longer_share"),
    *("longer_low_share", "longer_high_share", "predicted", "predicted_low", "predicted_high"),
)
_OF_ENDS = (
    *("side", "softirq_work", "base_ns_per_unit", "new_ns_per_unit", "difference_ns"),
    *("difference_low_ns", "difference_high_ns"),
)
# Of a candidate in each run of each side, None where it is not in it, and the units of work done.
OfRuns = list[list[tuple[Times | None, Floats]]]


@question(
    columns=(
        *("softirq_work", "base_ns_per_unit", "new_ns_per_unit", "longer_share", "predicted"),
        *("predicted_low", "predicted_high", "explained_share", "agrees"),
    ),
    shares=("predicted", "predicted_low", "predicted_high"),
)
def throughput_prediction(comparison: Comparison) -> Answer:
    """The throughput that the bottleneck's extra softirq time predicts, beside the measured one.

    A row for all network softirq time, and one for NET_RX alone.

    The bottleneck is what had no time to spare in the base: a client or server that was asleep for
    less than 5 % of its life. Where these are not known, it is a CPU that was idle for less than
    that. The time of a victim counts as idle there, because softirqs come first. Of several it is
    the one with most network softirq time.

    Its network softirq time grows by d per unit of work. In the base a unit takes it t; for a
    process, t is time in which it had a CPU. So a unit takes 1 + d / t as long, and the throughput
    becomes 1 / (1 + d / t). Assumed: everything else that a unit takes stays the same, and so does
    the share of a CPU that the bottleneck gets. Intervals: BCa bootstrap of both sides' blocks of
    time, or repeats.

    The measured change is of repeats without a recording where both sides have 6. Otherwise it is
    of the recordings' own blocks: of what a process did while it had a CPU, which no neighbour
    changes.

    Source: the sums, slices and polls of each recording, and the throughputs of their steps.
    """
    unit = require_work(comparison)
    every = candidates(comparison)
    limit = next(iter(listed(every[every["is_bottleneck"]])), None)
    of_limit = _of_runs(comparison, limit["candidate"], unit) if limit else []
    is_end = limit is not None and limit["candidate"] in ENDS
    throughput_rows = _throughputs(comparison, unit, of_limit if is_end else [])
    compared = [row for row in throughput_rows if row["is_compared"]]
    beside = next(iter(listed(pd.DataFrame(compared))), None)
    refused = refusals(comparison)
    rows = []
    for work, field in _WORK.items():
        row = dict.fromkeys(_PREDICTED, float("nan"))
        if limit is not None:
            row |= _predicted(of_limit, field)
        row |= _beside(row, beside, limit is not None)
        rows.append({"softirq_work": work, **row})
        if refused:
            rows[-1] |= {"agrees": "refused", "reason": "refused"}
    return Answer(
        predictions=pd.DataFrame(rows),
        throughputs=pd.DataFrame(throughput_rows),
        candidates=every,
        ends=_ends(comparison, unit),
        unit=str(unit),
        refusals=refused,
        limit=limit,
        still_limits=bool(limit and (limit["new_busy_share"] or 0) >= SATURATED),
        beside=beside,
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
    )


def _of_runs(comparison: Comparison, name: str, unit: Unit) -> OfRuns:
    return [
        [(times_of(run, name, comparison), units_of(run)[unit]) for run in side.recorded]
        for side in comparison.sides.values()
    ]


def _per_unit(times: OfRuns, field: str) -> list[list[Counts]]:
    # Empty where a run has not the candidate.
    if any(one is None for side in times for one, _ in side):
        return []
    return [[(getattr(one, field), done) for one, done in side] for side in times]


def _predicted(times: OfRuns, field: str) -> dict[str, float]:
    costs = _per_unit(times, field)
    if not costs:
        return {}
    base, new, time, _ = sides_of(costs + _per_unit(times, "had"))
    counts = len(base.numerator), len(new.numerator)

    def longer(one: Ints, other: Ints) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = (new.values(other) - base.values(one)) / time.values(one)
        return share

    extra = combined(longer, *counts)
    less = combined(lambda one, other: 1 / (1 + longer(one, other)) - 1, *counts)
    values = base.value, new.value, new.value - base.value, *extra, *less
    return dict(zip(_PREDICTED, values, strict=True))


def _throughputs(comparison: Comparison, unit: Unit, of_limit: OfRuns) -> list[dict[str, Any]]:
    # Repeats first; of the recordings where polls counted each block: units over the time that the
    # bottleneck had a CPU, which no neighbour's share of it touches, and over all time.
    rows = []
    counted = throughputs(comparison)
    if counted is not None:
        counted_unit, _, (base, new) = counted
        rows.append(_measured("repeats", counted_unit, repeats(base), repeats(new)))
    if unit.source == "polls":
        if of_limit:
            had = [
                [(done, one.had / 1e9 if one else np.zeros(len(done))) for one, done in side]
                for side in of_limit
            ]
            rows.append(_measured("on CPU", unit, *sides_of(had)))
        passed = [
            [(units_of(run)[unit], run_blocks(run).seconds) for run in side.recorded]
            for side in comparison.sides.values()
        ]
        rows.append(_measured("recordings", unit, *sides_of(passed)))
    claims = [not _has_few(row) for row in rows]
    first = claims.index(True) if True in claims else 0
    return [{**row, "is_compared": place == first} for place, row in enumerate(rows)]


def _measured(measured_in: str, unit: Unit | str, base: Side, new: Side) -> dict[str, Any]:
    of = {"measured_in": measured_in, "per_unit": f"{unit}/s"}
    return of | change_columns(base, new, True)


def _has_few(row: dict[str, Any]) -> bool:
    return bool(has_few(pd.DataFrame([row]))[0])


def _beside(
    row: dict[str, float], compared: dict[str, Any] | None, is_limited: bool
) -> dict[str, Any]:
    # Whether prediction and measurement agree, and what part of the change the one explains.
    low, high = row["predicted_low"], row["predicted_high"]
    why_not = ""
    if not is_limited:
        why_not = "no bottleneck"
    elif low != low:
        why_not = "no interval"
    elif compared is None:
        why_not = "not measured"
    elif _has_few(compared):
        why_not = "too few repeats"
    elif compared["change_low"] is None:
        why_not = "no interval"
    if why_not or compared is None:
        return {"explained_share": float("nan"), "agrees": "unknown", "reason": why_not}
    apart = high < compared["change_low"] or low > compared["change_high"]
    differs = compared["change_low"] > 0 or compared["change_high"] < 0
    return {
        "explained_share": row["predicted"] / compared["change"] if differs else float("nan"),
        "agrees": "no" if apart else "yes",
        "reason": "intervals" if differs else "no change",
    }


def _ends(comparison: Comparison, unit: Unit) -> pd.DataFrame:
    # In whose context: client and server beside each other.
    rows = []
    for end in ENDS:
        times = _of_runs(comparison, end, unit)
        for work, field in _WORK.items():
            if costs := _per_unit(times, field):
                base, new = sides_of(costs)
                change = change_of(base, new, False)
                rows.append({"side": end, "softirq_work": work, **cost_columns(change)})
    return pd.DataFrame(rows, columns=list(_OF_ENDS))


@throughput_prediction.plot(
    title="Predicted and measured change of the throughput",
    height=1.9,
    panels=lambda answer: ({},) if answer.frame["predicted"].notna().any() else (),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from .plots import predicted_beside

    predicted_beside(ax, answer.frame, answer["throughputs"])

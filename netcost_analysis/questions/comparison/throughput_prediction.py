# What the bottleneck's extra softirq time does to the throughput.

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...display.tables import listed
from ...plots.palette import FAINT, INK, SIDE
from ...stats.change import Counts, Side, change_of, combined, repeats
from ...stats.resampling import Floats, Ints
from .bottleneck import ENDS, SATURATED, candidates, cost_columns, require_work, times_of
from .comparability import refusals
from .metrics import change_columns, has_few, sides_of, sides_per, throughputs
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
    time, or repeats, of pairs as pairs. The prediction is one figure, asked for beforehand: it is
    not corrected for other figures, as the parts of cost_tree are.

    The measured change is of repeats without a recording where both sides have 6. Otherwise it is
    of the recordings' own blocks: of what a process did while it had a CPU, which no neighbour
    changes.

    Source: the sums, slices and polls of each recording, and the throughputs of their steps.
    """
    unit = require_work(comparison)
    every = candidates(comparison)
    limit = next(iter(listed(every[every["is_bottleneck"]])), None)
    name = limit["candidate"] if limit else ""
    had = _per_unit(comparison, name, "had", unit) if limit else []
    measured = _throughputs(comparison, unit, had if name in ENDS else [])
    beside = next((row for row in listed(measured) if row["is_compared"]), None)
    few = bool(len(measured)) and bool(has_few(measured).all())
    refused = refusals(comparison)
    rows = []
    for work, field in _WORK.items():
        row: dict[str, Any] = dict.fromkeys(_PREDICTED, float("nan"))
        if costs := _per_unit(comparison, name, field, unit) if limit else []:
            row |= _predicted(costs, had, comparison.paired)
        row |= _beside(row, beside, few) if limit else _undecided("no bottleneck")
        row |= {"agrees": "refused", "reason": "refused"} if refused else {}
        rows.append({"softirq_work": work, **row})
    return Answer(
        predictions=pd.DataFrame(rows),
        throughputs=measured,
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


def _per_unit(comparison: Comparison, name: str, field: str, unit: Unit) -> list[list[Counts]]:
    # The time of a candidate and the units of work done, of each run of each side; empty where a
    # run has not the candidate.
    sides: list[list[Counts]] = [[], []]
    for counts, runs in zip(sides, comparison.recorded_sides, strict=True):
        for run in runs:
            times = times_of(run, name, comparison)
            if times is None:
                return []
            counts.append((times[field].to_numpy(), units_of(run)[unit]))
    return sides


def _predicted(
    costs: list[list[Counts]], had: list[list[Counts]], paired: bool
) -> dict[str, float]:
    base, new, time, _ = sides_of(costs + had)
    counts = [len(base.numerator), len(new.numerator)]
    if paired and base.of == "repeats":
        # Both of a pair are drawn together.
        del counts[1]

    def longer(*drawn: Ints) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            share: Floats = (new.values(drawn[-1]) - base.values(drawn[0])) / time.values(drawn[0])
        return share

    extra = combined(longer, *counts)
    less = combined(lambda *drawn: 1 / (1 + longer(*drawn)) - 1, *counts)
    values = base.value, new.value, new.value - base.value, *extra, *less
    return dict(zip(_PREDICTED, values, strict=True))


def _throughputs(comparison: Comparison, unit: Unit, had: list[list[Counts]]) -> pd.DataFrame:
    # Repeats first; of the recordings where polls counted each block: units over the time that the
    # bottleneck had a CPU, which no neighbour's share of it touches, and over all time.
    measured: list[tuple[str, Unit | str, Side, Side]] = []
    if (counted := throughputs(comparison)) is not None:
        counted_unit, _, rates = counted
        base, new = map(repeats, rates)
        measured.append(("repeats", counted_unit, base, new))
    if unit.source == "polls":
        if had:
            base, new = sides_of([[(done, ns / 1e9) for ns, done in side] for side in had])
            measured.append(("on CPU", unit, base, new))
        passed = sides_per(comparison, lambda run: (units_of(run)[unit], run_blocks(run).seconds))
        measured.append(("recordings", unit, *passed))
    rows = pd.DataFrame(
        {
            "measured_in": where,
            "per_unit": f"{of}/s",
            **change_columns(base, new, True, comparison.paired),
        }
        for where, of, base, new in measured
    )
    # The first that allows a claim.
    return rows.assign(is_compared=rows.index == (~has_few(rows)).idxmax()) if len(rows) else rows


def _undecided(reason: str) -> dict[str, Any]:
    return {"explained_share": float("nan"), "agrees": "unknown", "reason": reason}


def _beside(row: dict[str, float], compared: dict[str, Any] | None, few: bool) -> dict[str, Any]:
    # Whether prediction and measurement agree, and what part of the change the one explains.
    low, high = row["predicted_low"], row["predicted_high"]
    if compared is None or low != low:
        return _undecided("no interval" if low != low else "not measured")
    if few or compared["change_low"] is None:
        return _undecided("too few repeats" if few else "no interval")
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
    for end, (work, field) in product(ENDS, _WORK.items()):
        if costs := _per_unit(comparison, end, field, unit):
            base, new = sides_of(costs)
            change = change_of(base, new, False, comparison.paired)
            rows.append({"side": end, "softirq_work": work, **cost_columns(change)})
    return pd.DataFrame(rows, columns=list(_OF_ENDS))


@throughput_prediction.plot(
    title="Predicted and measured change of the throughput",
    height=1.9,
    panels=lambda answer: ({},) if answer.frame["predicted"].notna().any() else (),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import CHANGE, interval, intervals

    drawn = []
    names: list[str] = []
    for row in answer.frame.to_dict("records"):
        columns = "predicted", "predicted_low", "predicted_high"
        drawn.append(interval(len(names), row, columns, SIDE["new"], 100))
        names.append(f"predicted by {row['softirq_work']}")
    for row in answer["throughputs"].to_dict("records"):
        color = INK if row["is_compared"] else FAINT
        drawn.append(interval(len(names), row, CHANGE, color, 100))
        names.append(f"measured: {row['measured_in']}")
    intervals(ax, names, drawn)
    ax.set_xlabel("change of the throughput, %")

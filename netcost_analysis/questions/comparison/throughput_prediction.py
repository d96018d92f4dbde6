# Document 003's arithmetic: what the extra softirq time of who limits the throughput does to it.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...display.tables import listed
from ...stats.change import LEAST_REPEATS, Side, change_of, combined, repeats
from ...stats.resampling import Floats, Ints
from .bottleneck import ENDS, SATURATED, candidates, times_of
from .comparability import refusals
from .measured import measured
from .metrics import sides_of, throughputs
from .work import Unit, unit_of, units_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

WORK = ("network softirqs", "NET_RX")


@dataclass(frozen=True)
class ThroughputPrediction:
    """Answer of `throughput_prediction`.

    Attributes
    ----------
    predictions : pandas.DataFrame
        A row per softirq_work ("network softirqs", and of them "NET_RX"): base_ns_per_unit,
        new_ns_per_unit and difference_ns in the bottleneck; longer_share with its interval;
        predicted, predicted_low, predicted_high; explained_share, agrees, reason.
    throughputs : pandas.DataFrame
        A row per way in which throughput was measured: measured_in, per_unit, base, new, change
        with intervals, p_value, observations, is_compared.
    candidates : pandas.DataFrame
        A row per process or CPU that can be the bottleneck: candidate, base_busy_share,
        new_busy_share, base_cpu_share, new_cpu_share, is_bottleneck.
    ends : pandas.DataFrame
        A row per side (client, server) and softirq_work: base_ns_per_unit, new_ns_per_unit,
        difference_ns with its interval.
    unit : str
        The unit of work.
    refusals : tuple of str
        Why there is no verdict, of `comparability`; empty where there is one.
    """

    predictions: pd.DataFrame
    throughputs: pd.DataFrame
    candidates: pd.DataFrame
    ends: pd.DataFrame
    unit: str
    refusals: tuple[str, ...]


@question(
    topic="comparison",
    main="predictions",
    columns=(
        *("softirq_work", "base_ns_per_unit", "new_ns_per_unit", "longer_share", "predicted"),
        *("predicted_low", "predicted_high", "explained_share", "agrees"),
    ),
    shares=("predicted", "predicted_low", "predicted_high"),
)
def throughput_prediction(comparison: Comparison) -> ThroughputPrediction:
    """What the bottleneck's extra softirq time makes of the throughput, beside the measured one.

    - comparison: Two run sets, both recorded.

    A row for all softirq time of the network, and one for NET_RX alone.

    Source: the sums, slices and polls of each recording, and the throughputs of their steps.

    Who limits the throughput is who had no time to spare in the base: client or server that was
    asleep for less than 5 % of its life; where they are not known, a CPU that was idle for less
    (the time of a victim counts as idle, for softirqs come first). Of several the one with most
    softirq time of the network. Its softirq time of the network grows by d a unit of work; in the
    base a unit takes it t, of a process as long as it had a CPU. So it takes 1 + d / t as long, and
    the throughput becomes 1 / (1 + d / t). Assumed: all else that a unit takes it stays, and so
    does the share of a CPU that it gets. Intervals: BCa bootstrap of both sides' blocks of time, or
    repeats. The measured change is of repeats without a recording where both sides have 6, else of
    the recordings' own blocks: of what a process did while it had a CPU, which no neighbour
    changes.
    """
    unit = require_work(comparison)
    found = candidates(comparison)
    limit = next((one for one in found if one.is_bottleneck), None)
    measured_rows = _throughputs(comparison, unit, limit.name if limit else None)
    compared = next((row for row in measured_rows if row["is_compared"]), None)
    refused = refusals(comparison)
    rows = []
    for work, field in zip(WORK, ("softirq", "net_rx"), strict=True):
        row = {"softirq_work": work, **_NOTHING}
        if limit is not None:
            row |= _predicted(comparison, limit.name, field, unit)
        row |= _beside(row, compared, limit is not None)
        rows.append(row | {"agrees": "refused", "reason": "refused"} if refused else row)
    return ThroughputPrediction(
        pd.DataFrame(rows),
        pd.DataFrame(measured_rows),
        pd.DataFrame(found).rename(columns={"name": "candidate"}),
        _ends(comparison, unit),
        str(unit),
        refused,
    )


def require_work(comparison: Comparison) -> Unit:
    # The unit of work of two recorded sides.
    for side, runs in comparison.sides.items():
        if not runs.recorded:
            raise CaptureError(
                f"no run of {side} was recorded, so nobody knows what limits its throughput"
            )
    unit = unit_of(comparison)
    if unit.name == "second":
        raise CaptureError(
            "the work of the two sides was not counted in the same way (packets, bytes, "
            "transactions), so there is no time per unit of it"
        )
    return unit


_NOTHING = dict.fromkeys(
    (
        *("base_ns_per_unit", "new_ns_per_unit", "difference_ns", "longer_share"),
        *("longer_low_share", "longer_high_share"),
        *("predicted", "predicted_low", "predicted_high"),
    ),
    float("nan"),
)


def _predicted(comparison: Comparison, name: str, field: str, unit: Unit) -> dict[str, float]:
    known: dict[str, list[list[tuple[Floats, Floats]]]] = {"cost": [], "time": []}
    for side in comparison.sides.values():
        times = [(run, times_of(run, name, comparison)) for run in side.recorded]
        there = [(units_of(run)[unit], one) for run, one in times if one is not None]
        if len(there) < len(times):
            return {}
        known["cost"].append([(getattr(one, field), done) for done, one in there])
        known["time"].append([(one.had, done) for done, one in there])
    base, new, time, _ = sides_of(known["cost"] + known["time"])
    counts = len(base.numerator), len(new.numerator)

    def longer(one: Ints, other: Ints) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = (new.values(other) - base.values(one)) / time.values(one)
        return found

    extra = combined(longer, *counts)
    less = combined(lambda one, other: 1 / (1 + longer(one, other)) - 1, *counts)
    return {
        "base_ns_per_unit": base.value,
        "new_ns_per_unit": new.value,
        "difference_ns": new.value - base.value,
        "longer_share": extra.value,
        "longer_low_share": extra.low,
        "longer_high_share": extra.high,
        "predicted": less.value,
        "predicted_low": less.low,
        "predicted_high": less.high,
    }


def _throughputs(comparison: Comparison, unit: Unit, limit: str | None) -> list[dict[str, Any]]:
    # Repeats first; of the recordings where polls counted each block: units over the time that the
    # bottleneck had a CPU, which no neighbour's share of it touches, and over all time.
    rows = []
    counted = throughputs(comparison)
    if counted is not None:
        of, (base, new), _ = counted
        rows.append(_measured("repeats", of, repeats(base), repeats(new)))
    runs = [side.recorded for side in comparison.sides.values()]
    if unit.source == "polls":
        if limit in ENDS:
            had = [[_over(run, unit, limit, comparison) for run in side] for side in runs]
            rows.append(_measured("on CPU", unit, *sides_of(had)))
        passed = [[(units_of(run)[unit], measured(run).seconds) for run in side] for side in runs]
        rows.append(_measured("recordings", unit, *sides_of(passed)))
    claims = [
        row["observed_in"] == "blocks"
        or min(row["base_observations"], row["new_observations"]) >= LEAST_REPEATS
        for row in rows
    ]
    first = claims.index(True) if True in claims else 0
    return [{**row, "is_compared": place == first} for place, row in enumerate(rows)]


def _over(run: Run, unit: Unit, end: str, comparison: Comparison) -> tuple[Floats, Floats]:
    times = times_of(run, end, comparison)
    done = units_of(run)[unit]
    return done, times.had / 1e9 if times is not None else np.zeros(len(done))


def _measured(measured_in: str, unit: Unit | str, base: Side, new: Side) -> dict[str, Any]:
    return {
        "measured_in": measured_in,
        "per_unit": f"{unit}/s",
        **change_of(base, new, True).columns,
        "observed_in": base.of,
        "base_observations": len(base.numerator),
        "new_observations": len(new.numerator),
    }


def _beside(
    row: dict[str, Any], compared: dict[str, Any] | None, is_limited: bool
) -> dict[str, Any]:
    # Whether prediction and measurement agree, and what part of the change the one explains.
    nothing = {"explained_share": float("nan"), "agrees": "unknown"}
    if not is_limited:
        return {**nothing, "reason": "no bottleneck"}
    if row["predicted_low"] != row["predicted_low"]:
        return {**nothing, "reason": "no interval"}
    if compared is None:
        return {**nothing, "reason": "not measured"}
    few = min(compared["base_observations"], compared["new_observations"]) < LEAST_REPEATS
    if compared["observed_in"] == "repeats" and few:
        return {**nothing, "reason": "too few repeats"}
    if compared["change_low"] != compared["change_low"]:
        return {**nothing, "reason": "no interval"}
    apart = (
        row["predicted_high"] < compared["change_low"]
        or row["predicted_low"] > compared["change_high"]
    )
    differs = compared["change_low"] > 0 or compared["change_high"] < 0
    return {
        "explained_share": row["predicted"] / compared["change"] if differs else float("nan"),
        "agrees": "no" if apart else "yes",
        "reason": "intervals" if differs else "no change",
    }


def _ends(comparison: Comparison, unit: Unit) -> pd.DataFrame:
    # In whose context: client and server beside each other, as document 003 has them.
    rows = []
    for end in ENDS:
        times = [
            [(units_of(run)[unit], times_of(run, end, comparison)) for run in side.recorded]
            for side in comparison.sides.values()
        ]
        if any(one is None for side in times for _, one in side):
            continue
        for work, field in zip(WORK, ("softirq", "net_rx"), strict=True):
            base, new = sides_of(
                [[(getattr(one, field), done) for done, one in side] for side in times]
            )
            found = change_of(base, new, False)
            rows.append(
                {
                    "side": end,
                    "softirq_work": work,
                    "base_ns_per_unit": found.base,
                    "new_ns_per_unit": found.new,
                    "difference_ns": found.change,
                    "difference_low_ns": found.low,
                    "difference_high_ns": found.high,
                }
            )
    columns = (
        *("side", "softirq_work", "base_ns_per_unit", "new_ns_per_unit", "difference_ns"),
        *("difference_low_ns", "difference_high_ns"),
    )
    return pd.DataFrame(rows, columns=list(columns))


@throughput_prediction.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # limit: the bottleneck's row, None without one. still_limits: whether it has no time to spare
    # on the new side either; compared: the measured change beside which the prediction stands.
    found = answer.result
    limits = listed(found.candidates[found.candidates["is_bottleneck"]])
    compared = found.throughputs
    compared = compared[compared["is_compared"]] if len(compared) else compared
    return {
        "limit": limits[0] if limits else None,
        "still_limits": bool(limits and limits[0]["new_busy_share"] >= SATURATED),
        "beside": listed(compared)[0] if len(compared) else None,
    }


@throughput_prediction.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    comparison: Comparison = answer.sources["Comparison"]
    tables = ("predictions", "candidates", "ends")
    return {
        **{name: listed(answer.parts[name]) for name in tables},
        **{
            name: answer.parts[name]
            for name in ("unit", "limit", "still_limits", "beside", "refusals")
        },
        "base_name": comparison.named("base"),
        "new_name": comparison.named("new"),
    }


@throughput_prediction.plot(
    title="Predicted and measured change of the throughput",
    height=1.9,
    panels=lambda answer: ({},) if answer.frame["predicted"].notna().any() else (),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots_causes import predicted_beside

    predicted_beside(ax, answer.tables["predictions"], answer.tables["throughputs"])

# What changed from one run set to the other, metric by metric, and how sure that is.

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import Axes, question
from ...comparison.comparison import Comparison
from ...display.metrics import KEY, NAMED, deviation, judged, marked_chance, moved, quantity
from ...display.tables import Table
from ...plots.palette import FAINT, OUTCOME
from ...stats.change import LEAST_REPEATS, Side, change_from, estimate, holm
from ...stats.resampling import CHANCE, least_chance
from ...units import absent, plural
from .comparability import findings, refusals
from .counted import VICTIM_SHARE, Metric
from .metrics import (
    Observed,
    differs,
    is_unchanged,
    more_repeats,
    observed,
    observed_columns,
    one_sided,
    primary_name,
)
from .tasks import NEIGHBOURS, victim_losses
from .work import is_work

# Changes beyond this multiple of the base are drawn as arrows.
_FAR = 2.0
# Shares of a victim's time: by how much a taker's has to change, and neighbours have to have.
_WORTH, _NEIGHBOURS = 0.01, 0.05


@question(
    rows=30,
    columns=(
        *("metric", "per_unit", "base", "new", "change", "change_low", "change_high"),
        *("differs", "outcome"),
    ),
)
def changes(comparison: Comparison) -> Answer:
    """What changed from base to new, metric by metric, with intervals.

    A row per metric, the primary one first. With 6 repeats or more on both sides a figure is the
    mean over repeats, and its interval is over repeats. With fewer it is over the blocks of time of
    these runs, and says nothing about other runs.

    p_value: how many of the orders of these observations, all of them where there are few, have
    sides at least so far apart. The interval has all changes that this test does not reject. A
    metric differs where p_adjusted is below 5 %. Metrics that were named beforehand are judged as
    they are, the others corrected for being many (Holm). Where the base is 0 or so near it that a
    part of it has no upper end, the change is in the metric's unit. A metric that one side alone
    has is shown, and not judged. Nor is one that comparability refuses.

    Source: the sums, polls and switches of each recording, and the figures of their steps.
    """
    metrics = observed(comparison)
    if not metrics:
        raise CaptureError(
            "the sides have no metric in common: each needs a recording, or figures in its steps"
        )
    first = primary_name(comparison, [one.metric.name for one in metrics])
    # Unless a metric was named: what the network costs, and what it leaves the victim.
    primary = {first} if comparison.primary else {first, VICTIM_SHARE.name}
    rows = [metric_row(comparison, one) for one in metrics]
    rows += [_of_one_side(*one) for one in one_sided(comparison)]
    frame = pd.DataFrame(rows)
    frame["is_primary"] = frame["metric"].isin(primary) & (frame["differs"] != "one_side")
    # Stable: the primary ones in their order, what one side lacks last.
    places = frame["metric"].ne(first).astype(int) + ~frame["is_primary"]
    places += 2 * (frame["differs"] == "one_side")
    frame = frame.loc[places.sort_values(kind="stable").index].reset_index(drop=True)
    works = [is_work(one, of) for one, of in zip(frame["metric"], frame["per_unit"], strict=True)]
    # A verdict begins with the first of them, whatever was recorded: nobody chose it afterwards.
    named = {*comparison.beforehand, *frame.loc[works, "metric"][:1]}
    frame["is_named"] = frame["is_primary"] | frame["metric"].isin(named)
    is_judged = frame["differs"] == ""
    others = is_judged & ~frame["is_named"]
    frame["p_adjusted"] = frame["p_value"].where(is_judged)
    frame.loc[others, "p_adjusted"] = holm(frame.loc[others, "p_value"].to_numpy("float64"))
    frame["differs"] = differs(frame).where(is_judged, frame["differs"])
    frame["is_unchanged"] = is_unchanged(frame)
    frame["more_repeats"] = frame["more_repeats"].astype("Int64").mask(frame["differs"] == "yes")
    losses = victim_losses(comparison)
    better = frame.pop("better")
    is_better = (frame["change"] > 0) == (better == "more")
    judgeable = (frame["differs"] == "yes") & (better != "")
    frame["outcome"] = np.select([~judgeable, is_better], ["", "better"], "worse")
    primary_rows = frame[frame["is_primary"]]
    others_told = frame[~frame["is_primary"] & (frame["differs"] != "one_side")]
    # Why the primary metrics have no verdict.
    whys = [refusals(comparison, one.metric) for one in metrics if one.metric.name in primary]
    return Answer(
        changes=frame,
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
        notes=_notes(comparison, frame, int(others.sum())),
        refusals=tuple(dict.fromkeys(chain(*whys))),
        victim_losses=losses,
        takers=_takers(losses),
        work_rows=frame[works].to_dict("records"),
        primary_rows=primary_rows.to_dict("records"),
        cpu_rows=frame[frame["metric"].str.endswith("_cpu_percent")].to_dict("records"),
        differing=int((others_told["differs"] == "yes").sum()),
        unchanged=int(others_told["is_unchanged"].sum()),
        undecided_metrics=int(
            (others_told["differs"].isin(["no", "too_few"]) & ~others_told["is_unchanged"]).sum()
        ),
        compared=len(others_told),
        corrected=int(others.sum()),
        is_paired=comparison.paired and bool((frame["observed_in"] == "repeats").any()),
        warnings=sum(one.severity == "warning" for one in findings(comparison)),
    )


def metric_row(comparison: Comparison, one: Observed) -> dict[str, Any]:
    # Before chances are corrected.
    change = change_from(one.base, one.new, one.metric.relative, comparison.paired)
    counts = len(one.base.numerator), len(one.new.numerator)
    is_paired = comparison.paired and one.base.of == "repeats"
    refused = refusals(comparison, one.metric)
    few = one.base.of == "repeats" and min(counts) < LEAST_REPEATS
    return {
        "metric": one.metric.name,
        "per_unit": one.metric.unit,
        **change.columns,
        **observed_columns(one.base, one.new),
        "base_deviation_share": one.base.deviation_share,
        "new_deviation_share": one.new.deviation_share,
        "is_relative": change.is_relative,
        "p_least": least_chance(*counts, is_paired),
        "more_repeats": more_repeats(one.runs, one.metric.relative),
        "better": one.metric.better,
        "differs": "refused" if refused else "too_few" if few else "",
        "refused_by": "; ".join(refused),
    }


def _of_one_side(metric: Metric, side: str, observed: Side) -> dict[str, Any]:
    found = estimate(observed)
    ends = {"": found.value, "_low": found.low, "_high": found.high}
    return {
        "metric": metric.name,
        "per_unit": metric.unit,
        **{f"{side}{end}": value for end, value in ends.items()},
        "observed_in": observed.of,
        "base_observations": 0,
        "new_observations": 0,
        f"{side}_observations": len(observed.numerator),
        f"{side}_deviation_share": observed.deviation_share,
        "is_relative": False,
        "better": "",
        "differs": "one_side",
        "refused_by": "",
    }


def _takers(losses: pd.DataFrame) -> list[dict[Any, Any]]:
    # Whoever took more or less of the victim's time, at most 3; neighbours wherever they had much.
    others = losses[~losses["taker"].isin(["victim", "slept"])]
    apart = (others["new_share"] - others["base_share"]).abs().astype("float64")
    most = apart[apart >= _WORTH].nlargest(3).index
    kept = others.index.isin(most) | (
        (others["taker"] == NEIGHBOURS) & (others["run_most_share"] >= _NEIGHBOURS)
    )
    return others[kept].to_dict("records")


def _notes(comparison: Comparison, frame: pd.DataFrame, corrected: int) -> tuple[str, ...]:
    notes = []
    if (frame["observed_in"] == "blocks").any():
        notes.append(
            "fewer than 6 recorded repeats on a side: intervals are of blocks of time of these "
            "recordings, and say nothing of other runs"
        )
    if (frame["differs"] == "too_few").any():
        counts = frame.loc[frame["differs"] == "too_few", ["base_observations", "new_observations"]]
        few = int(counts.to_numpy().min())
        notes.append(
            f"figures of {plural(few, 'repeat')}: fewer than 6 cannot show a difference between "
            "conditions"
        )
    judged = frame[frame["differs"].isin(["yes", "no"])]
    if len(judged):
        weakest = max(judged.to_dict("records"), key=lambda row: row["p_least"])
        notes.append(_reach(comparison, weakest, corrected))
    recorded = [side for side, runs in comparison.sides.items() if runs.recorded]
    if len(recorded) == 1:
        notes.append(f"only {recorded[0]} was recorded: times and counts are not compared")
    return tuple(notes)


def _reach(comparison: Comparison, row: Mapping[Any, Any], corrected: int) -> str:
    # What the design can show at all.
    many = "pairs" if comparison.paired and row["observed_in"] == "repeats" else row["observed_in"]
    sizes = row["base_observations"], row["new_observations"]
    design = f"{sizes[0]} pairs" if many == "pairs" else f"{sizes[0]} against {sizes[1]} {many}"
    said = f"the smallest p that {design} can reach is {row['p_least']:.2g}"
    if corrected < 2:
        return said
    least = min(corrected * row["p_least"], 1)
    said += f", and {least:.2g} after correcting for {corrected} metrics that were not named"
    return said if least < CHANCE else f"{said}: none of these can differ, so name what matters"


def _layout(changes: pd.DataFrame) -> Table:
    # Each row has a unit of its own.
    rows = []
    for row in changes.to_dict("records"):
        sides = [
            [quantity(row[side], row["per_unit"]), deviation(row[f"{side}_deviation_share"])]
            for side in ("base", "new")
        ]
        low, high = (
            moved(row[name], row["is_relative"], row["per_unit"])
            for name in ("change_low", "change_high")
        )
        said = row["outcome"] or row["differs"].replace("_", " ")
        rows.append(
            [
                *(row["metric"], *sides[0], *sides[1], judged(row)),
                "" if absent(row["change_low"]) else f"{low} to {high}",
                *(marked_chance(row), "" if said in ("yes", "no", "refused") else said),
            ]
        )
    header = ["metric", "base", "%stddev", "new", "%stddev", "change", "95 % interval", "p", ""]
    return Table(header, rows, strong={0}, left={0, 8})


@changes.table
def _table(answer: Answer) -> str:
    return f"{_layout(answer.frame).html()}<p>{KEY}; {NAMED}</p>"


@changes.text
def _text(answer: Answer) -> str:
    return f"{_layout(answer.frame).text()}\n{KEY}; {NAMED}"


@changes.plot(
    title="Change of each metric, with its interval",
    height=lambda answer: 0.9 + 0.28 * int(answer.frame["is_relative"].sum()),
    panels=lambda answer: ({},) if answer.frame["is_relative"].any() else (),
)
def _plot(ax: Axes, answer: Answer) -> None:
    from ...plots.marks import CHANGE, interval, intervals

    rows = answer.frame[answer.frame["is_relative"]].to_dict("records")
    # A very large change would squeeze the others, so it is an arrow with its value.
    within = [abs(row["change"]) for row in rows if abs(row["change"]) <= _FAR]
    reach = 100 * min(max([0.05, *(1.6 * change for change in within)]), _FAR)
    drawn = []
    for place, row in enumerate(rows):
        color = OUTCOME[row["outcome"]] if row["differs"] == "yes" else FAINT
        if not 100 * abs(row["change"]) > reach:
            size = 5 + 2 * row["is_primary"]
            drawn.append(interval(place, row, CHANGE, color, 100, markersize=size))
            continue
        edge, marker, shift, side = (
            (reach, ">", -8, "right") if row["change"] > 0 else (-reach, "<", 8, "left")
        )
        ax.plot(edge, place, marker, color=color, clip_on=False)
        ax.annotate(
            moved(row["change"], True, ""), (edge, place), xytext=(shift, 0),
            textcoords="offset points", ha=side, va="center", color=color,
        )  # fmt: skip
    intervals(ax, [row["metric"].replace("_", " ") for row in rows], drawn)
    for label, row in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if row["is_primary"] else "normal")
    ax.set_xlim(-reach, reach)
    ax.set_xlabel(f"change from {answer['base_name']} to {answer['new_name']}, %")

# What changed from one run set to the other, metric by metric, and how sure that is.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...display.metrics import chance, judged, moved, quantity
from ...display.tables import Table
from ...stats.change import adjusted
from ...units import absent, plural
from .comparability import findings, refusals
from .metrics import VICTIM_SHARE, change_columns, differs, has_few, observed, primary_name
from .repeats_needed import more_repeats
from .victim_losses import NEIGHBOURS, victim_losses
from .work_metrics import is_work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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

    A row per metric that both sides have, the primary one first. With 6 repeats or more on both
    sides a figure is the median over repeats, and its interval is over repeats. With fewer it is
    over the blocks of time of these runs, and says nothing about other runs. Intervals: BCa
    bootstrap. p_value: permutation of observations between the sides.

    A metric differs where its interval excludes no change and its chance is below 5 %. All but the
    primary metrics are corrected for being many (Benjamini, Hochberg). Where comparability refuses,
    there is no verdict: no metric differs then.

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
    rows = [
        {
            "metric": one.metric.name,
            "per_unit": one.metric.unit,
            **change_columns(one.base, one.new, one.metric.relative),
            "is_primary": one.metric.name in primary,
            "is_relative": one.metric.relative,
            "more_repeats": more_repeats(one.runs, one.metric.relative),
            "better": one.metric.better,
        }
        for one in sorted(
            metrics, key=lambda one: (one.metric.name != first, one.metric.name not in primary)
        )
    ]
    frame = pd.DataFrame(rows)
    others = ~frame["is_primary"]
    frame["p_adjusted"] = frame["p_value"]
    frame.loc[others, "p_adjusted"] = adjusted(frame.loc[others, "p_value"].to_numpy("float64"))
    refused = refusals(comparison)
    frame["differs"] = "refused" if refused else differs(frame).mask(has_few(frame), "too_few")
    frame["more_repeats"] = frame["more_repeats"].astype("Int64").mask(frame["differs"] == "yes")
    works = [is_work(one, of) for one, of in zip(frame["metric"], frame["per_unit"], strict=True)]
    losses = victim_losses(comparison)
    better = frame.pop("better")
    is_better = (frame["change"] > 0) == (better == "more")
    judgeable = (frame["differs"] == "yes") & (better != "")
    frame["outcome"] = np.select([~judgeable, is_better], ["", "better"], "worse")
    return Answer(
        changes=frame,
        base_name=comparison.named("base"),
        new_name=comparison.named("new"),
        notes=_notes(frame),
        refusals=refused,
        victim_losses=losses,
        takers=_takers(losses),
        work_rows=frame[works].to_dict("records"),
        primary_rows=frame[~others].to_dict("records"),
        differing=int((frame.loc[others, "differs"] == "yes").sum()),
        compared=int(others.sum()),
        warnings=sum(one.severity == "warning" for one in findings(comparison)),
    )


def _takers(losses: pd.DataFrame) -> list[dict[Any, Any]]:
    # Whoever took more or less of the victim's time, at most 3; neighbours wherever they had much.
    others = losses[~losses["taker"].isin(["victim", "slept"])]
    apart = (others["new_share"] - others["base_share"]).abs().astype("float64")
    most = apart[apart >= _WORTH].nlargest(3).index
    kept = others.index.isin(most) | (
        (others["taker"] == NEIGHBOURS) & (others["run_most_share"] >= _NEIGHBOURS)
    )
    return others[kept].to_dict("records")


def _notes(frame: pd.DataFrame) -> tuple[str, ...]:
    notes = []
    if (frame["observed_in"] == "blocks").any():
        notes.append(
            "fewer than 6 recorded repeats on a side: intervals are of blocks of time of these "
            "recordings, and say nothing of other runs"
        )
    if (frame["differs"] == "too_few").any():
        few = frame.loc[frame["differs"] == "too_few", "base_observations"].min()
        notes.append(
            f"figures of {plural(few, 'repeat')}: fewer than 6 cannot show a difference between "
            "conditions"
        )
    return tuple(notes)


def _layout(changes: pd.DataFrame) -> Table:
    # Each row has a unit of its own.
    rows = []
    for row in changes.to_dict("records"):
        base, new = (quantity(row[name], row["per_unit"]) for name in ("base", "new"))
        low, high = (
            moved(row[name], row["is_relative"], row["per_unit"])
            for name in ("change_low", "change_high")
        )
        said = row["outcome"] or row["differs"].replace("_", " ")
        rows.append(
            [
                *(row["metric"], base, new, judged(row)),
                "" if absent(row["change_low"]) else f"{low} to {high}",
                *(chance(row["p_adjusted"]), "" if said in ("yes", "no") else said),
            ]
        )
    header = ["metric", "base", "new", "change", "95 % interval", "p", ""]
    return Table(header, rows, strong={0}, left={0, 6})


@changes.table
def _table(answer: Answer) -> str:
    return _layout(answer.frame).html()


@changes.text
def _text(answer: Answer) -> str:
    return _layout(answer.frame).text()


@changes.plot(
    title="Change of each metric, with its interval",
    height=lambda answer: 0.9 + 0.28 * int(answer.frame["is_relative"].sum()),
    panels=lambda answer: ({},) if answer.frame["is_relative"].any() else (),
)
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import relative_changes

    relative_changes(ax, answer.frame, answer["base_name"], answer["new_name"])

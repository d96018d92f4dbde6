# What changed from one run set to the other, metric by metric, and how sure that is.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...stats.change import LEAST_REPEATS, adjusted, change_of
from ...stats.resampling import CONFIDENCE
from ...units import plural
from .comparability import findings, refusals
from .metrics import VICTIM_SHARE, Observed, observed
from .primary import primary_name
from .words import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer


@dataclass(frozen=True)
class Changes:
    """Answer of `changes`.

    Attributes
    ----------
    changes : pandas.DataFrame
        A row per metric, the primary one first: metric, per_unit, base, base_low, base_high, new,
        new_low, new_high, change, change_low, change_high, p_value, p_adjusted, differs, outcome,
        observed_in, base_observations, new_observations, is_primary, is_relative.
    base_name, new_name : str
        What a reader calls the sides.
    notes : tuple of str
        What a reader of them has to know.
    refusals : tuple of str
        Why there is no verdict, of `comparability`; empty where there is one.
    """

    changes: pd.DataFrame
    base_name: str
    new_name: str
    notes: tuple[str, ...]
    refusals: tuple[str, ...]


@question(
    topic="comparison",
    main="changes",
    rows=30,
    columns=(
        *("metric", "per_unit", "base", "new", "change", "change_low", "change_high"),
        *("differs", "outcome"),
    ),
)
def changes(comparison: Comparison) -> Changes:
    """What changed from base to new, metric by metric, with intervals.

    A row per metric that both sides have.

    Source: the sums, polls and switches of each recording, and the figures of their steps. With 6
    repeats or more on both sides a figure is the median over repeats, and its interval is of
    repeats. With fewer it is of the blocks of time of these runs, and says nothing of others.
    Intervals: BCa bootstrap. p_value: permutation of observations between the sides. A metric
    differs where its interval excludes no change and its chance is below 5 %; all but the primary
    ones are corrected for being many (Benjamini, Hochberg). What comparability refuses has no
    verdict: no metric differs then.
    """
    found = observed(comparison)
    if not found:
        raise CaptureError(
            "the sides have no metric in common: each needs a recording, or figures in its steps"
        )
    primary = primary_name(comparison, [one.metric.name for one in found])
    # Unless one was named, what the network costs and what it leaves the victim.
    named = {primary} if comparison.primary else {primary, VICTIM_SHARE.name}
    rows = [_row(one, one.metric.name in named) for one in found]
    frame = pd.DataFrame(rows)
    first = 2 * (frame["metric"] == primary) + frame["is_primary"]
    frame = frame.loc[first.sort_values(ascending=False, kind="stable").index]
    frame = frame.reset_index(drop=True)
    others = ~frame["is_primary"].to_numpy()
    chances = frame["p_value"].to_numpy("float64")
    frame["p_adjusted"] = chances
    frame.loc[others, "p_adjusted"] = adjusted(chances[others])
    refused = refusals(comparison)
    rows_of = frame.to_dict("records")
    frame["differs"] = ["refused" if refused else _differs(row) for row in rows_of]
    frame["outcome"] = [_outcome(row) for row in frame.to_dict("records")]
    return Changes(
        frame.drop(columns="better"),
        comparison.named("base"),
        comparison.named("new"),
        _notes(frame),
        refused,
    )


def _row(one: Observed, is_primary: bool) -> dict[str, Any]:
    found = change_of(one.base, one.new, one.metric.relative)
    return {
        "metric": one.metric.name,
        "per_unit": one.metric.unit,
        **found.columns,
        "observed_in": one.base.of,
        "base_observations": len(one.base.numerator),
        "new_observations": len(one.new.numerator),
        "is_primary": is_primary,
        "is_relative": one.metric.relative,
        "better": one.metric.better,
    }


def _differs(row: Mapping[Any, Any]) -> str:
    # "too_few": no claim about repeats. Blocks of one run are no repeats, and say so themselves.
    observations = min(row["base_observations"], row["new_observations"])
    if row["observed_in"] == "repeats" and observations < LEAST_REPEATS:
        return "too_few"
    excludes = row["change_low"] > 0 or row["change_high"] < 0
    return "yes" if excludes and row["p_adjusted"] < 1 - CONFIDENCE else "no"


def _outcome(row: Mapping[Any, Any]) -> str:
    if row["differs"] != "yes" or not row["better"]:
        return ""
    return "better" if (row["change"] > 0) == (row["better"] == "more") else "worse"


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


@changes.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # primary_rows: those of the metrics named beforehand. differing, compared: how many of the
    # others differ, and are there. warnings: how many comparability has.
    frame = answer.result.changes
    others = frame[~frame["is_primary"]]
    return {
        "primary_rows": frame[frame["is_primary"]].to_dict("records"),
        "differing": int((others["differs"] == "yes").sum()),
        "compared": len(others),
        "warnings": sum(
            one.severity == "warning" for one in findings(answer.sources["Comparison"])
        ),
    }


@changes.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    parts = answer.parts
    named = ("base_name", "new_name", "notes", "refusals", "differing", "compared", "warnings")
    rows = [shown(row) for row in parts["primary_rows"]]
    return {"rows": rows, **{name: parts[name] for name in named}}


@changes.table
def _table(answer: "Answer") -> str:
    from .tables import changes_table

    return changes_table(answer.frame).html()


@changes.text
def _text(answer: "Answer") -> str:
    from .tables import changes_table

    return changes_table(answer.frame).text()


@changes.plot(
    title="Change of each metric, with its interval",
    height=lambda answer: 0.9 + 0.28 * int(answer.frame["is_relative"].sum()),
    panels=lambda answer: ({},) if answer.frame["is_relative"].any() else (),
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import changes_with_intervals

    found = answer.result
    changes_with_intervals(ax, found.changes, found.base_name, found.new_name)

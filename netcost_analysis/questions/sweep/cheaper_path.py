# Which data path is the cheaper one at each rate, and by how much.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...display.metrics import moved, quantity
from ...opening.experiment import Experiment
from ..batches.common import records
from ..batches.curves import PATHS
from .pairs import pairs, require_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Where neither can be told to be.
NEITHER = "~"


@question(
    topic="sweep",
    check=lambda experiment: require_pairs(experiment, PATHS),
    rows=80,
    columns=(
        *("alike", "offered", "cheaper", "change", "change_low", "change_high"),
        *("base_name", "new_name", "base", "new"),
    ),
    shares=("change", "change_low", "change_high"),
)
def cheaper_path(experiment: Experiment, metric: str = "network_ns_per_packet") -> pd.DataFrame:
    """Which data path is the cheaper one at each rate of packets, with the interval of how much.

    - experiment: A sweep with two data paths or more.
    - metric: What costs are: network_ns_per_packet (on the measured CPU), network_share, batch_mean
      or victim_share (of which more is not cheaper: cheaper is empty).

    A row per rate and pair of paths that differ in nothing else: alike (their other labels, as far
    as steps differ in them), offered, base_name, new_name, base_rate_per_s, new_rate_per_s, metric,
    per_unit, base, base_low, base_high, new, new_low, new_high, change, change_low, change_high,
    p_value, is_relative, observed_in, run_scatter, p_adjusted, differs, cheaper (a path, or ~ where
    neither can be told to be).

    Source: the steps of by_rate. Intervals: BCa bootstrap, of repeats where both have 6 or more,
    else of blocks of time of these recordings. These say nothing of other runs; where steps with 6
    repeats say how far runs of one condition scatter, single runs' intervals are widened by that
    (run_scatter, taken for alike at all rates). Chances: permutation, corrected for asking at
    several rates (Benjamini, Hochberg).
    """
    frame = pairs(experiment, PATHS, metric)
    less_is_cheaper = metric in ("network_ns_per_packet", "network_share")
    frame["cheaper"] = [
        _cheaper(row) if less_is_cheaper else "" for row in frame.to_dict("records")
    ]
    return frame


def _cheaper(row: dict[Any, Any]) -> str:
    if row["differs"] != "yes":
        return NEITHER
    return str(row["new_name"] if row["change"] < 0 else row["base_name"])


@cheaper_path.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # verdicts: of each pair of paths at how many rates which was the cheaper one, and by how much.
    # of_blocks: how many rows are of blocks of time and not of repeats; scatter: by how far runs
    # scatter, which these allow for, None where nobody knows.
    frame = answer.frame
    return {
        "verdicts": [
            _verdict(str(base), str(new), rows)
            for (base, new), rows in frame.groupby(["base_name", "new_name"], sort=False)
        ],
        "of_blocks": int((frame["observed_in"] == "blocks").sum()),
        "scatter": frame["run_scatter"].max(),
    }


def _verdict(base: str, new: str, rows: pd.DataFrame) -> dict[str, Any]:
    # From the view of the path that is cheaper more often.
    by_name = rows["cheaper"].value_counts()
    won, lost = sorted((base, new), key=lambda name: -int(by_name.get(name, 0)))
    wins = rows[rows["cheaper"] == won]
    ordered = wins.reindex(wins["change"].abs().sort_values().index)
    return {
        "cheaper_name": won,
        "dearer_name": lost,
        "cheaper_at": int(by_name.get(won, 0)),
        "dearer_at": int(by_name.get(lost, 0)),
        "told_apart_not": int(by_name.get(NEITHER, 0)),
        "compared": len(rows),
        "least_change": records(ordered.head(1))[0] if len(ordered) else None,
        "most_change": records(ordered.tail(1))[0] if len(ordered) else None,
    }


@cheaper_path.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "verdicts": [
            {
                **one,
                "least": _shown(one["least_change"]),
                "most": _shown(one["most_change"]),
            }
            for one in answer.parts["verdicts"]
        ],
        "metric": str(answer.frame["metric"].iloc[0]).replace("_", " "),
        "of_blocks": answer.parts["of_blocks"],
        "scatter": answer.parts["scatter"],
    }


def _shown(row: dict[str, Any] | None) -> dict[str, str] | None:
    # A difference as text.
    if row is None:
        return None
    names = ("change", "change_low", "change_high")
    return {
        **{name: moved(row[name], row["is_relative"], row["per_unit"]) for name in names},
        "base": quantity(row["base"], row["per_unit"]),
        "new": quantity(row["new"], row["per_unit"]),
        "base_name": row["base_name"],
        "new_name": row["new_name"],
        "alike": row["alike"],
        "offered": row["offered"],
    }


@cheaper_path.plot(title="Difference between data paths at each rate, with its interval",
                   height=lambda answer: 1.0 + 0.3 * len(answer.frame))  # fmt: skip
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import differences

    differences(ax, answer.frame)

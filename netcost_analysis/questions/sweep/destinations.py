# What a second destination adds to the cost of the same packets.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...display.metrics import moved
from ...opening.experiment import Experiment
from ..batches.common import records
from .pairs import pairs, require_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_LABEL = ("destinations",)


@question(
    topic="sweep",
    check=lambda experiment: require_pairs(experiment, _LABEL),
    rows=80,
    columns=(
        *("alike", "offered", "differs", "change", "change_low", "change_high"),
        *("base_name", "new_name", "base", "new"),
    ),
    shares=("change", "change_low", "change_high"),
)
def destinations(experiment: Experiment, metric: str = "network_share") -> pd.DataFrame:
    """What the same packets cost to one destination and to two, as a difference at each rate.

    - experiment: A sweep with one and two destinations.
    - metric: What is compared: network_share (of the measured CPU), network_ns_per_packet,
      batch_mean or victim_share.

    A row per rate and pair of steps that differ in their destinations alone, as cheaper_path has
    it, without cheaper.

    Source: as cheaper_path. At the rate max the two differ in their rate too, and so in their share
    of the CPU: base_rate_per_s, new_rate_per_s.
    """
    return pairs(experiment, _LABEL, metric)


@destinations.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # of_paths: for each of alike at how many rates there is a difference, and the largest.
    found = []
    for alike, rows in answer.frame.groupby("alike", sort=False):
        apart = rows[rows["differs"] == "yes"]
        largest = apart.reindex(apart["change"].abs().sort_values(ascending=False).index)
        found.append(
            {
                "alike": str(alike),
                "compared": len(rows),
                "differing": len(apart),
                "most_change": records(largest.head(1))[0] if len(largest) else None,
            }
        )
    return {"of_paths": found}


@destinations.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "of_paths": [
            {**one, "most": _shown(one["most_change"])} for one in answer.parts["of_paths"]
        ],
        "metric": str(answer.frame["metric"].iloc[0]).replace("_", " "),
    }


def _shown(row: dict[str, Any] | None) -> dict[str, str] | None:
    if row is None:
        return None
    names = ("change", "change_low", "change_high")
    text = {name: moved(row[name], row["is_relative"], row["per_unit"]) for name in names}
    return {**text, "offered": row["offered"], "new_name": row["new_name"]}


@destinations.plot(title="Difference between one destination and two at each rate",
                   height=lambda answer: 1.0 + 0.3 * len(answer.frame))  # fmt: skip
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import differences

    differences(ax, answer.frame)

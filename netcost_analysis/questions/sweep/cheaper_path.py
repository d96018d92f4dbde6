# Which data path is cheaper at each rate, and by how much.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...opening.experiment import Experiment
from ..batches.curves import PATHS
from .step_pairs import CHANGES, COLUMNS, by_change, pairs, require_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# No difference was found.
NEITHER = "~"


@question(
    check=lambda experiment: require_pairs(experiment, PATHS),
    rows=80,
    columns=("alike", "offered", "cheaper", *COLUMNS),
    shares=CHANGES,
)
def cheaper_path(experiment: Experiment, metric: str = "network_ns_per_packet") -> Answer:
    """Which data path is cheaper at each rate of packets, and the interval of the difference.

    - metric: The cost: network_ns_per_packet (on the measured CPU), network_share, batch_mean or
      victim_share (more of the last two is not cheaper: cheaper is empty).

    A row per rate and pair of paths that differ in nothing else; alike: their other labels, as far
    as steps differ in them. Intervals: permutation, over repeats where both have 6 or more, else
    over blocks of time of these recordings. The latter say nothing about other runs. Where steps
    with 6 repeats show how far runs of one condition scatter, single runs' intervals are widened by
    that (run_scatter, assumed to be alike at all rates). Chances: permutation, corrected for asking
    at several rates (Benjamini, Hochberg).

    Source: the steps of by_rate.
    """
    frame = pairs(experiment, PATHS, metric)
    frame["cheaper"] = ""
    if metric in ("network_ns_per_packet", "network_share"):
        less = frame["new_name"].where(frame["change"] < 0, frame["base_name"])
        frame["cheaper"] = less.where(frame["differs"] == "yes", NEITHER)
    return Answer(
        frame,
        verdicts=[
            _verdict(str(base), str(new), rows)
            for (base, new), rows in frame.groupby(["base_name", "new_name"], sort=False)
        ],
        of_blocks=int((frame["observed_in"] == "blocks").sum()),
        scatter=frame["run_scatter"].max(),
    )


def _verdict(base: str, new: str, rows: pd.DataFrame) -> dict[str, Any]:
    # At how many rates each of two paths is cheaper, and by how much, seen from the path that is
    # cheaper more often.
    rates = {name: int((rows["cheaper"] == name).sum()) for name in (base, new, NEITHER)}
    won, lost = sorted((base, new), key=lambda name: -rates[name])
    ordered = listed(by_change(rows[rows["cheaper"] == won]))
    return {
        "cheaper_name": won,
        "dearer_name": lost,
        "cheaper_at": rates[won],
        "dearer_at": rates[lost],
        "told_apart_not": rates[NEITHER],
        "compared": len(rows),
        "least_change": ordered[0] if ordered else None,
        "most_change": ordered[-1] if ordered else None,
    }


@cheaper_path.plot(title="Difference between data paths at each rate, with its interval",
                   height=lambda answer: 1.0 + 0.3 * len(answer.frame))  # fmt: skip
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import differences

    differences(ax, answer.frame)

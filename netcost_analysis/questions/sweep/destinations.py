# What a second destination adds to the cost of the same packets.

from typing import TYPE_CHECKING

from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...opening.experiment import Experiment
from .step_pairs import CHANGES, COLUMNS, by_change, pairs, require_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LABEL = ("destinations",)


@question(
    check=lambda experiment: require_pairs(experiment, _LABEL),
    rows=80,
    columns=("alike", "offered", "differs", *COLUMNS),
    shares=CHANGES,
)
def destinations(experiment: Experiment, metric: str = "network_share") -> Answer:
    """What the same packets cost to one destination and to two: the difference at each rate.

    - metric: What is compared: network_share (of the measured CPU), network_ns_per_packet,
      batch_mean or victim_share.

    A row per rate and pair of steps that differ only in their destinations, as in cheaper_path,
    without cheaper. At the rate max the two differ in their rate too, and so in their share of the
    CPU: base_rate_per_s, new_rate_per_s.

    Source: as cheaper_path.
    """
    frame = pairs(experiment, _LABEL, metric)
    of_paths = []
    for alike, rows in frame.groupby("alike", sort=False):
        apart = by_change(rows[rows["differs"] == "yes"], ascending=False)
        of_paths.append(
            {
                "alike": str(alike),
                "compared": len(rows),
                "differing": len(apart),
                "most_change": next(iter(listed(apart.head(1))), None),
            }
        )
    return Answer(frame, of_paths=of_paths)


@destinations.plot(title="Difference between one destination and two at each rate",
                   height=lambda answer: 1.0 + 0.3 * len(answer.frame))  # fmt: skip
def _plot(ax: "Axes", answer: Answer) -> None:
    from .plots import differences

    differences(ax, answer.frame)

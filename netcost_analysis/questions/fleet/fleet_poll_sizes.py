# Packets per poll in all captures together.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from ..batches.common import records
from .merged import By, groups, groups_of, merged, require_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_HISTOGRAM = "poll_packets"


@question(
    topic="fleet",
    check=lambda fleet: require_histogram(fleet, _HISTOGRAM),
    columns=("group", "device", "work", "polls", "ns"),
    rows=0,
)
def fleet_poll_sizes(fleet: Fleet, captures_by: By = "kernel") -> pd.DataFrame:
    """Packets per poll in all captures together: exact sums of their histograms.

    - captures_by: What captures are told apart by.

    A row per group, device and work: polls, ns (their own time).

    Source: the fleet's histograms, of poll_sizes of each capture.
    """
    frame = merged(fleet, _HISTOGRAM, captures_by)
    return frame.rename(columns={"of": "device", "low": "work", "count": "polls"})[
        ["group", "device", "work", "polls", "ns"]
    ]


@fleet_poll_sizes.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    return {"by_group": groups_of(answer.frame, "polls", "work")}


@fleet_poll_sizes.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"groups": records(answer.tables["by_group"])}


@fleet_poll_sizes.plot(title="Packets per poll, of all captures together", height=2.8)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from .plots import sizes

    sizes(ax, answer.frame, groups(answer))

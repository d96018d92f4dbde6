# How long softirqs ran in all captures together.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...fleet.fleet import Fleet
from ..batches.common import records
from .merged import By, groups, groups_of, merged, require_histogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_HISTOGRAM = "softirq_ns"


@question(
    topic="fleet",
    check=lambda fleet: require_histogram(fleet, _HISTOGRAM),
    columns=("group", "action", "length_low_ns", "length_high_ns", "softirqs", "ns"),
    rows=0,
)
def fleet_softirq_lengths(fleet: Fleet, captures_by: By = "kernel") -> pd.DataFrame:
    """How long softirqs ran in all captures together: exact sums of their histograms.

    - captures_by: What captures are told apart by.

    A row per group, action and bin of softirq_lengths: softirqs, ns (their own time).

    Source: the fleet's histograms, of softirq_lengths of each capture.
    """
    frame = merged(fleet, _HISTOGRAM, captures_by)
    names = {"of": "action", "low": "length_low_ns", "high": "length_high_ns", "count": "softirqs"}
    return frame.rename(columns=names)


@fleet_softirq_lengths.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # Of NET_RX.
    net_rx = answer.frame[answer.frame["action"] == "NET_RX"]
    ends = {
        "half": "half_within_ns",
        "most": "most_within_ns",
        "nearly_all": "nearly_all_within_ns",
    }
    return {"by_group": groups_of(net_rx, "softirqs", "length_high_ns").rename(columns=ends)}


@fleet_softirq_lengths.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"groups": records(answer.tables["by_group"])}


@fleet_softirq_lengths.plot(
    title="Own time of NET_RX softirqs, of all captures together",
    height=2.8,
    panels=lambda answer: [{}] if len(answer.tables["by_group"]) else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from ...plots.lengths import lengths

    rows = answer.frame[answer.frame["action"] == "NET_RX"]
    lengths(ax, {one: rows[rows["group"] == one] for one in groups(answer)}, "softirqs")

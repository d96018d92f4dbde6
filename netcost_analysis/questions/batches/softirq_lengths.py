# How long softirqs run, as counts in bins that are the same in every recording.

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.question import question
from ...stats.bins import bins
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from .common import WHOLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

_KEYS = ["action", "length_low_ns", "length_high_ns"]
_LENGTHS = Grouped("softirqs", by=("action",), lengths="self_ns", where=WHOLE)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=(_LENGTHS,),
    columns=("action", "length_low_ns", "length_high_ns", "softirqs", "ns"),
    rows=0,
)
def softirq_lengths(timeline: Timeline) -> pd.DataFrame:
    """How long softirqs run, by vector: how many took how long, in bins that merge by adding.

    A row per action and bin: length_low_ns and length_high_ns (both within it), softirqs, ns (their
    own time together).

    Own time, without what interrupted the softirq, of those that were seen from entry to exit; in a
    window's edge, of the part within it. A bin is an eighth of a power of two wide, and below 16 ns
    one nanosecond: counts and sums of several recordings add up, bin by bin. Source: softirqs.
    """
    lengths = _LENGTHS(timeline).lengths.counts.reset_index()
    low, high = bins(lengths["low"].to_numpy())
    counts = lengths[["action"]].assign(
        length_low_ns=low, length_high_ns=high, softirqs=lengths["count"], ns=lengths["total"]
    )
    return counts.groupby(_KEYS, as_index=False).sum()


@softirq_lengths.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # by_action: of each vector how many, their time, and the bin in which half of them were over.
    rows = [
        {
            "action": str(action),
            "softirqs": int(of["softirqs"].sum()),
            "ns": int(of["ns"].sum()),
            "half_within_ns": half_within(of["length_high_ns"], of["softirqs"]),
        }
        for action, of in answer.frame.groupby("action", sort=False)
    ]
    frame = pd.DataFrame(rows, columns=["action", "softirqs", "ns", "half_within_ns"])
    return {"by_action": frame.sort_values("ns", ascending=False, ignore_index=True)}


def half_within(high: "pd.Series[int]", counts: "pd.Series[int]") -> int:
    # The upper end of the bin that the one in the middle is in. high: of bins from low to high.
    reached = np.searchsorted(np.cumsum(counts), counts.sum() / 2)
    return int(high.iloc[int(reached)])


@softirq_lengths.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"actions": answer.tables["by_action"].to_dict("records")}


@softirq_lengths.plot(
    title="Own time of each NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if (answer.frame["action"] == "NET_RX").any() else [],
)
def _plot(ax: "Axes", answer: "Answer") -> None:
    from ...plots.lengths import lengths

    rows = answer.frame[answer.frame["action"] == "NET_RX"]
    lengths(ax, {"": rows}, "softirqs")

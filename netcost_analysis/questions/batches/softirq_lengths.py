# How long softirqs run, as counts in bins that are the same in every recording.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...stats.histogram import bins
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from .common import WHOLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ["action", "length_low_ns", "length_high_ns"]
_LENGTHS = Grouped("softirqs", by=("action",), lengths="self_ns", where=WHOLE)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=(_LENGTHS,),
    columns=("action", "length_low_ns", "length_high_ns", "softirqs", "ns"),
    rows=0,
)
def softirq_lengths(timeline: Timeline) -> Answer:
    """How long softirqs run, by vector: how many took how long, in bins that merge by adding.

    A row per action and bin. Own time, without what interrupted the softirq, of those that were
    seen from entry to exit; in a window's edge, of the part within it. A bin is an eighth of a
    power of two wide, and below 16 ns one nanosecond: counts and sums of several recordings add up,
    bin by bin. `by_action`: in which bin half of each were over. Source: softirqs.
    """
    lengths = _LENGTHS(timeline).lengths.counts.reset_index()
    low, high = bins(lengths["low"].to_numpy())
    counts = lengths[["action"]].assign(
        length_low_ns=low, length_high_ns=high, softirqs=lengths["count"], ns=lengths["total"]
    )
    frame = counts.groupby(_KEYS, as_index=False).sum()
    by_action = frame.groupby("action", sort=False)[["softirqs", "ns"]].sum()
    upto = frame.groupby("action")["softirqs"].cumsum()
    half = frame[upto >= frame["action"].map(by_action["softirqs"]) / 2]
    by_action["half_within_ns"] = half.groupby("action")["length_high_ns"].first()
    by_action = by_action.reset_index().sort_values("ns", ascending=False, ignore_index=True)
    return Answer(frame, by_action=by_action)


def _net_rx(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["action"] == "NET_RX"]


@softirq_lengths.plot(
    title="Own time of each NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if len(_net_rx(answer)) else [],
)
def _plot(ax: "Axes", answer: Answer) -> None:
    from ...plots.lengths import lengths

    lengths(ax, {"": _net_rx(answer)}, "softirqs")

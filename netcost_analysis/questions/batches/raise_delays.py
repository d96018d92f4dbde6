# Time from a softirq's raise to its entry.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...stats.histogram import narrowed
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.timeline import Timeline
from .common import rounded_spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KEYS = ["action", "origin", "in_kthread"]
_DELAYS = Grouped(
    "softirqs",
    by=("action", "origin", "in_kthread", "is_clamped"),
    known=("delay_ns",),
    lengths="delay_ns",
    where={"entry_ns": KNOWN},
)


@question(
    needs=("irq:softirq_raise", "irq:softirq_entry"),
    inputs=(_DELAYS,),
    columns=("action", "origin", "in_kthread", "softirqs", "median_ns", "p99_ns", "longest_ns"),
)
def raise_delays(timeline: Timeline) -> Answer:
    """Time from a softirq's first raise to its entry, by vector, origin and where it ran.

    A row per action, origin and in_kthread, most softirqs first. Delays are of those whose raise
    was seen, and 0 where it stands at the entry or after it. Source: softirqs.
    """
    delays = _DELAYS(timeline)
    clamped = delays.frame["softirqs"].where(delays.frame["is_clamped"], 0)
    table = delays.frame.assign(clamped=clamped, raises_known=delays.frame["delay_ns_known"])
    counts = table.groupby(_KEYS, dropna=False)[["softirqs", "raises_known", "clamped"]].sum()
    table = counts.join(rounded_spread(narrowed(delays.lengths, _KEYS, {})))
    table = table.sort_values("softirqs", ascending=False, kind="stable").reset_index()
    net_rx = table[table["action"] == "NET_RX"]
    return Answer(table, in_all={"clamped": int(net_rx["clamped"].sum())})


def _shown(answer: Answer) -> pd.DataFrame:
    # Worth a picture: the network's, then the busiest others.
    known = answer.frame[answer.frame["raises_known"] > 0]
    network = known["action"].isin(["NET_RX", "NET_TX"])
    return pd.concat([known[network].head(6), known[~network].head(4)])


@raise_delays.plot(
    title="From a softirq's raise to its entry",
    height=lambda answer: 1.2 + 0.33 * len(_shown(answer)),
    panels=lambda answer: [{}] if len(_shown(answer)) else [],
)
def _delays(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import spreads

    rows = _shown(answer)
    labels = [
        f"{row['action']}, by {row['origin']}{', in a thread' if row['in_kthread'] else ''}"
        for row in listed(rows)
    ]
    spreads(ax, rows, labels, "from raise to entry")

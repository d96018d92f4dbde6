# Time from a softirq's raise to its entry.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...stats.histogram import narrowed
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.timeline import Timeline
from .common import records, rounded_spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

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
    columns=(
        "action",
        "origin",
        "in_kthread",
        "softirqs",
        "median_ns",
        "p99_ns",
        "longest_ns",
    ),
)
def raise_delays(timeline: Timeline) -> pd.DataFrame:
    """Time from a softirq's first raise to its entry, by vector, origin and where it ran.

    A row per action, origin and in_kthread: softirqs, raises_known (those whose raise was seen),
    clamped (those of them whose raise stands at the entry or after it: their delay is 0), mean_ns,
    median_ns, p90_ns, p99_ns, longest_ns (of the delays, NA without any).

    Source: softirqs.
    """
    delays = _DELAYS(timeline)
    clamped = delays.frame["softirqs"].where(delays.frame["is_clamped"], 0)
    table = delays.frame.assign(clamped=clamped, raises_known=delays.frame["delay_ns_known"])
    counts = table.groupby(_KEYS, dropna=False)[["softirqs", "raises_known", "clamped"]].sum()
    table = counts.join(rounded_spread(narrowed(delays.lengths, _KEYS, {})))
    return table.sort_values("softirqs", ascending=False, kind="stable").reset_index()


def _of_net_rx(answer: "Answer") -> pd.DataFrame:
    frame = answer.frame
    return frame[(frame["action"] == "NET_RX") & (frame["raises_known"] > 0)]


@raise_delays.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    return {"in_all": {"clamped": int(_of_net_rx(answer)["clamped"].sum())}}


@raise_delays.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"delays": records(_of_net_rx(answer)), **answer.parts["in_all"]}


def _shown(answer: "Answer") -> pd.DataFrame:
    # Worth a picture: the network's, then the busiest others.
    known = answer.frame[answer.frame["raises_known"] > 0]
    network = known["action"].isin(["NET_RX", "NET_TX"])
    return pd.concat([known[network].head(6), known[~network].head(4)])


@raise_delays.plot(
    title="From a softirq's raise to its entry",
    height=lambda answer: 1.2 + 0.33 * len(_shown(answer)),
    panels=lambda answer: [{}] if len(_shown(answer)) else [],
)
def _delays(ax: "Axes", answer: "Answer") -> None:
    from .plots import spreads

    rows = _shown(answer)
    labels = [
        f"{row['action']}, by {row['origin']}{', in a thread' if row['in_kthread'] else ''}"
        for row in records(rows)
    ]
    spreads(ax, rows, labels, "from raise to entry")

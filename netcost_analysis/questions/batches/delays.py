# Time between interrupts of a line, and from a softirq's raise to its entry.

from typing import TYPE_CHECKING

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...display.tables import listed
from ...stats.histogram import narrowed, spread_of
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN
from ...timeline.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = 8
_BY = ("cpu", "context", "irq", "name")
_LINE = ["cpu", "irq_context", "irq", "name"]
# device is the same in all rows of a line and CPU, null where it is not known.
_COUNTED = Grouped(
    "hardirqs", by=(*_BY, "device"), sums=("self_ns",), known=("gap_ns",), where={"entry_ns": KNOWN}
)
_GAPS = Grouped("hardirqs", by=_BY, lengths="gap_ns", where={"gap_ns": KNOWN})
_RAISE = ["action", "origin", "in_kthread"]
_DELAYS = Grouped(
    "softirqs",
    by=("action", "origin", "in_kthread", "is_clamped"),
    known=("delay_ns",),
    lengths="delay_ns",
    where={"entry_ns": KNOWN},
)


@question(
    needs=("irq:irq_handler_entry", "irq:irq_handler_exit"),
    inputs=(_COUNTED, _GAPS),
    columns=("cpu", "irq", "name", "interrupts_per_s", "median_ns", "longest_ns"),
    rows=_LINES,
)
def irq_gaps(timeline: Timeline) -> Answer:
    """Time from one interrupt of a line to the next on the same CPU, vectors included.

    A row per CPU and line or vector, most interrupts first. Gaps that span a gap of the recording
    are not measured. Source: hardirqs.
    """
    counted = _COUNTED(timeline).frame.rename(
        columns={"context": "irq_context", "hardirqs": "interrupts", "gap_ns_known": "gaps"}
    )
    lines = counted.groupby(_LINE, dropna=False)
    table = lines[["device"]].first().join(lines[["interrupts", "ns", "gaps"]].sum())
    spread = spread_of(_GAPS(timeline).lengths).round().astype("Int64")
    spread = spread.rename_axis(_LINE).reset_index()
    table = table.reset_index().merge(spread, on=_LINE, how="left")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    table.insert(6, "interrupts_per_s", table["interrupts"] / seconds)
    order = table.sort_values("interrupts", ascending=False, kind="stable", ignore_index=True)
    return Answer(order)


def _lines(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["gaps"] > 0].head(_LINES)


@irq_gaps.plot(
    title="Time between interrupts of a line",
    height=lambda answer: 1.2 + 0.33 * len(_lines(answer)),
    panels=lambda answer: [{}] if len(_lines(answer)) else [],
)
def _gaps(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import spreads

    shown = _lines(answer)
    labels = [
        f"{row['name']}{' (' + row['device'] + ')' if row['device'] else ''}, CPU {row['cpu']}"
        for row in listed(shown)
    ]
    spreads(ax, shown, labels, "from one interrupt to the next of that line")


@question(
    needs=("irq:softirq_raise", "irq:softirq_entry"),
    inputs=(_DELAYS,),
    columns=("action", "origin", "in_kthread", "softirqs", "median_ns", "p99_ns", "longest_ns"),
)
def raise_delays(timeline: Timeline) -> Answer:
    """Time from a softirq's first raise to its entry, by vector, origin and where it ran.

    A row per action, origin and in_kthread, most softirqs first. Delays are of softirqs whose raise
    was seen, and 0 where the raise is at or after the entry. Source: softirqs.
    """
    delays = _DELAYS(timeline)
    clamped = delays.frame["softirqs"].where(delays.frame["is_clamped"], 0)
    table = delays.frame.assign(clamped=clamped, raises_known=delays.frame["delay_ns_known"])
    counts = table.groupby(_RAISE, dropna=False)[["softirqs", "raises_known", "clamped"]].sum()
    spread = spread_of(narrowed(delays.lengths, _RAISE, {}))
    table = counts.join(spread.round().astype("Int64"))
    table = table.sort_values("softirqs", ascending=False, kind="stable").reset_index()
    net_rx = table[table["action"] == "NET_RX"]
    return Answer(table, in_all={"clamped": int(net_rx["clamped"].sum())})


def _raises(answer: Answer) -> pd.DataFrame:
    # The network's softirqs, then the busiest others.
    known = answer.frame[answer.frame["raises_known"] > 0]
    network = known["action"].isin(["NET_RX", "NET_TX"])
    return pd.concat([known[network].head(6), known[~network].head(4)])


@raise_delays.plot(
    title="From a softirq's raise to its entry",
    height=lambda answer: 1.2 + 0.33 * len(_raises(answer)),
    panels=lambda answer: [{}] if len(_raises(answer)) else [],
)
def _delays(ax: "Axes", answer: Answer) -> None:
    from ...plots.softirqs import spreads

    rows = _raises(answer)
    labels = [
        f"{row['action']}, by {row['origin']}{', in a thread' if row['in_kthread'] else ''}"
        for row in listed(rows)
    ]
    spreads(ax, rows, labels, "from raise to entry")

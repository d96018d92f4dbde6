# Softirqs, by their polls and packets, by how long they run, and how long they and interrupts wait.

from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...display.tables import listed
from ...frames import most_first
from ...stats.histogram import bins, narrowed, spread_of
from ...timeline.aggregates import Grouped
from ...timeline.group import KNOWN, Where
from ...timeline.timeline import Timeline
from .poll_sizes import COUNTED, work_known

# Softirqs that were seen from entry to exit; NET_RX of them.
_WHOLE: Where = {"entry_ns": KNOWN, "exit_ns": KNOWN}
NET_RX: Where = {"action": "NET_RX", **_WHOLE}
_SIZE = ("cpu", "in_kthread", "polls", "packets")
_SIZES = Grouped("softirqs", by=_SIZE, sums=("self_ns", "outside_polls_ns"), where=NET_RX)
_BIN = ["action", "length_low_ns", "length_high_ns"]
_LENGTHS = Grouped("softirqs", by=("action",), lengths="self_ns", where=_WHOLE)


@question(needs=("softirqs", "polls"), inputs=(_SIZES, COUNTED), rows=0)
def softirq_sizes(timeline: Timeline) -> Answer:
    """Polls and packets per NET_RX softirq: how often each pair occurred.

    A row per CPU, in_kthread, polls and packets. RPS dispatch, NET_RX without any poll, is not
    included: see rps_dispatch. Source: softirqs.
    """
    table = _SIZES(timeline).frame
    has_polls = table["polls"] > 0
    dispatches = int(table.loc[~has_polls, "softirqs"].sum())
    table = table[has_polls].reset_index(drop=True)
    if not work_known(timeline):
        table["packets"] = table["packets"].mask(table["polls"] > 0)
        table = table.groupby(list(_SIZE), dropna=False, as_index=False).sum()
    return Answer(table, in_all=_in_all(table, dispatches))


def _in_all(sizes: pd.DataFrame, dispatches: int) -> dict[str, Any]:
    # Means and shares are None of none, figures of packets also where these are not known.
    softirqs, by_packets = int(sizes["softirqs"].sum()), _by_packets(sizes)
    polls, is_known = (sizes["polls"] * sizes["softirqs"]).sum(), bool(len(by_packets))
    busy = int(by_packets[by_packets.index > 0].sum())
    packets = int((by_packets * by_packets.index).sum())
    single = int(sizes.loc[sizes["polls"] == 1, "softirqs"].sum())
    in_kthread = int(sizes.loc[sizes["in_kthread"], "softirqs"].sum())
    return {
        "softirqs": softirqs,
        "dispatches": dispatches,
        "polls_mean": float(polls / softirqs) if softirqs else None,
        "polls_most": int(sizes["polls"].max()) if softirqs else None,
        "single_share": single / softirqs if softirqs else None,
        "busy": busy if is_known else None,
        "packets_mean": packets / busy if busy else None,
        "packets_most": int(by_packets.index.max()) if is_known else None,
        "in_kthread": in_kthread,
        "in_kthread_share": in_kthread / softirqs if softirqs else None,
    }


def _by_packets(sizes: pd.DataFrame) -> "pd.Series[int]":
    known = sizes[sizes["packets"].notna()].astype({"packets": "int64"})
    return known.groupby("packets")["softirqs"].sum()


softirq_sizes.plot(
    title="Packets per NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if answer.frame["packets"].notna().any() else [],
)(lambda ax, answer: plots.batches.packets_per_softirq(ax, _by_packets(answer.frame)))


@question(
    needs=("softirqs",),
    inputs=(_LENGTHS,),
    columns=("action", "length_low_ns", "length_high_ns", "softirqs", "ns"),
    rows=0,
)
def softirq_lengths(timeline: Timeline) -> Answer:
    """How long softirqs run, by vector: histograms that can be added up over recordings.

    A row per action and bin. The length is the own time of softirqs that were seen from entry to
    exit, without what interrupted them. At a window's edge it is that of the part within the
    window. A bin is an eighth of a power of two wide, and below 16 ns one nanosecond. Counts and
    sums of several recordings add up, bin by bin. `by_action`: the bin in which half of each had
    ended. Source: softirqs.
    """
    lengths = _LENGTHS(timeline).lengths.counts.reset_index()
    low, high = bins(lengths["low"].to_numpy())
    counts = lengths[["action"]].assign(
        length_low_ns=low, length_high_ns=high, softirqs=lengths["count"], ns=lengths["total"]
    )
    frame = counts.groupby(_BIN, as_index=False).sum()
    by_action = frame.groupby("action", sort=False)[["softirqs", "ns"]].sum()
    upto = frame.groupby("action")["softirqs"].cumsum()
    half = frame[upto >= frame["action"].map(by_action["softirqs"]) / 2]
    by_action["half_within_ns"] = half.groupby("action")["length_high_ns"].first()
    return Answer(frame, by_action=most_first(by_action.reset_index(), "ns"))


def _net_rx(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["action"] == "NET_RX"]


softirq_lengths.plot(
    title="Own time of each NET_RX softirq",
    height=2.4,
    panels=lambda answer: [{}] if len(_net_rx(answer)) else [],
)(lambda ax, answer: plots.softirqs.lengths(ax, {"": _net_rx(answer)}, "softirqs"))


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
    by=(*_RAISE, "is_clamped"),
    known=("delay_ns",),
    lengths="delay_ns",
    where={"entry_ns": KNOWN},
)


@question(
    needs=("interrupts",),
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
    spread = spread_of(_GAPS(timeline).lengths).rename_axis(_LINE).reset_index()
    table = table.reset_index().merge(spread, on=_LINE, how="left")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    table.insert(6, "interrupts_per_s", table["interrupts"] / seconds)
    return Answer(most_first(table, "interrupts"))


def _lines(answer: Answer) -> pd.DataFrame:
    return answer.frame[answer.frame["gaps"] > 0].head(_LINES)


@irq_gaps.plot(
    title="Time between interrupts of a line",
    height=lambda answer: 1.2 + 0.33 * len(_lines(answer)),
    panels=lambda answer: [{}] if len(_lines(answer)) else [],
)
def _gaps(ax: "plots.Axes", answer: Answer) -> None:
    shown = _lines(answer)
    labels = [
        f"{row['name']}{' (' + row['device'] + ')' if row['device'] else ''}, CPU {row['cpu']}"
        for row in listed(shown)
    ]
    plots.softirqs.spreads(ax, shown, labels, "time to the line's next interrupt")


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
    table = delays.frame.rename(columns={"delay_ns_known": "raises_known"})
    table["clamped"] = table["softirqs"].where(table["is_clamped"], 0)
    counts = table.groupby(_RAISE, dropna=False)[["softirqs", "raises_known", "clamped"]].sum()
    table = counts.join(spread_of(narrowed(delays.lengths, _RAISE, {}))).reset_index()
    clamped = table.loc[table["action"] == "NET_RX", "clamped"].sum()
    return Answer(most_first(table, "softirqs"), in_all={"clamped": int(clamped)})


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
def _delays(ax: "plots.Axes", answer: Answer) -> None:
    rows = _raises(answer)
    labels = [
        f"{row['action']}, by {row['origin']}{', in a thread' if row['in_kthread'] else ''}"
        for row in listed(rows)
    ]
    plots.softirqs.spreads(ax, rows, labels, "from raise to entry")

# NET_RX softirqs that polled nothing: they only steer packets to another CPU.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...stats.histogram import narrowed
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from .common import NET_RX, records, rounded_spread
from .softnet import readings_of, with_missing

if TYPE_CHECKING:
    from ...answers.answer import Answer


_OWN = Grouped("softirqs", by=("cpu", "is_dispatch"), lengths="self_ns", where=NET_RX)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=(_OWN,),
    rows=0,
)
def rps_dispatch(timeline: Timeline) -> pd.DataFrame:
    """NET_RX that polled nothing and no interrupt raised: receive packet steering's sending side.

    A row per CPU: net_rx (all of its NET_RX), net_rx_max (with those that the kernel counted and no
    event shows), dispatches (those of a task or softirq without a poll), dispatch_share (of
    net_rx), ns (their own time), median_ns, longest_ns, received_rps (how often another CPU handed
    it packets, by softnet_stat between its readings in the window; NA without them).

    Source: softirqs, and the bundle's softnet_stat.
    """
    net_rx = _OWN(timeline)
    number = net_rx.frame.groupby("cpu")["softirqs"].sum()
    sent = narrowed(net_rx.lengths, ["cpu"], {"is_dispatch": True})
    index = pd.Index(sorted(timeline.summary["cpus"]), name="cpu")
    table = pd.DataFrame(index=index)
    table["net_rx"] = number.reindex(index, fill_value=0).astype("int64")
    spread = rounded_spread(sent)
    table["dispatches"] = sent.totals["count"].reindex(index, fill_value=0).astype("int64")
    table["dispatch_share"] = table["dispatches"] / table["net_rx"].where(table["net_rx"] > 0)
    table["ns"] = sent.totals["total"].reindex(index, fill_value=0).astype("int64")
    table["median_ns"] = spread["median_ns"].reindex(index)
    table["longest_ns"] = spread["longest_ns"].reindex(index)
    counted, _ = readings_of(timeline)
    received = pd.Series(dtype="Int64") if counted is None else counted["received_rps"]
    table["received_rps"] = received.reindex(index).astype("Int64")
    return with_missing(table.reset_index(), proved_softirqs(timeline.capture))


def are_dispatches(net_rx: pd.DataFrame) -> "pd.Series[bool]":
    # Of rows of NET_RX. What an interrupt raised and polled nothing had been polled already.
    return (net_rx["polls"] == 0) & net_rx["origin"].isin(["task", "softirq", "mixed"])


@rps_dispatch.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    rows = answer.frame
    return {
        "sent": records(rows[rows["dispatches"] > 0]),
        "counted": bool(rows["received_rps"].notna().any()),
        "received": records(rows[(rows["received_rps"] > 0).fillna(False)]),
    }

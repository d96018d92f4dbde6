# NET_RX softirqs that polled nothing: they only steer packets to another CPU.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from ..question import question
from .common import net_rx_softirqs, records
from .softnet import readings_of, with_missing

if TYPE_CHECKING:
    from ..answer import Answer


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=("softirqs",),
    rows=0,
)
def rps_dispatch(timeline: Timeline) -> pd.DataFrame:
    """NET_RX without any poll: receive packet steering's sending side, apart from all batches.

    Parameters
    ----------
    timeline : Timeline
        The window and the CPUs in question.

    Returns
    -------
    pandas.DataFrame
        A row per CPU: net_rx (all of its NET_RX), net_rx_max (with those that the kernel counted
        and no event shows), dispatches (those without a poll), dispatch_share (of net_rx), ns
        (their own time), median_ns, longest_ns, received_rps (how often another CPU handed it
        packets, by softnet_stat between its readings in the window; NA without them).

    Raises
    ------
    MissingEventsError
        Without one of the events it needs.

    Notes
    -----
    Source: softirqs, and the bundle's softnet_stat.
    """
    rows = net_rx_softirqs(timeline)
    sent = rows[rows["polls"] == 0].groupby("cpu")["self_ns"]
    index = pd.Index(sorted(timeline.summary["cpus"]), name="cpu")
    table = pd.DataFrame(index=index)
    table["net_rx"] = rows.groupby("cpu").size().reindex(index, fill_value=0).astype("int64")
    table["dispatches"] = sent.size().reindex(index, fill_value=0).astype("int64")
    table["dispatch_share"] = table["dispatches"] / table["net_rx"].where(table["net_rx"] > 0)
    table["ns"] = sent.sum().reindex(index, fill_value=0).astype("int64")
    table["median_ns"] = sent.median().reindex(index).round().astype("Int64")
    table["longest_ns"] = sent.max().reindex(index).astype("Int64")
    counted, _ = readings_of(timeline)
    received = pd.Series(dtype="Int64") if counted is None else counted["received_rps"]
    table["received_rps"] = received.reindex(index).astype("Int64")
    return with_missing(table.reset_index(), proved_softirqs(timeline.capture))


@rps_dispatch.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    rows = answer.frame
    return {
        "sent": records(rows[rows["dispatches"] > 0]),
        "counted": bool(rows["received_rps"].notna().any()),
        "received": records(rows[(rows["received_rps"] > 0).fillna(False)]),
    }

# NET_RX softirqs that polled nothing: they only steer packets to another CPU.

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...stats.histogram import narrowed
from ...timeline.aggregates import Grouped
from ...timeline.timeline import Timeline
from ..completeness.unrecorded import proved_softirqs
from .common import NET_RX, rounded_spread
from .softnet import readings_of, with_missing

_OWN = Grouped("softirqs", by=("cpu", "is_dispatch"), lengths="self_ns", where=NET_RX)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "napi:napi_poll"),
    inputs=(_OWN,),
    rows=0,
)
def rps_dispatch(timeline: Timeline) -> Answer:
    """NET_RX that polled nothing and no interrupt raised: receive packet steering's sending side.

    A row per CPU. received_rps is what softnet_stat counted between its readings in the window.
    Source: softirqs, and the bundle's softnet_stat.
    """
    net_rx = _OWN(timeline)
    sent = narrowed(net_rx.lengths, ["cpu"], {"is_dispatch": True})
    table = pd.DataFrame(index=pd.Index(sorted(timeline.summary["cpus"]), name="cpu"))
    table["net_rx"] = net_rx.frame.groupby("cpu")["softirqs"].sum()
    table["dispatches"] = sent.totals["count"]
    table = table.fillna(0).astype("int64")
    table["dispatch_share"] = table["dispatches"] / table["net_rx"].where(table["net_rx"] > 0)
    table["ns"] = sent.totals["total"].reindex(table.index, fill_value=0)
    table = table.join(rounded_spread(sent)[["median_ns", "longest_ns"]])
    counted, _ = readings_of(timeline)
    table["received_rps"] = pd.NA if counted is None else counted["received_rps"]
    return Answer(with_missing(table.reset_index(), proved_softirqs(timeline.capture)))

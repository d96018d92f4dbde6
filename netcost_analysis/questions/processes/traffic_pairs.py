# Who sent to whom on this host.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from .recorded import RECEIVED
from .traffic import traffic

if TYPE_CHECKING:
    from ...answers.answer import Answer


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=("softirqs", "polls"),
    columns=(
        *("sender_comm", "receiver_comm", "units", "ns", "by_packet_share"),
        *("sender_tid", "receiver_tid"),
    ),
)
def traffic_pairs(timeline: Timeline) -> pd.DataFrame:
    """Who sent to whom on this host: the softirqs whose sender and receiver are both known.

    A row per sender_tid, sender_comm, receiver_tid, receiver_comm, falling by units: units (packets
    where net:netif_receive_skb was recorded, else softirqs), softirqs, ns (of softirqs, shared
    evenly over their packets), by_packet_share (of units, those whose receiver the packet itself
    names).

    Source: as traffic_owners(). The sender raised the softirq, or queued the packet. A reply, such
    as TCP's acknowledgements, is a pair the other way round.
    """
    return pairs_of(traffic(timeline).by_pair)


def pairs_of(by_pair: pd.DataFrame) -> pd.DataFrame:
    # traffic_pairs() on Traffic.by_pair: without what a task sent to itself.
    frame = by_pair.reset_index()
    frame = frame[(frame["sender_tid"] != frame["receiver_tid"]).to_numpy(dtype=bool)]
    frame["by_packet_share"] = frame["by_packet"] / frame["units"]
    frame = frame[[*by_pair.index.names, "units", "softirqs", "ns", "by_packet_share"]]
    return frame.sort_values("units", ascending=False, kind="stable", ignore_index=True)


@traffic_pairs.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    pairs = answer.frame
    units = int(pairs["units"].sum())
    named = float((pairs["by_packet_share"] * pairs["units"]).sum())
    return {"in_all": {"units": units, "by_packet_share": named / (units or 1)}}


@traffic_pairs.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {
        "pairs": len(answer.frame),
        "followed": not unrecorded(answer.capture, RECEIVED[0]),
        **answer.parts["in_all"],
    }

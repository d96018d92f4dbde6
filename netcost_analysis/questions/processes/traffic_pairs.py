# Who sent to whom on this host.

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from ...timeline.traffic import RECEIVED, TRAFFIC
from .traffic import traffic


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=(TRAFFIC,),
    columns=(
        *("sender_comm", "receiver_comm", "units", "ns", "by_packet_share"),
        *("sender_tid", "receiver_tid"),
    ),
)
def traffic_pairs(timeline: Timeline) -> Answer:
    """Who sent to whom on this host: the softirqs whose sender and receiver are both known.

    A row per sender and receiver, most units first: packets where net:netif_receive_skb was
    recorded, else softirqs. The sender raised the softirq, or queued the packet. A reply, such as
    TCP's acknowledgements, is a pair in the other direction. Source: as traffic_owners().
    """
    frame = pairs_of(traffic(timeline).by_pair)
    units = int(frame["units"].sum())
    named = float((frame["by_packet_share"] * frame["units"]).sum())
    in_all = {"units": units, "by_packet_share": named / (units or 1)}
    return Answer(frame, in_all=in_all, missing_events=unrecorded(timeline.capture, RECEIVED))


def pairs_of(by_pair: pd.DataFrame) -> pd.DataFrame:
    # traffic_pairs() on Traffic.by_pair: without what a task sent to itself.
    frame = by_pair.reset_index()
    frame = frame[(frame["sender_tid"] != frame["receiver_tid"]).to_numpy(dtype=bool)]
    frame["by_packet_share"] = frame["by_packet"] / frame["units"]
    frame = frame[[*by_pair.index.names, "units", "softirqs", "ns", "by_packet_share"]]
    return frame.sort_values("units", ascending=False, kind="stable", ignore_index=True)

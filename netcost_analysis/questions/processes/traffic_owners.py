# Softirq time by the process whose traffic it was, as far as the capture tells.

from typing import Any

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.timeline import Timeline
from ...timeline.traffic import RECEIVED, TRAFFIC, WAKING
from .traffic import traffic

# With a larger share of unknown owners the events that would tell more are named.
_MAX_UNKNOWN = 0.05
# From the strongest evidence to the weakest.
_KNOWN_BY = ["raiser", "packet", "socket", "wake-up", "unknown"]


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    inputs=(TRAFFIC,),
    columns=(
        "comm",
        "owner_comm",
        "owner_known_by",
        "ns",
        "softirq_share",
        "owner_tid",
        "tid",
    ),
)
def traffic_owners(timeline: Timeline) -> Answer:
    """Softirq time by the process that owned the traffic, and by the process it ran in.

    A row per task in whose context it ran, owner and owner_known_by, the network's first, most ns
    first. softirqs counts the softirqs of which this owner had all or a part: a softirq's time is
    shared evenly over its packets. ns adds up to that of softirq_time(). Between CPUs whose clocks
    disagree packets are not followed. Source: softirqs and polls, events of packets, sockets and
    wake-ups as far as they were recorded: raises and wake-ups by every profile but light, packets
    by anatomy.
    """
    frame = traffic(timeline).by_owner.drop(columns="units").reset_index()
    whole = int(frame["ns"].sum())
    frame["softirq_share"] = frame["ns"] / whole if whole else float("nan")
    order = ["is_network", "ns"]
    frame = frame.sort_values(order, ascending=False, kind="stable", ignore_index=True)
    is_servant = frame.pop("is_servant")
    missing = unrecorded(timeline.capture, RECEIVED, WAKING)
    return Answer(frame, **_owned(frame, is_servant), missing_events=missing)


def _owned(owners: pd.DataFrame, is_servant: "pd.Series[bool]") -> dict[str, Any]:
    # Of the rows of traffic_owners() the network's: owners_known, by how the owner is known;
    # in_all: owners_mostly_known; foreign_ns, which ran in the time of a task that it was not for;
    # foreign, the row with most of that, None where there is none.
    network = owners[(owners["is_network"] == "yes").to_numpy()]
    ns = network.groupby("owner_known_by")["ns"].sum().reindex(_KNOWN_BY, fill_value=0)
    shares = ns[ns > 0] / (ns.sum() or 1)
    ran_in_another = (network["owner_tid"] != network["tid"]) & (network["tid"] != 0)
    # Kernel threads that exist to run softirqs have no time of their own to lose.
    ran_in_another &= ~is_servant[network.index]
    foreign = network[(ran_in_another.fillna(False) & (network["ns"] > 0)).to_numpy()]
    return {
        "owners_known": shares.rename_axis("owner_known_by").reset_index(name="of_network_share"),
        "in_all": {
            "ns": int(ns.sum()),
            "owners_mostly_known": bool(shares.get("unknown", 0.0) <= _MAX_UNKNOWN),
            "foreign_ns": int(foreign["ns"].sum()),
            "foreign": dict(foreign.iloc[0]) if len(foreign) else None,
        },
    }

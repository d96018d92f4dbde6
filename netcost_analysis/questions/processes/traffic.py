# Whose traffic softirqs were, in sums: what all questions about owners and endpoints read.

from typing import NamedTuple

import pandas as pd

from ...frames import to_frame
from ...timeline.aggregates import Aggregate
from ...timeline.by import By, victim_keys
from ...timeline.owners import plain_names
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ...timeline.traffic import TRAFFIC, Packets

OWNER = ("owner_tid", "owner_comm", "owner_known_by")
_PAIR = ["sender_tid", "sender_comm", "receiver_tid", "receiver_comm"]


class Traffic(NamedTuple):
    """Sums over the units of all softirqs, a unit for each packet.

    by_owner: by tid and comm (in whose context), owner and is_network: softirqs (of which all or a
    part was this owner's), units, ns, is_servant (the thread exists to run softirqs). by_pair: by
    sender and receiver: units, softirqs, ns, by_packet (units whose receiver the packet itself
    names). by_end: by side ("sender", "receiver"), tid and comm, with its other end known or not:
    units. by_class: of the network's softirqs, by cpu, tid, comm, cost_class and owner: ns.
    """

    by_owner: pd.DataFrame
    by_pair: pd.DataFrame
    by_end: pd.DataFrame
    by_class: pd.DataFrame


@once
def traffic(timeline: Timeline, aggregate: Aggregate[Packets] = TRAFFIC) -> Traffic:
    """Sums over a timeline's softirqs, or over its excerpt's, by whose traffic they were.

    The events of packets, sockets and wake-ups are read beside the softirqs, twice where
    announcements on sockets were recorded; packets on their way are kept.
    """
    tables = {name: _plain(to_frame(table)) for name, table in aggregate(timeline).items()}
    owners, pairs, ends, classes = (
        tables[name] for name in ("by_owner", "by_pair", "by_end", "by_class")
    )
    owners["is_network"] = owners["is_network"].map({True: "yes", False: "no"})
    keys = ["tid", "comm", *OWNER, "is_network", "is_servant"]
    by_owner = owners.groupby(keys, dropna=False)[["softirqs", "units", "ns"]].sum()
    by_pair = pairs.groupby(_PAIR, dropna=False)[["softirqs", "units", "ns", "by_packet"]].sum()
    by_end = ends.groupby(["side", "tid", "comm"])[["units"]].sum()
    keys = ["cpu", "tid", "comm", "cost_class", *OWNER]
    by_class = classes.groupby(keys, dropna=False)[["ns"]].sum()
    return Traffic(by_owner.reset_index("is_servant"), by_pair, by_end, by_class)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    coded = frame.select_dtypes("category").columns
    return frame.assign(**{name: plain_names(frame[name]) for name in coded})


def own_stolen(timeline: Timeline, by: By) -> pd.DataFrame:
    # What stolen network softirqs did for the very victim that they ran on top of. by: as for
    # stolen(). own_ns and own_max_ns (int64) by victim: of class stolen the parts whose owner, by
    # its socket or its packet, is the task or one of the same command; and with those that have no
    # such owner, and what of class stolen_or_synchronous is not another's.
    parts = traffic(timeline).by_class.reset_index()
    is_stolen = parts["cost_class"].isin(["stolen", "stolen_or_synchronous"])
    parts = parts[is_stolen & (parts["tid"] != 0).fillna(False)]
    own = (parts["owner_tid"] == parts["tid"]).fillna(False).astype(bool)
    if by in ("comm", "device"):
        own |= parts["owner_comm"] == parts["comm"]
    # Whom a softirq woke may be whom it had no packet for.
    known = parts["owner_known_by"].isin(["socket", "packet"])
    surely = known & own & (parts["cost_class"] == "stolen")
    keys = victim_keys(by)
    ns = {"own_ns": parts["ns"].where(surely, 0), "own_max_ns": parts["ns"].where(own | ~known, 0)}
    return parts[keys].assign(**ns).groupby(keys, dropna=False)[list(ns)].sum().astype("int64")

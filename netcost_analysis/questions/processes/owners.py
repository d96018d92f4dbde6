# Softirq time by the process whose traffic it was, as far as the capture tells.

from typing import NamedTuple

import pandas as pd

from ...timeline.aggregate import NOBODY, plain_names
from ...timeline.timeline import Timeline
from ..question import question
from . import recorded as r
from .context import NETWORK, softirq_rows
from .evidence import SERVANTS, packet_ends, units, woken_by

_OWNER = ("owner_tid", "owner_comm", "owner_known_by")
_CONTEXT = ("tid", "comm")
_ENDS = ("sender_tid", "sender_comm", "receiver_tid", "receiver_comm", "receiver_known_by")


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    main_columns=(
        "comm",
        "owner_comm",
        "owner_known_by",
        "ns",
        "softirq_share",
        "owner_tid",
        "tid",
    ),
)
def traffic_owners(timeline: Timeline) -> pd.DataFrame:
    """Softirq time by the process whose traffic it was, and by the process it ran in.

    Returns a row per tid, comm (in whose context), owner_tid (Int64), owner_comm (whose traffic),
    owner_known_by and is_network, falling by ns; softirqs (Int64: those of which all or a part was
    this owner's), ns, softirq_share (of all rows' ns). owner_known_by: "raiser" (the task that the
    softirq ran in raised it, on its own send or receive path), "packet" (its packet was received,
    or else sent, by this task), "socket" (data was announced on a socket whose announcements wake
    this task), "wake-up" (this task was woken), "unknown", and "no network" for softirqs other than
    NET_RX and NET_TX, which are nobody's traffic. A softirq's time is shared evenly over its
    packets. ns adds up to that of softirq_time(). Raises MissingEventsError without softirqs.

    Witnesses are used as far as they were recorded: raises and wake-ups by every profile but light,
    packets by anatomy. Between CPUs whose clocks disagree packets are not followed.
    """
    parts = traffic_parts(timeline)
    groups = parts.groupby([*_CONTEXT, *_OWNER, "is_network"], dropna=False)
    frame = groups["ns"].sum().to_frame()
    frame.insert(0, "softirqs", groups["softirq"].nunique())
    frame = frame.reset_index()
    whole = int(frame["ns"].sum())
    frame["softirq_share"] = frame["ns"] / whole if whole else float("nan")
    return frame.sort_values("ns", ascending=False, kind="stable", ignore_index=True)


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit"),
    main_columns=("sender_comm", "receiver_comm", "units", "ns", "by_packet_share"),
)
def traffic_pairs(timeline: Timeline) -> pd.DataFrame:
    """Who sent to whom on this host: the softirqs whose sender and receiver are both known.

    Returns a row per sender_tid, sender_comm, receiver_tid, receiver_comm, falling by units:
    units (packets where net:netif_receive_skb was recorded, else softirqs), softirqs, ns
    (of softirqs, shared evenly over their packets), by_packet_share (of units, those whose
    receiver the packet itself names). The sender raised the softirq, or queued the packet. A reply,
    such as TCP's acknowledgements, is a pair the other way round. Raises as traffic_owners.
    """
    parts = traffic_parts(timeline)
    return pairs_of(parts)


def pairs_of(parts: pd.DataFrame) -> pd.DataFrame:
    # traffic_pairs() on what traffic_parts() returns.
    known = parts["sender_tid"].notna() & parts["receiver_tid"].notna()
    known &= (parts["sender_tid"] != parts["receiver_tid"]).fillna(False)
    rows = parts[known.to_numpy(dtype=bool)]
    keys = [name for name in _ENDS if name != "receiver_known_by"]
    groups = rows.groupby(keys, dropna=False)
    frame = groups.size().rename("units").to_frame()
    frame["softirqs"] = groups["softirq"].nunique()
    frame["ns"] = groups["ns"].sum()
    named = rows[(rows["receiver_known_by"] == "packet").to_numpy()].groupby(keys).size()
    frame["by_packet_share"] = named.reindex(frame.index, fill_value=0) / frame["units"]
    frame = frame.reset_index()
    return frame.sort_values("units", ascending=False, kind="stable", ignore_index=True)


def by_packet_share(pairs: pd.DataFrame) -> float:
    """Of all units of traffic_pairs(), those whose receiver the packet itself names."""
    return float((pairs["by_packet_share"] * pairs["units"]).sum() / pairs["units"].sum())


class Owned(NamedTuple):
    """The network's softirq time by how its owner is known.

    known_by_share: by owner_known_by, of ns. foreign: rows in the time of a task that they were not
    for, most first; foreign_ns: their sum.
    """

    ns: int
    known_by_share: "pd.Series[float]"
    foreign: pd.DataFrame
    foreign_ns: int


def owned(owners: pd.DataFrame) -> Owned:
    """Sums over traffic_owners()."""
    network = owners[(owners["is_network"] == "yes").to_numpy()]
    ns = network.groupby("owner_known_by")["ns"].sum()
    foreign = network[(network["owner_tid"] != network["tid"]).fillna(False).to_numpy(dtype=bool)]
    foreign = foreign[(foreign["tid"] != 0).fillna(False).to_numpy(dtype=bool)]
    # Kernel threads that exist to run softirqs have no time of their own to lose.
    foreign = foreign[~foreign["comm"].astype(str).str.contains(SERVANTS).to_numpy(dtype=bool)]
    foreign = foreign[(foreign["ns"] > 0).to_numpy()]
    whole = int(ns.sum())
    return Owned(whole, ns / (whole or 1), foreign, int(foreign["ns"].sum()))


def traffic_parts(timeline: Timeline) -> pd.DataFrame:
    """Every softirq in parts, a part for each packet, with all that is known of whose it is.

    Returns columns softirq (number of the row in softirqs, those of NAPI threads' polls after it),
    tid, comm, is_network, ns, owner_tid, owner_comm, owner_known_by, and the ends of the packet:
    sender_tid, sender_comm, receiver_tid, receiver_comm, receiver_known_by.
    """
    timeline.load("softirqs", "polls")
    softirqs = timeline.softirqs
    capture = timeline.capture
    received = r.recorded(capture, r.RECEIVED)
    frame = units(softirqs, received)
    queued, taken = r.empty(), r.empty().assign(kind="")
    if len(received) and timeline.across_cpus:
        queued = r.recorded(capture, r.QUEUED)
        ends = {r.COPIED: "taken", r.CONSUMED: "taken", r.FREED: "freed"}
        frames = [r.recorded(capture, end).assign(kind=kind) for end, kind in ends.items()]
        frames = [one for one in frames if len(one)]
        taken = pd.concat(frames, ignore_index=True) if frames else taken.assign(kind="")
    woken = r.recorded(capture, r.WOKEN)
    if not len(woken):
        woken = r.recorded(capture, r.WAKE_UP)
    by_packet = packet_ends(frame, received, queued, taken)
    by_waking = woken_by(frame, softirqs, woken, r.recorded(capture, r.READY))
    rows = softirq_rows(softirqs, timeline.polls)
    return renamed(parts_of(rows, frame, by_packet, by_waking), timeline.sums())


def renamed(parts: pd.DataFrame, sums: pd.DataFrame) -> pd.DataFrame:
    # Other tasks than the current one under the name they had longest: what stands beside a number
    # in an event of ftrace's is any name the task ever had.
    named = sums[sums["comm"].notna().to_numpy()]
    ns = named["ns"].groupby([named["tid"], plain_names(named["comm"])]).sum().sort_values()
    longest = ns.reset_index().drop_duplicates("tid", keep="last").set_index("tid")["comm"]
    parts = parts.copy()
    for end in ("owner", "sender", "receiver"):
        name = parts[f"{end}_tid"].map(longest)
        other = (parts[f"{end}_tid"] != parts["tid"]).fillna(False) & name.notna()
        parts[f"{end}_comm"] = parts[f"{end}_comm"].mask(other.to_numpy(dtype=bool), name)
    return parts


def parts_of(
    rows: pd.DataFrame, frame: pd.DataFrame, by_packet: pd.DataFrame, by_waking: pd.DataFrame
) -> pd.DataFrame:
    # traffic_parts() on softirq_rows(), units() and what is known of them.
    threads = rows.iloc[frame["softirq"].nunique() :]
    parts = frame[["softirq", "ns"]].join(rows.drop(columns="ns"), on="softirq")
    network = parts["action"].isin(NETWORK).to_numpy()
    own = (parts["cost_class"] == "synchronous").to_numpy()
    woken = by_waking["tid"].notna().to_numpy() & network
    packet = by_packet["receiver_tid"].notna().to_numpy() & network
    # Sockets of other kinds have buffers too, and leave no event of where an address begins anew.
    denied = (by_waking["known_by"] == "socket") & (by_waking["tid"] != by_packet["receiver_tid"])
    packet &= ~denied.fillna(False).to_numpy(dtype=bool)
    sent = by_packet["sender_tid"].notna().to_numpy() & network

    parts["sender_tid"] = parts["tid"].where(own, by_packet["sender_tid"]).where(own | sent)
    parts["sender_comm"] = parts["comm"].where(own, by_packet["sender_comm"]).where(own | sent)
    for column, of_packet, of_waking in (
        ("receiver_tid", by_packet["receiver_tid"], by_waking["tid"]),
        ("receiver_comm", by_packet["receiver_comm"], by_waking["comm"]),
        ("receiver_known_by", pd.Series("packet", index=parts.index), by_waking["known_by"]),
    ):
        parts[column] = of_packet.where(packet, of_waking.where(woken))
    to_sender = own | (sent & ~packet)
    parts["owner_tid"] = parts["sender_tid"].where(to_sender, parts["receiver_tid"])
    parts["owner_comm"] = parts["sender_comm"].where(to_sender, parts["receiver_comm"])
    by = parts["receiver_known_by"].mask(sent & ~packet, "packet").mask(own, "raiser")
    parts["owner_known_by"] = by.where(by.notna(), "unknown")
    parts["is_network"] = pd.Series("no", index=parts.index).mask(network, "yes")
    parts.loc[~network, "owner_known_by"] = "no network"
    parts.loc[~network, "owner_tid"] = pd.NA
    parts.loc[~network, "owner_comm"] = NOBODY
    if len(threads):
        more = threads.assign(softirq=threads.index, is_network="yes", owner_known_by="unknown")
        parts = pd.concat([parts, more], ignore_index=True)
    for column in ("owner_comm", "sender_comm", "receiver_comm"):
        parts[column] = plain_names(parts[column])
    for column in ("owner_tid", "sender_tid", "receiver_tid"):
        parts[column] = parts[column].astype("Int64")
    keep = ["softirq", "tid", "comm", "is_network", "ns", *_OWNER, *_ENDS]
    return parts[keep]

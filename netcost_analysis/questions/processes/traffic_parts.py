# Every softirq in parts, one for each packet, with all that is known of whose it is.

import pandas as pd

from ...timeline.owners import NOBODY, plain_names
from .softirq_time import NAPI_THREAD, NETWORK

OWNER = ("owner_tid", "owner_comm", "owner_known_by")
_NAMES = ["comm", "action", "cost_class"]
_ROW = ["cpu", "tid", *_NAMES, "self_ns", "in_softirq"]
ENDPOINTS = ("sender_tid", "sender_comm", "receiver_tid", "receiver_comm", "receiver_known_by")


def softirq_rows(softirqs: pd.DataFrame, polls: pd.DataFrame) -> pd.DataFrame:
    # A row per softirq, and behind them one per poll of a NAPI thread, which is in_softirq none.
    threads = polls[(polls["softirq_ordinal"].isna() & polls["self_ns"].notna()).to_numpy()]
    inside, outside = softirqs.assign(in_softirq=True), threads.assign(in_softirq=False)
    outside["action"] = NAPI_THREAD
    parts = [rows[_ROW].astype({"cpu": "int64", "tid": "Int64"}) for rows in (inside, outside)]
    parts = [rows.assign(**{name: plain_names(rows[name]) for name in _NAMES}) for rows in parts]
    both = pd.concat([rows for rows in parts if len(rows)] or parts[:1], ignore_index=True)
    return both.rename(columns={"self_ns": "ns"}).astype({"ns": "int64"})


def longest_names(sums: pd.DataFrame) -> "pd.Series[str]":
    # By tid the name that it had longest.
    named = sums[sums["comm"].notna().to_numpy()]
    ns = named["ns"].groupby([named["tid"], plain_names(named["comm"])]).sum().sort_values()
    return ns.reset_index().drop_duplicates("tid", keep="last").set_index("tid")["comm"]


def renamed(parts: pd.DataFrame, longest: "pd.Series[str]") -> pd.DataFrame:
    # Other tasks than the current one under the name they had longest: what stands beside a number
    # in an event of ftrace's is any name the task ever had.
    parts = parts.copy()
    for side in ("owner", "sender", "receiver"):
        name = parts[f"{side}_tid"].map(longest)
        other = (parts[f"{side}_tid"] != parts["tid"]).fillna(False) & name.notna()
        parts[f"{side}_comm"] = parts[f"{side}_comm"].mask(other.to_numpy(dtype=bool), name)
    return parts


def parts_of(
    rows: pd.DataFrame, frame: pd.DataFrame, by_packet: pd.DataFrame, by_waking: pd.DataFrame
) -> pd.DataFrame:
    # A part for each packet, with all that is known of whose it is, of softirq_rows(), units() and
    # what is known of them. Returns columns softirq (number of the row in softirqs, those of NAPI
    # threads' polls after it), tid, comm, is_network, ns, owner_tid, owner_comm, owner_known_by,
    # and the packet's endpoints: sender_tid, sender_comm, receiver_tid, receiver_comm,
    # receiver_known_by.
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
    keep = ["softirq", "tid", "comm", "is_network", "ns", *OWNER, *ENDPOINTS]
    return parts[keep]

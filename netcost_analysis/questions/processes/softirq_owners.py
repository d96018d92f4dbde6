"""Who sent and who received what a softirq worked on: from packets, sockets and wake-ups.

```text
  CPU 0  client   | net_dev_queue A | softirq: netif_receive_skb A | sk_data_ready S | waking server
  CPU 1  server                                          | skb_copy_datagram_iovec A |
```
A unit is a packet that a softirq received, from its netif_receive_skb to the next one's; a softirq
without any is one unit. Whom a unit was for is known, from the strongest evidence to the weakest:

- packet: the same buffer was queued by a task before, or copied to a task after, and no other
  packet had its address in between;
- socket: the unit announced data on a socket that, elsewhere in the capture, woke one task;
- wake-up: the unit woke a task.
"""

import re

import numpy as np
import pandas as pd

from ...spans import Spans, columns, spans_of
from ...timeline.owners import NOBODY, of_tasks, plain_names
from .softirq_time import NAPI_THREAD, NETWORK

NET = ("NET_RX", "NET_TX")
OWNER = ("owner_tid", "owner_comm", "owner_known_by")
ENDPOINTS = ("sender_tid", "sender_comm", "receiver_tid", "receiver_comm", "receiver_known_by")
# Threads that exist to run softirqs and interrupts: to wake one does not tell whose packets it is.
SERVANTS = r"^(?:ksoftirqd/|ktimers/|rcuc?[_/]|rcu[a-z_]*$|migration/|napi/|irq/|backlog_napi/)"
_NAMES = ["comm", "action", "cost_class"]


def softirq_rows(softirqs: pd.DataFrame, polls: pd.DataFrame) -> pd.DataFrame:
    # A row per softirq, and behind them one per poll of a NAPI thread, which no softirq holds.
    threads = polls[(polls["softirq_ordinal"].isna() & polls["self_ns"].notna()).to_numpy()]
    inside, outside = softirqs.assign(in_softirq=True), threads.assign(in_softirq=False)
    outside["action"] = NAPI_THREAD
    keep = ["cpu", "tid", *_NAMES, "self_ns", "in_softirq"]
    parts = [rows[keep].astype({"cpu": "int64", "tid": "Int64"}) for rows in (inside, outside)]
    parts = [rows.assign(**{name: plain_names(rows[name]) for name in _NAMES}) for rows in parts]
    both = pd.concat([rows for rows in parts if len(rows)] or parts[:1], ignore_index=True)
    return both.rename(columns={"self_ns": "ns"}).astype({"ns": "int64"})


def units(softirqs: pd.DataFrame, received: pd.DataFrame) -> pd.DataFrame:
    # A row per unit, by softirq and time: softirq (its place in softirqs), start_ns, what (the
    # packet's address, NA without one), and ns: the softirq's own time, shared evenly. Only NET_RX
    # and NET_TX have more than one unit.
    place = _softirq_of(received, softirqs)
    network = plain_names(softirqs["action"]).isin(NET).to_numpy()
    of_net = (place >= 0) & network[place.clip(lower=0)]
    packets = pd.DataFrame({"softirq": place[of_net]})
    for name, column in (("start_ns", "time_ns"), ("what", "what")):
        packets[name] = received[column][of_net].astype("Int64")
    others = np.setdiff1d(np.arange(len(softirqs)), packets["softirq"].to_numpy())
    rest = pd.DataFrame({"softirq": others, "start_ns": softirqs["entry_ns"].to_numpy()[others]})
    rest["what"] = pd.array([pd.NA] * len(rest), dtype="Int64")
    frame = pd.concat([packets, rest.astype({"start_ns": "Int64"})], ignore_index=True)
    frame = frame.sort_values(["softirq", "start_ns"], kind="stable", ignore_index=True)
    ns = softirqs["self_ns"].to_numpy(dtype="int64")[frame["softirq"]]
    groups = frame.groupby("softirq")["softirq"]
    count, number = groups.transform("size").to_numpy(), groups.cumcount().to_numpy()
    # What does not divide goes to the first units, a nanosecond each.
    frame["ns"] = ns // count + (number < ns % count)
    return frame


def _softirq_of(events: pd.DataFrame, softirqs: pd.DataFrame) -> "pd.Series[int]":
    # The place of the softirq that each event happened in, -1 for none. It lies between the
    # softirq's entry and exit, on its CPU, in its task, and in no hardirq on top of it.
    place = np.full(len(events), -1, dtype="int64")
    whole = softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()
    known = softirqs[whole.to_numpy()].assign(place=np.flatnonzero(whole.to_numpy()))
    known = known.sort_values(["cpu", "entry_ns"], kind="stable")
    entered = spans_of(known, "entry_ns", "exit_ns", "cpu")
    cpus, times = columns(events, "cpu", "time_ns")
    index = entered.last_begun(cpus, times)
    at = np.flatnonzero(index >= 0)
    tids = known["tid"].fillna(-1).to_numpy(dtype="int64")[index[at]]
    held = (times[at] <= entered.ends[index[at]]) & (tids == events["tid"].to_numpy()[at])
    place[at[held]] = known["place"].to_numpy()[index[at[held]]]
    place[events["in_hardirq"].fillna(False).to_numpy(dtype=bool)] = -1
    return pd.Series(place, index=events.index)


def _first_in(units: pd.DataFrame, softirqs: pd.DataFrame, events: pd.DataFrame) -> pd.DataFrame:
    # The first event in each unit that has any, by unit.
    starts = units["start_ns"].fillna(0).to_numpy(dtype="int64")
    begun = Spans(units["softirq"].to_numpy(dtype="int64"), starts, starts)
    events = events.assign(place=_softirq_of(events, softirqs))
    # No unit is of softirq -1.
    events["unit"] = begun.last_begun(*columns(events, "place", "time_ns"))
    inside = events[(events["unit"] >= 0).to_numpy()].sort_values("time_ns", kind="stable")
    return inside.drop_duplicates("unit").set_index("unit")


def of_clients(woken: pd.DataFrame) -> pd.DataFrame:
    # Of wake-ups those of tasks that do not exist for softirqs.
    tasks = of_tasks(woken.assign(tid=woken["what"]).astype({"tid": "Int64"}))
    # Names are few, and events many.
    servants = [name for name in tasks["name"].unique() if re.search(SERVANTS, str(name))]
    return woken.loc[tasks.index[~tasks["name"].isin(servants).to_numpy(dtype=bool)]]


def woken_in(units: pd.DataFrame, softirqs: pd.DataFrame, wakings: pd.DataFrame) -> pd.DataFrame:
    # The task that each unit woke: woken_tid (Int64), woken_comm, known_by ("wake-up", or None).
    first = _first_in(units, softirqs, wakings).reindex(units.index)
    woken = pd.DataFrame({"woken_tid": first["what"].astype("Int64"), "woken_comm": first["name"]})
    woken["known_by"] = np.where(woken["woken_tid"].notna(), "wake-up", np.array(None))
    return woken


def sockets_in(
    units: pd.DataFrame, softirqs: pd.DataFrame, ready: pd.DataFrame
) -> "pd.Series[int]":
    # The socket on which a unit first announced data, by unit.
    return _first_in(units, softirqs, ready)["what"]


def announced(sockets: "pd.Series[int]", woken: pd.DataFrame) -> pd.DataFrame:
    # How often units that announced data on a socket woke a task: count, by socket and task.
    pairs = woken.loc[sockets.index].assign(socket=sockets)
    pairs = pairs[pairs["woken_tid"].notna().to_numpy()]
    return pairs.groupby(["socket", "woken_tid", "woken_comm"]).size().rename("count").to_frame()


def socket_owners(pairs: pd.DataFrame) -> pd.DataFrame:
    # By socket the one task that nine in ten of announced() woke.
    counts = pairs.reset_index()
    whole = counts.groupby("socket")["count"].transform("sum")
    sure = counts[(counts["count"] >= 0.9 * whole).to_numpy()]
    return sure.drop_duplicates("socket").set_index("socket")[["woken_tid", "woken_comm"]]


def with_sockets(
    woken: pd.DataFrame, sockets: "pd.Series[int]", owners: pd.DataFrame
) -> pd.DataFrame:
    # woken_in(), or, where the unit's socket has an owner, that one, known_by "socket".
    by_socket = sockets[sockets.isin(owners.index)]
    result = woken.copy()
    result.loc[by_socket.index, "woken_tid"] = by_socket.map(owners["woken_tid"]).astype("Int64")
    result.loc[by_socket.index, "woken_comm"] = by_socket.map(owners["woken_comm"])
    result.loc[by_socket.index, "known_by"] = "socket"
    return result


def owned(units: pd.DataFrame, threads: pd.DataFrame) -> pd.DataFrame:
    # Whose each unit is, with OWNER, ENDPOINTS and is_network, and behind them the polls of NAPI
    # threads, whose owner nobody knows. units: with the columns of softirq_rows(), with_sockets()
    # and ENDS.
    parts = units.copy()
    network = units["action"].isin(NETWORK).to_numpy()
    raised = (units["cost_class"] == "synchronous").to_numpy()
    woken = units["woken_tid"].notna().to_numpy() & network
    taken = units["receiver_tid"].notna().to_numpy() & network
    # Buffers of other kinds of sockets leave no event when an address is reused.
    denied = (units["known_by"] == "socket") & (units["woken_tid"] != units["receiver_tid"])
    taken &= ~denied.fillna(False).to_numpy(dtype=bool)
    sent = units["sender_tid"].notna().to_numpy() & network
    to_sender = raised | (sent & ~taken)
    for name in ("tid", "comm"):
        sender = units[name].where(raised, units[f"sender_{name}"]).where(raised | sent)
        receiver = units[f"receiver_{name}"].where(taken, units[f"woken_{name}"].where(woken))
        parts[f"sender_{name}"], parts[f"receiver_{name}"] = sender, receiver
        parts[f"owner_{name}"] = sender.where(to_sender, receiver)
    by = pd.Series("packet", index=units.index).where(taken, units["known_by"].where(woken))
    parts["receiver_known_by"] = by
    by = by.mask(sent & ~taken, "packet").mask(raised, "raiser")
    parts["owner_known_by"] = by.where(by.notna(), "unknown")
    parts["is_network"] = np.where(network, "yes", "no")
    parts.loc[~network, "owner_tid"] = pd.NA
    parts.loc[~network, ["owner_comm", "owner_known_by"]] = [NOBODY, "no network"]
    if len(threads):
        more = threads.assign(is_network="yes", owner_known_by="unknown")
        parts = pd.concat([parts, more], ignore_index=True)
    for side in ("owner", "sender", "receiver"):
        parts[f"{side}_comm"] = plain_names(parts[f"{side}_comm"])
        parts[f"{side}_tid"] = parts[f"{side}_tid"].astype("Int64")
    return parts

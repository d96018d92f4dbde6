# Whose traffic softirqs were: in sums, by owner, by sender and receiver, and which two tasks of
# this host talk to each other.

from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.requires import ProfileError, unmet, unrecorded
from ...frames import most_first, plain_frame
from ...timeline.aggregates import Aggregate
from ...timeline.by import By, victim_keys
from ...timeline.facts import tracepoint_groups
from ...timeline.owners import NOBODY, of_tasks
from ...timeline.reading import once
from ...timeline.task import Task
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT, RECEIVED, TRAFFIC, WAKING, Packets, owner_events

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
    tables = {name: plain_frame(table, NOBODY) for name, table in aggregate(timeline).items()}
    owners, pairs, ends, classes = (
        tables[name] for name in ("by_owner", "by_pair", "by_end", "by_class")
    )
    owners["is_network"] = owners["is_network"].map({True: "yes", False: "no"})
    keys = ["tid", "comm", *OWNER, "is_network", "is_servant"]
    by_owner = owners.groupby(keys, dropna=False)[["softirqs", "units", "ns"]].sum()
    by_pair = pairs.groupby(_PAIR, dropna=False)[["units", "softirqs", "ns", "by_packet"]].sum()
    by_end = ends.groupby(["side", "tid", "comm"])[["units"]].sum()
    keys = ["cpu", "tid", "comm", "cost_class", *OWNER]
    by_class = classes.groupby(keys, dropna=False)[["ns"]].sum()
    return Traffic(by_owner.reset_index("is_servant"), by_pair, by_end, by_class)


def own_stolen(timeline: Timeline, by: By) -> pd.DataFrame:
    # What stolen network softirqs did for the very victim that they ran on top of. by: as for
    # stolen(). own_ns and own_max_ns (int64) by victim: of class stolen the parts whose owner, by
    # its socket or its packet, is the task or one of the same command; and with those that have no
    # such owner, and what of class stolen_or_synchronous is not another's.
    parts = traffic(timeline).by_class.reset_index()
    is_stolen = parts["cost_class"].isin(["stolen", "stolen_or_synchronous"])
    parts = parts[is_stolen & (parts["tid"] != 0)]
    own = (parts["owner_tid"] == parts["tid"]).fillna(False).astype(bool)
    if by in ("comm", "device"):
        own |= parts["owner_comm"] == parts["comm"]
    # Whom a softirq woke may be whom it had no packet for.
    known = parts["owner_known_by"].isin(["socket", "packet"])
    surely = known & own & (parts["cost_class"] == "stolen")
    keys = victim_keys(by)
    ns = {"own_ns": parts["ns"].where(surely, 0), "own_max_ns": parts["ns"].where(own | ~known, 0)}
    return parts[keys].assign(**ns).groupby(keys, dropna=False)[list(ns)].sum().astype("int64")


# With a larger share of unknown owners the events that would tell more are named.
_MAX_UNKNOWN = 0.05
# From the strongest evidence to the weakest.
_KNOWN_BY = ["raiser", "packet", "socket", "wake-up", "unknown"]


@question(
    needs=("softirqs",),
    inputs=(TRAFFIC,),
    columns=("comm", "owner_comm", "owner_known_by", "ns", "softirq_share", "owner_tid", "tid"),
)
def traffic_owners(timeline: Timeline) -> Answer:
    """Softirq time by the process that owned the traffic, and by the process it ran in.

    A row per task in whose context it ran, owner and owner_known_by; network softirqs first, most
    ns first. softirqs counts the softirqs that this owner had all or part of: a softirq's time is
    shared evenly over its packets. ns adds up to that of softirq_time(). Packets are not followed
    between CPUs whose clocks disagree. Source: softirqs and polls; events of packets, sockets and
    wake-ups as far as they were recorded. Every profile but light records raises and wake-ups, and
    anatomy records packets.
    """
    frame = traffic(timeline).by_owner.drop(columns="units").reset_index()
    frame["softirq_share"] = frame["ns"] / (frame["ns"].sum() or float("nan"))
    frame = frame.sort_values(["is_network", "ns"], ascending=False, ignore_index=True)
    is_servant = frame.pop("is_servant")
    missing = unrecorded(timeline.capture, RECEIVED, WAKING)
    return Answer(frame, **_owned(frame, is_servant), missing_events=missing)


def _owned(owners: pd.DataFrame, is_servant: "pd.Series[bool]") -> dict[str, Any]:
    # Of the rows of traffic_owners() the network's: owners_known, by how the owner is known;
    # in_all: owners_mostly_known; foreign_ns, which ran in the time of a task that it was not for;
    # foreign, the row with most of that, None where there is none.
    network = owners[owners["is_network"] == "yes"]
    ns = network.groupby("owner_known_by")["ns"].sum().reindex(_KNOWN_BY, fill_value=0)
    shares = ns[ns > 0] / (ns.sum() or 1)
    ran_in_another = (network["owner_tid"] != network["tid"]) & (network["tid"] != 0)
    # Kernel threads that exist to run softirqs have no time of their own to lose.
    ran_in_another &= ~is_servant[network.index]
    foreign = network[ran_in_another & (network["ns"] > 0)]
    return {
        "owners_known": shares.rename_axis("owner_known_by").reset_index(name="of_network_share"),
        "in_all": {
            "ns": int(ns.sum()),
            "owners_mostly_known": bool(shares.get("unknown", 0.0) <= _MAX_UNKNOWN),
            "foreign_ns": int(foreign["ns"].sum()),
            "foreign": dict(foreign.iloc[0]) if len(foreign) else None,
        },
    }


@question(
    needs=("softirqs",),
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
    frame = traffic(timeline).by_pair.reset_index()
    # Without what a task sent to itself.
    frame = most_first(frame[frame["sender_tid"] != frame["receiver_tid"]], "units")
    named = frame.pop("by_packet")
    frame["by_packet_share"] = named / frame["units"]
    units = int(frame["units"].sum())
    in_all = {"units": units, "by_packet_share": int(named.sum()) / (units or 1)}
    return Answer(frame, in_all=in_all, missing_events=unrecorded(timeline.capture, RECEIVED))


# Without these nobody knows who talks to whom, or whether they had a CPU.
NEEDS = ("softirqs", "sched:sched_switch")
# Fewer packets between two tasks do not show which of them is the client.
_FEW = 10
# Of what all tasks were seen to send and receive: two that had less of it, or exchanged less, are
# bystanders.
_CARRY, LOOK_ON = 0.5, 0.02


def endpoints(timeline: Timeline) -> tuple[int, ...]:
    # The tids of client and server, chosen as client_and_server() does; () where no pair is seen,
    # or others had the traffic, as a program that talks to itself or to another host. Of a
    # large capture its excerpt decides: to follow all of its packets takes several times as long as
    # the questions that name the two. Without an event that names a receiver there is none.
    if unmet(timeline.capture, tracepoint_groups(NEEDS)) or not owner_events(timeline.capture):
        return ()
    pair = chosen_endpoints(traffic(timeline, OF_EXCERPT))
    ran = set(of_tasks(timeline.sums())["tid"])
    return tuple(int(tid) for tid in pair) if pair and ran.issuperset(pair) else ()


def require_pair(timeline: Timeline) -> None:
    # Raises CaptureError where no pair is seen; a very large capture is not looked through for it.
    if timeline.excerpt is timeline:
        require_endpoints(traffic(timeline, OF_EXCERPT), None, None)


def require_endpoints(sums: Traffic, client: Task | None, server: Task | None) -> tuple[Task, Task]:
    # Client and server: those named, and for None the one of them that exchanged most packets.
    # Raises CaptureError where no pair is seen, or both are the same.
    if client is not None and client == server:
        raise CaptureError(
            f"client and server are both {client!r}: if they share a name, give their tids "
            "(netcost ask traffic_pairs lists them)"
        )
    if client is not None and server is not None:
        return client, server
    pair = chosen_endpoints(sums, client, server)
    if pair is None:
        raise ProfileError(
            "no two tasks of this host stand out as client and server: name them (client, server), "
            "or record with --profile anatomy, which follows packets",
            "anatomy",
        )
    return pair[0] if client is None else client, pair[1] if server is None else server


def chosen_endpoints(
    sums: Traffic, client: Task | None = None, server: Task | None = None
) -> tuple[int, int] | None:
    # The tids of the two that exchanged most packets; client and server limit the choice. Where
    # neither is given and others had the traffic, None.
    sent: Counter[tuple[int, int]] = Counter()
    by_pair = sums.by_pair["units"].reset_index()
    for sender, _, receiver, _, units in by_pair.itertuples(index=False):
        if sender != receiver:
            # The way back has a row of its own, or nothing was sent.
            sent.update({(sender, receiver): units, (receiver, sender): 0})
    owners = sums.by_owner.reset_index()
    owners = owners[owners["owner_known_by"] == "raiser"]
    raised = Counter(owners.groupby("owner_tid")["units"].sum().to_dict())
    ends = sums.by_end.reset_index()
    carried = Counter(ends[ends["tid"] != 0].groupby("tid")["units"].sum().to_dict())
    called = ends.groupby(["side", "tid"])["comm"].agg(set).to_dict()

    def fits(side: str, tid: int, task: Task | None) -> bool:
        return task in (None, tid) or task in called.get((side, tid), ())

    def exchanged(pair: tuple[int, int]) -> tuple[int, int]:
        known = sent[pair] + sent[pair[::-1]]
        return known, raised[pair[0]] if known < _FEW else sent[pair]

    ways = sorted(way for way in sent if fits("sender", way[0], client))
    ways = [way for way in ways if fits("receiver", way[1], server)]
    if not ways:
        return None
    pair = max(ways, key=exchanged)
    in_all = carried.total()
    had = carried[pair[0]] + carried[pair[1]] >= _CARRY * in_all
    known = 2 * exchanged(pair)[0] >= LOOK_ON * in_all
    return (int(pair[0]), int(pair[1])) if client or server or (had and known) else None

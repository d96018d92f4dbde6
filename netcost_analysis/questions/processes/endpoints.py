# Which two tasks of this host talk to each other: the endpoints of local traffic.

from ..._native import CaptureError
from ...capture.requires import ProfileError, unmet
from ...timeline.facts import tracepoint_groups
from ...timeline.owners import of_tasks
from ...timeline.task import Task
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT, owner_events
from .traffic import Traffic, traffic
from .traffic_pairs import pairs_of

# Without these nobody knows who talks to whom, or whether they had a CPU.
NEEDS = ("irq:softirq_entry", "irq:softirq_exit", "sched:sched_switch")
# Fewer packets between two tasks do not show which of them is the client.
_FEW = 10


def endpoints(timeline: Timeline) -> tuple[int, ...]:
    # The tids of client and server, chosen as client_and_server() does; () where no pair is seen.
    # Of a large capture its excerpt decides: to follow all of its packets takes several times as
    # long as the questions that name the two. Without an event that names a receiver there is none.
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
            f"client and server are both {client!r}: where they share a name, give their tids "
            "(netcost ask traffic_pairs has them)"
        )
    if client is not None and server is not None:
        return client, server
    pair = chosen_endpoints(sums, client, server)
    if pair is None:
        raise ProfileError(
            "no two tasks of this host were seen to send packets to each other; name them "
            "(client, server), or record with --profile anatomy, which follows packets",
            "anatomy",
        )
    return pair[0] if client is None else client, pair[1] if server is None else server


def chosen_endpoints(
    sums: Traffic, client: Task | None = None, server: Task | None = None
) -> tuple[int, int] | None:
    # The tids of the two that exchanged most packets; client and server limit the choice.
    pairs = pairs_of(sums.by_pair)
    sent = pairs.groupby(["sender_tid", "receiver_tid"])["units"].sum().reset_index()
    back = sent.rename(columns={"sender_tid": "receiver_tid", "receiver_tid": "sender_tid"})
    # Either direction of every pair, with what went each way.
    both = sent.merge(back, on=["sender_tid", "receiver_tid"], how="outer", suffixes=("", "_back"))
    both = both.fillna({"units": 0, "units_back": 0})
    owners = sums.by_owner.reset_index()
    owners = owners[(owners["owner_known_by"] == "raiser").to_numpy()]
    raised = owners.groupby("owner_tid")["units"].sum()
    both["raised"] = both["sender_tid"].map(raised).fillna(0).astype("int64")
    both["known"] = both["units"] + both["units_back"]
    both["few"] = both["known"] < _FEW
    both["way"] = both["units"].where(~both["few"], both["raised"])
    named = sums.by_end.reset_index()
    for side, task in (("sender", client), ("receiver", server)):
        if isinstance(task, int):
            both = both[(both[f"{side}_tid"] == task).to_numpy(dtype=bool)]
        elif task is not None:
            own = (named["side"] == side) & (named["comm"] == task)
            tids = named["tid"][own.to_numpy(dtype=bool)].unique()
            both = both[both[f"{side}_tid"].isin(tids).to_numpy()]
    if not len(both):
        return None
    best = both.sort_values(["known", "way"], ascending=False, kind="stable").iloc[0]
    return int(best["sender_tid"]), int(best["receiver_tid"])

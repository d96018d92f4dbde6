# Two processes that talk to each other on one host, side by side.

from typing import Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unrecorded
from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ..question import question
from .context import NETWORK, softirq_rows
from .keys import in_window
from .owners import pairs_of, traffic_parts
from .recorded import RECEIVED
from .switching import context_switches
from .transferred import sent_of
from .waiting import waited_within

Task = int | str
# Of its life: a task that slept less has no time to spare.
_BUSY = 0.05
# Document 003: what follows from so much more softirq time.
_MORE = 0.1
# Fewer packets between two tasks do not tell which of them is the client.
_FEW = 10


@question(
    needs=("irq:softirq_entry", "irq:softirq_exit", "sched:sched_switch"),
    main_columns=(
        "side",
        "tid",
        "comm",
        "on_cpu_ns",
        "network_softirq_ns",
        "owned_ns",
        "softirq_ns_per_packet",
        "softirq_ns_per_byte",
    ),
)
def client_and_server(
    timeline: Timeline, client: Task | None = None, server: Task | None = None
) -> pd.DataFrame:
    """The two ends of local traffic, side by side.

    client, server: a task by tid, or all tasks of a name; None for the two that exchanged most
    packets in traffic_pairs(): the client sent more of them, or, where fewer than 10 are known,
    raised more network softirqs. Returns the rows "client" and "server" (column side) with tid
    (Int64, NA for a name), comm, and

    - on_cpu_ns, task_ns; all_softirq_ns (softirqs in its context), network_softirq_ns (of NET_RX
      and NET_TX), network_softirq_share (of on_cpu_ns), owned_ns (softirq time of its traffic,
      whoever ran it, as traffic_owners() has it);
    - waited_ns (runnable without a CPU; NA where that is not known), asleep_ns (the rest of the
      time from its first to its last event; NA in a timeline without some CPU, on which it can have
      been);
    - switches, voluntary, involuntary, migrations;
    - sent_packets and sent_bytes, from the client to the server, the same on both rows: what iperf3
      says it sent, where it is the bundle's load and the timeline all of the recording; else
      packets are those known by sender and receiver, NA where net:netif_receive_skb was not
      recorded; softirq_ns_per_packet and softirq_ns_per_byte: network_softirq_ns over them.

    Raises CaptureError where no pair is seen or a named task did not run, MissingEventsError
    without softirqs or sched_switch. Source: the tables softirqs, slices and migrations.
    """
    timeline.load("softirqs", "polls", "slices", "migrations")
    parts = traffic_parts(timeline)
    ends = _ends(parts, client, server)
    bytes_sent, packets = sent_of(timeline)
    if packets is None and not unrecorded(timeline.capture, RECEIVED[0]):
        packets = len(_chosen(_chosen(parts, ends[0], "sender_"), ends[1], "receiver_"))
    rows = [
        {"side": side, **_of_task(timeline, task, parts)}
        for side, task in zip(("client", "server"), ends, strict=True)
    ]
    frame = pd.DataFrame(rows)
    whole = frame["on_cpu_ns"].where(frame["on_cpu_ns"] > 0).astype("float64")
    place = list(frame).index("network_softirq_ns") + 1
    frame.insert(place, "network_softirq_share", frame["network_softirq_ns"] / whole)
    frame["sent_packets"] = pd.array([packets] * 2, dtype="Int64")
    frame["sent_bytes"] = pd.array([bytes_sent] * 2, dtype="Int64")
    for name, unit in (("packet", "sent_packets"), ("byte", "sent_bytes")):
        count = frame[unit].astype("Float64").astype("float64")
        frame[f"softirq_ns_per_{name}"] = frame["network_softirq_ns"] / count.where(count > 0)
    return frame


def _ends(parts: pd.DataFrame, client: Task | None, server: Task | None) -> tuple[Task, Task]:
    if client is not None and client == server:
        raise CaptureError(
            f"client and server are both {client!r}: where they share a name, give their tids "
            "(netcost ask traffic_pairs has them)"
        )
    if client is not None and server is not None:
        return client, server
    pairs = pairs_of(parts)
    sent = pairs.groupby(["sender_tid", "receiver_tid"])["units"].sum().reset_index()
    back = sent.rename(columns={"sender_tid": "receiver_tid", "receiver_tid": "sender_tid"})
    # Either direction of every pair, with what went each way.
    both = sent.merge(back, on=["sender_tid", "receiver_tid"], how="outer", suffixes=("", "_back"))
    both = both.fillna({"units": 0, "units_back": 0})
    raised = parts[(parts["owner_known_by"] == "raiser").to_numpy()]["owner_tid"].value_counts()
    both["raised"] = both["sender_tid"].map(raised).fillna(0).astype("int64")
    both["known"] = both["units"] + both["units_back"]
    both["few"] = both["known"] < _FEW
    both["way"] = both["units"].where(~both["few"], both["raised"])
    for end, task in (("sender", client), ("receiver", server)):
        if isinstance(task, int):
            both = both[(both[f"{end}_tid"] == task).to_numpy(dtype=bool)]
        elif task is not None:
            tids = parts.loc[(parts[f"{end}_comm"] == task).to_numpy(), f"{end}_tid"].unique()
            both = both[both[f"{end}_tid"].isin(tids).to_numpy()]
    if not len(both):
        raise CaptureError(
            "no two tasks of this host were seen to send packets to each other; name them "
            "(client, server), or record with --profile anatomy, which follows packets"
        )
    best = both.sort_values(["known", "way"], ascending=False, kind="stable").iloc[0]
    return (
        int(best["sender_tid"]) if client is None else client,
        int(best["receiver_tid"]) if server is None else server,
    )


def _chosen(rows: pd.DataFrame, task: Task, prefix: str = "") -> pd.DataFrame:
    if isinstance(task, int):
        return rows[(rows[f"{prefix}tid"] == task).fillna(False).to_numpy(dtype=bool)]
    return rows[(plain_names(rows[f"{prefix}comm"]) == task).to_numpy()]


def _of_task(timeline: Timeline, task: Task, parts: pd.DataFrame) -> dict[str, Any]:
    sums = _chosen(of_tasks(timeline.sums()), task)
    if not len(sums):
        raise CaptureError(f"no task {task!r} ran in the window")
    softirqs = _chosen(softirq_rows(timeline.softirqs, timeline.polls), task)
    stays = _chosen(timeline.slices, task)
    on_cpu_ns = int(sums["ns"].sum())
    begin = stays["in_ns"].where(stays["wait_ns"].isna(), stays["in_ns"] - stays["wait_ns"])
    window = (int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"]))
    wait_ns = waited_within(stays, window) if timeline.across_cpus else None
    alive_ns = min(int(stays["out_ns"].max()), window[1]) - max(int(begin.min()), window[0])
    # A name may be of many tasks, each asleep in its own time.
    alone = stays["tid"].nunique() == 1 and wait_ns is not None and _everywhere(timeline, task)
    names = sums.groupby(plain_names(sums["comm"]))["ns"].sum()
    switched = _chosen(context_switches(timeline), task)
    return {
        "tid": task if isinstance(task, int) else pd.NA,
        "comm": str(names.idxmax()),
        "on_cpu_ns": on_cpu_ns,
        "task_ns": int(sums["ns"][(sums["context"] == "task").to_numpy()].sum()),
        "all_softirq_ns": int(softirqs["ns"].sum()),
        "network_softirq_ns": int(softirqs["ns"][softirqs["action"].isin(NETWORK)].sum()),
        "owned_ns": int(_chosen(parts, task, "owner_")["ns"].sum()),
        "waited_ns": pd.NA if wait_ns is None else wait_ns,
        "asleep_ns": max(alive_ns - on_cpu_ns - (wait_ns or 0), 0) if alone else pd.NA,
        **{name: int(switched[name].sum()) for name in ("switches", "voluntary", "involuntary")},
        "migrations": int(in_window(_chosen(timeline.migrations, task)["time_ns"], timeline).sum()),
    }


def _everywhere(timeline: Timeline, task: Task) -> bool:
    # Whether the timeline has all CPUs on which the task can have been.
    here = set(timeline.summary["cpus"])
    moved = _chosen(timeline.migrations, task)
    known = set(moved["orig_cpu"].dropna()) | set(moved["dest_cpu"].dropna())
    return here >= set(timeline.capture.info["cpus"]) and here >= known


class Pace(NamedTuple):
    """What a tenth more softirq time in a task's context would do: to its work, to throughput."""

    longer_share: float
    less_share: float


def pace_of(row: "pd.Series[Any]") -> Pace | None:
    """Whether a row of client_and_server() sets the pace, for it hardly slept; None where not.

    Document 003's arithmetic: only who has no time to spare limits the throughput.
    """
    if pd.isna(row["asleep_ns"]) or pd.isna(row["waited_ns"]):
        return None
    life = int(row["on_cpu_ns"]) + int(row["waited_ns"]) + int(row["asleep_ns"])
    if not int(row["on_cpu_ns"]) or int(row["asleep_ns"]) / life >= _BUSY:
        return None
    longer = _MORE * int(row["network_softirq_ns"]) / int(row["on_cpu_ns"])
    return Pace(longer, 1 - 1 / (1 + longer))

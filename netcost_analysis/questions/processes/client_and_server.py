# Softirq time by the task in whose context it ran, and two processes that talk to each other on one
# host, side by side.

from math import nan
from typing import Any

import pandas as pd

from ... import plots
from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.requires import unrecorded
from ...frames import most_first
from ...parsers.iperf3 import iperf3_sent
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.group import KNOWN
from ...timeline.owners import of_tasks, plain_names
from ...timeline.reading import bounds_of
from ...timeline.task import Task, comm_of, require_task, rows_of
from ...timeline.timeline import Timeline
from ...timeline.traffic import RECEIVED, TRAFFIC
from .scheduling import context_switches
from .traffic import NEEDS, Traffic, require_endpoints, require_pair, traffic

# The action of a poll outside any softirq.
NAPI_THREAD = "NAPI thread"
RPS_DISPATCH = "RPS dispatch"
NETWORK = ("NET_RX", "NET_TX", RPS_DISPATCH, NAPI_THREAD)
_TASK = ("cpu", "tid", "comm", "cost_class")
_SOFTIRQS = Grouped(
    "softirqs",
    by=(*_TASK, "action", "is_dispatch"),
    sums=("polls", "packets", "self_ns", "outside_polls_ns"),
)
_THREADS = Grouped(
    "polls", by=_TASK, sums=("work", "self_ns"), where={"in_softirq": (0, 0), "self_ns": KNOWN}
)
_POLLED = Grouped("polls", by=("in_softirq",))
BY_TASK = (_SOFTIRQS, _THREADS, _POLLED)


@question(
    needs=("softirqs",),
    inputs=BY_TASK,
    columns=("tid", "comm", "cpu", "action", "cost_class", "ns", "softirq_share"),
)
def softirq_time(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """Softirq time by the task that it ran on top of, by action and cost class.

    A row per task, or per CPU, action and cost_class, most ns first: the softirqs' own time,
    without the interrupts on top of them. Polls of NAPI threads, which run in no softirq, have
    action "NAPI thread". The idle task has rows too, so ns adds up to all softirq time of the
    timeline. Source: softirqs and polls.
    """
    check_by(by, TaskBy)
    groups = _summed(timeline).groupby([*victim_keys(by), "action", "cost_class"], dropna=False)
    frame = groups[["softirqs", "polls", "packets", "ns", "poll_ns"]].sum().reset_index()
    frame, whole = most_first(frame, "ns"), int(frame["ns"].sum())
    frame["softirq_share"] = frame["ns"] / (whole or nan)
    span_ns = timeline.duration_ns * len(timeline.summary["cpus"])
    return Answer(frame, in_all={"ns": whole, **_shares(frame, whole, span_ns)})


def _shares(frame: pd.DataFrame, whole: int, span_ns: int) -> dict[str, Any]:
    # Shares of all softirq time, and the task in whose time most of the network's ran: most_tid is
    # None where unknown, most_ns 0 where the network had none, or rows name no task.
    network = frame[frame["action"].isin(NETWORK)]
    ns, tid, comm, most = int(network["ns"].sum()), None, "", 0
    if ns and "tid" in frame:
        by_task = network.groupby(["tid", "comm"], dropna=False)["ns"].sum().reset_index()
        tid, comm, most = by_task.nlargest(1, "ns").iloc[0]
    return {
        "cpu_share": whole / span_ns if span_ns else float("nan"),
        "network_of_softirqs_share": ns / whole if whole else 0.0,
        "most_tid": None if pd.isna(tid) else int(tid),
        "most_comm": comm,
        "most_ns": int(most),
        "most_share": most / ns if ns else 0.0,
    }


def _summed(timeline: Timeline) -> pd.DataFrame:
    # Softirqs, and NAPI threads' polls, in the same columns.
    inside, outside = _SOFTIRQS(timeline).frame.copy(), _THREADS(timeline).frame
    # Where no poll was recorded, nothing tells a dispatch from a softirq that polled.
    dispatch = inside["is_dispatch"] & (len(_POLLED(timeline).frame) > 0)
    inside["action"] = inside["action"].mask(dispatch, RPS_DISPATCH)
    inside["poll_ns"] = inside["ns"] - inside["outside_polls_ns"]
    outside = outside.assign(action=NAPI_THREAD, softirqs=0, poll_ns=outside["ns"])
    both = pd.concat([inside, outside], ignore_index=True)
    return both.assign(**{name: plain_names(both[name]) for name in ("comm", "cost_class")})


softirq_time.plot(
    title="Softirq time by the task in whose context it ran",
    height=lambda answer: 1.3 + 0.25 * min(answer.frame["tid"].nunique(), 10),
    panels=lambda answer: [{}] if len(answer.frame) and "tid" in answer.frame else [],
)(lambda ax, answer: plots.tasks.softirqs_by_task(ax, answer.frame, NETWORK))


# A task that slept less than this share of its lifetime has no time to spare.
_BUSY = 0.05
# What follows is told of so much more softirq time.
_MORE = 0.1
# Since when tasks had or wanted a CPU, when they last had one, and how long they waited within the
# window. The idle task and nobody have rows too.
SLICES = Grouped("slices", by=("tid", "comm"), sums=("waited_ns",), ends=("begun_ns", "out_ns"))
# The CPUs between which tasks were moved, and how often they were within the window.
_BETWEEN = Grouped("migrations", by=("tid", "comm", "orig_cpu", "dest_cpu"))
_MOVED = Grouped("migrations", by=("tid", "comm"), where=in_window("time_ns"))


@question(
    needs=NEEDS,
    seen=require_pair,
    inputs=(*BY_TASK, TRAFFIC, SLICES, _BETWEEN, _MOVED, *context_switches.grouped),
    columns=(
        *("side", "tid", "comm", "on_cpu_ns", "network_softirq_ns", "owned_ns"),
        *("softirq_ns_per_packet", "softirq_ns_per_byte"),
    ),
)
def client_and_server(
    timeline: Timeline, client: Task | None = None, server: Task | None = None
) -> Answer:
    """The two endpoints of local traffic, side by side.

    - client, server: A task by tid, or all tasks of a name. None: the two that exchanged most
      packets in traffic_pairs(). The client sent more of them, or, where fewer than 10 are known,
      raised more network softirqs.

    The rows "client" and "server"; tid is NA for a name. waited_ns is NA where it is unknown.
    asleep_between_ns is NA in a timeline without some CPU, because the task may have been on it.

    Both rows have what the client sent to the server. It is what iperf3 reports, if iperf3 is the
    bundle's load and the timeline is the whole recording. Otherwise it is the packets whose sender
    and receiver are known, and NA if net:netif_receive_skb was not recorded. pace_longer_share and
    pace_less_share are for the side that hardly slept, and so sets the pace; NaN for the other.
    Source: softirqs, polls, slices and migrations.
    """
    for task in (client, server):
        require_task(timeline, task)
    sums = traffic(timeline)
    pair = require_endpoints(sums, client, server)
    bytes_sent, packets = _sent(timeline)
    if packets is None and not unrecorded(timeline.capture, RECEIVED):
        sent = rows_of(sums.by_pair.reset_index(), pair[0], "sender_")
        packets = int(rows_of(sent, pair[1], "receiver_")["units"].sum())
    sides = [
        {"side": side, **_of_task(timeline, task, sums)}
        for side, task in zip(("client", "server"), pair, strict=True)
    ]
    frame = pd.DataFrame(sides)
    whole = frame["on_cpu_ns"].where(frame["on_cpu_ns"] > 0)
    place = list(frame).index("network_softirq_ns") + 1
    frame.insert(place, "network_softirq_share", frame["network_softirq_ns"] / whole)
    frame = frame.assign(sent_packets=packets, sent_bytes=bytes_sent)
    for name, count in (("packet", packets), ("byte", bytes_sent)):
        frame[f"softirq_ns_per_{name}"] = frame["network_softirq_ns"] / (count or nan)
    # Only a task that has no time to spare limits the throughput.
    longer = pd.Series([_longer(row) for _, row in frame.iterrows()], dtype="float64")
    return Answer(frame.assign(pace_longer_share=longer, pace_less_share=1 - 1 / (1 + longer)))


def _sent(timeline: Timeline) -> tuple[int | None, int | None]:
    # Bytes and packets that the bundle's load sent while it was recorded; None where unknown, as
    # for a part of the recording or of its CPUs. The load starts after the recording and ends
    # before it.
    bundle = timeline.capture.bundle
    part = timeline.start_s is not None or timeline.end_s is not None
    if bundle is None or part or set(timeline.capture.info["cpus"]) - {*timeline.summary["cpus"]}:
        return None, None
    return iperf3_sent(bundle.load_output or "")


def _of_task(timeline: Timeline, task: Task, traffic_of: Traffic) -> dict[str, Any]:
    sums = rows_of(of_tasks(timeline.sums()), task)
    if not len(sums):
        raise CaptureError(f"no task {task!r} ran in the window")
    softirqs = rows_of(softirq_time(timeline).frame, task)
    window = bounds_of(timeline)
    slices = rows_of(SLICES(timeline).frame, task)
    on_cpu_ns = int(sums["ns"].sum())
    wait_ns = int(slices["waited_ns"].sum()) if not timeline.missing["clocks"] else None
    end_ns = min(int(slices["out_ns_most"].max()), window.end_ns)
    alive_ns = end_ns - max(int(slices["begun_ns_least"].min()), window.start_ns)
    # Several tasks of one name sleep at different times.
    alone = slices["tid"].nunique() == 1 and wait_ns is not None and _everywhere(timeline, task)
    owned = rows_of(traffic_of.by_owner.reset_index(), task, "owner_")
    switched = rows_of(context_switches(timeline).frame, task)
    return {
        "tid": pd.NA if isinstance(task, str) else task,
        "comm": comm_of(timeline, task),
        "on_cpu_ns": on_cpu_ns,
        "task_ns": int(sums["ns"][sums["context"] == "task"].sum()),
        "all_softirq_ns": int(softirqs["ns"].sum()),
        "network_softirq_ns": int(softirqs["ns"][softirqs["action"].isin(NETWORK)].sum()),
        "owned_ns": int(owned["ns"].sum()),
        "waited_ns": pd.NA if wait_ns is None else wait_ns,
        "asleep_between_ns": max(alive_ns - on_cpu_ns - (wait_ns or 0), 0) if alone else pd.NA,
        **{name: int(switched[name].sum()) for name in ("switches", "voluntary", "involuntary")},
        "migrations": int(rows_of(_MOVED(timeline).frame, task)["migrations"].sum()),
    }


def _everywhere(timeline: Timeline, task: Task) -> bool:
    # Whether the timeline has all CPUs on which the task can have been.
    moved = rows_of(_BETWEEN(timeline).frame, task)
    ends = set(moved["orig_cpu"].dropna()) | set(moved["dest_cpu"].dropna())
    return set(timeline.summary["cpus"]) >= {*timeline.capture.info["cpus"], *ends}


def _longer(row: "pd.Series[Any]") -> float:
    # How much longer the work of a task that sets the pace takes with that much more softirq time.
    if pd.isna(row["asleep_between_ns"]) or pd.isna(row["waited_ns"]) or not row["on_cpu_ns"]:
        return nan
    life = int(row["on_cpu_ns"]) + int(row["waited_ns"]) + int(row["asleep_between_ns"])
    if int(row["asleep_between_ns"]) / life >= _BUSY:
        return nan
    return _MORE * int(row["network_softirq_ns"]) / int(row["on_cpu_ns"])


client_and_server.plot(title="How client and server spent the window", height=1.9)(
    lambda ax, answer: plots.tasks.endpoints(ax, answer.frame, answer.timeline.duration_ns)
)

# Two processes that talk to each other on one host, side by side.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ..._native import CaptureError
from ...answers.question import question
from ...capture.requires import unrecorded
from ...display.tables import listed
from ...timeline.aggregates import Grouped, in_window
from ...timeline.owners import of_tasks
from ...timeline.reading import window_of
from ...timeline.task import Task, comm_of, require_task, rows_of
from ...timeline.timeline import Timeline
from .context_switches import context_switches
from .endpoints import NEEDS, require_endpoints, require_pair
from .recorded import RECEIVED
from .softirq_time import BY_TASK, NETWORK, softirq_time
from .stays import STAYS, stays_by_task
from .traffic import Traffic, traffic
from .transferred import sent_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of its life: a task that slept less has no time to spare.
_BUSY = 0.05
# Document 003: what follows from so much more softirq time.
_MORE = 0.1
# The CPUs between which tasks were moved, and how often they were within the window.
_BETWEEN = Grouped("migrations", by=("tid", "comm", "orig_cpu", "dest_cpu"))
_MOVED = Grouped("migrations", by=("tid", "comm"), where=in_window("time_ns"))


@question(
    needs=NEEDS,
    seen=require_pair,
    inputs=(*BY_TASK, "softirqs", "polls", STAYS, _BETWEEN, _MOVED, *context_switches.grouped),
    columns=(
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
    """The two endpoints of local traffic, side by side.

    - client, server: A task by tid, or all tasks of a name. None: the two that exchanged most
      packets in traffic_pairs(). The client sent more of them, or, where fewer than 10 are known,
      raised more network softirqs.

    The rows "client" and "server" (column side) with tid (Int64, NA for a name) and comm.

    - on_cpu_ns, task_ns; all_softirq_ns (softirqs in its context), network_softirq_ns (of
      NET_RX and NET_TX), network_softirq_share (of on_cpu_ns), owned_ns (softirq time of its
      traffic, whoever ran it, as traffic_owners() has it).
    - waited_ns: runnable without a CPU; NA where that is not known. asleep_between_ns: the
      rest of the time from its first to its last event; NA in a timeline without some CPU, on
      which it can have been.
    - switches, voluntary, involuntary, migrations.
    - sent_packets, sent_bytes: from the client to the server, the same on both rows; NA where
      not known. softirq_ns_per_packet, softirq_ns_per_byte: network_softirq_ns over them.
    - pace_longer_share, pace_less_share: of who hardly slept, and so sets the pace, what a
      tenth more network softirq time would do to its work and to the throughput; else NaN.

    Source: softirqs, polls, slices and migrations. What was sent is what iperf3 says, where it is
    the bundle's load and the timeline all of the recording; else packets are those whose sender and
    receiver are known, NA where net:netif_receive_skb was not recorded.
    """
    for task in (client, server):
        require_task(timeline, task)
    sums = traffic(timeline)
    pair = require_endpoints(sums, client, server)
    bytes_sent, packets = sent_of(timeline)
    if packets is None and not unrecorded(timeline.capture, RECEIVED[0]):
        sent = rows_of(sums.by_pair.reset_index(), pair[0], "sender_")
        packets = int(rows_of(sent, pair[1], "receiver_")["units"].sum())
    sides = [
        {"side": side, **_of_task(timeline, task, sums)}
        for side, task in zip(("client", "server"), pair, strict=True)
    ]
    frame = pd.DataFrame(sides)
    whole = frame["on_cpu_ns"].where(frame["on_cpu_ns"] > 0).astype("float64")
    place = list(frame).index("network_softirq_ns") + 1
    frame.insert(place, "network_softirq_share", frame["network_softirq_ns"] / whole)
    frame["sent_packets"] = pd.array([packets] * 2, dtype="Int64")
    frame["sent_bytes"] = pd.array([bytes_sent] * 2, dtype="Int64")
    for name, unit in (("packet", "sent_packets"), ("byte", "sent_bytes")):
        count = frame[unit].astype("Float64").astype("float64")
        frame[f"softirq_ns_per_{name}"] = frame["network_softirq_ns"] / count.where(count > 0)
    paces = [pace_of(row) for _, row in frame.iterrows()]
    return frame.join(pd.DataFrame(paces, columns=list(Pace._fields), dtype="float64"))


def _of_task(timeline: Timeline, task: Task, traffic_of: Traffic) -> dict[str, Any]:
    sums = rows_of(of_tasks(timeline.sums()), task)
    if not len(sums):
        raise CaptureError(f"no task {task!r} ran in the window")
    softirqs = rows_of(softirq_time(timeline), task)
    window = window_of(timeline)
    stays = rows_of(stays_by_task(timeline), task)
    between = rows_of(_BETWEEN(timeline).frame, task)
    moved = rows_of(_MOVED(timeline).frame, task)
    on_cpu_ns = int(sums["ns"].sum())
    wait_ns = int(stays["waited_ns"].sum()) if not timeline.missing["clocks"] else None
    end_ns = min(int(stays["out_ns"].max()), window.end_ns)
    alive_ns = end_ns - max(int(stays["begun_ns"].min()), window.start_ns)
    # A name may be of many tasks, each asleep in its own time.
    alone = stays["tid"].nunique() == 1 and wait_ns is not None and _everywhere(timeline, between)
    owned = rows_of(traffic_of.by_owner.reset_index(), task, "owner_")
    switched = rows_of(context_switches(timeline), task)
    return {
        "tid": pd.NA if isinstance(task, str) else task,
        "comm": comm_of(timeline, task),
        "on_cpu_ns": on_cpu_ns,
        "task_ns": int(sums["ns"][(sums["context"] == "task").to_numpy()].sum()),
        "all_softirq_ns": int(softirqs["ns"].sum()),
        "network_softirq_ns": int(softirqs["ns"][softirqs["action"].isin(NETWORK)].sum()),
        "owned_ns": int(owned["ns"].sum()),
        "waited_ns": pd.NA if wait_ns is None else wait_ns,
        "asleep_between_ns": max(alive_ns - on_cpu_ns - (wait_ns or 0), 0) if alone else pd.NA,
        **{name: int(switched[name].sum()) for name in ("switches", "voluntary", "involuntary")},
        "migrations": int(moved["migrations"].sum()),
    }


def _everywhere(timeline: Timeline, moved: pd.DataFrame) -> bool:
    # Whether the timeline has all CPUs on which the task can have been. moved: of _BETWEEN.
    here = set(timeline.summary["cpus"])
    known = set(moved["orig_cpu"].dropna()) | set(moved["dest_cpu"].dropna())
    return here >= set(timeline.capture.info["cpus"]) and here >= known


class Pace(NamedTuple):
    # What a tenth more softirq time in a task's context would do: to its work, to throughput.
    pace_longer_share: float
    pace_less_share: float


_NO_PACE = Pace(float("nan"), float("nan"))


def pace_of(row: "pd.Series[Any]") -> Pace:
    # Whether a row of client_and_server() sets the pace, for it hardly slept; NaN where not.
    # Document 003's arithmetic: only who has no time to spare limits the throughput.
    if pd.isna(row["asleep_between_ns"]) or pd.isna(row["waited_ns"]):
        return _NO_PACE
    life = int(row["on_cpu_ns"]) + int(row["waited_ns"]) + int(row["asleep_between_ns"])
    if not int(row["on_cpu_ns"]) or int(row["asleep_between_ns"]) / life >= _BUSY:
        return _NO_PACE
    longer = _MORE * int(row["network_softirq_ns"]) / int(row["on_cpu_ns"])
    return Pace(longer, 1 - 1 / (1 + longer))


@client_and_server.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # A dict of each row; pacemakers: those that set the pace.
    rows = listed(answer.frame)
    client, server = rows
    return {
        "client": client,
        "server": server,
        "pacemakers": [row for row in rows if row["pace_longer_share"] is not None],
        "sleep_known": client["asleep_between_ns"] is not None
        and server["asleep_between_ns"] is not None,
    }


@client_and_server.plot(title="How client and server spent the window", height=1.9)
def _shares(ax: "Axes", answer: "Answer") -> None:
    from .plots import endpoints

    endpoints(ax, answer.frame, answer.timeline.duration_ns)

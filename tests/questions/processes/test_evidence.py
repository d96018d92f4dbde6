# Whose packets a softirq handled: from buffers, sockets and wake-ups, each table written by hand.

import pandas as pd

from netcost_analysis.questions.processes.evidence import (
    announced,
    inside,
    of_clients,
    owners_of,
    sockets_in,
    units,
    with_sockets,
    woken_in,
)
from netcost_analysis.questions.processes.packets import ENDS, Packets, packets_in
from netcost_analysis.questions.processes.recorded import empty
from netcost_analysis.questions.processes.traffic import summed
from netcost_analysis.questions.processes.traffic_owners import owned
from netcost_analysis.questions.processes.traffic_pairs import pairs_of
from netcost_analysis.questions.processes.traffic_parts import parts_of, softirq_rows

CLIENT, SERVER, OTHER, KSOFTIRQD = 10, 20, 30, 14
NAMES = {CLIENT: "client", SERVER: "server", OTHER: "other", KSOFTIRQD: "ksoftirqd/0", 0: "swapper"}
POLLS = pd.DataFrame(
    {
        name: []
        for name in ("cpu", "tid", "comm", "cost_class", "softirq_ordinal", "self_ns", "work")
    }
)


def softirqs(*rows: tuple[int, int, int, int, str, str, int]) -> pd.DataFrame:
    # cpu, tid, entry, exit, action, class, own time
    names = ["cpu", "tid", "entry_ns", "exit_ns", "action", "cost_class", "self_ns"]
    frame = pd.DataFrame(list(rows), columns=names)
    frame = frame.astype({"tid": "Int32", "entry_ns": "Int64", "exit_ns": "Int64"})
    frame["comm"] = frame["tid"].map(NAMES)
    return frame.assign(outside_polls_ns=0, polls=1, packets=1, origin="irq")


def events(
    *rows: tuple[int, int, int, int], softirq: bool = False, hardirq: bool = False
) -> pd.DataFrame:
    # time, cpu, current task, what it is about
    frame = pd.DataFrame(list(rows), columns=["time_ns", "cpu", "tid", "what"]).astype("int64")
    frame["comm"] = frame["tid"].map(NAMES)
    frame["name"] = frame["what"].map(NAMES)
    frame["in_softirq"] = pd.array([softirq] * len(frame), dtype="boolean")
    frame["in_hardirq"] = pd.array([hardirq] * len(frame), dtype="boolean")
    return frame


def endpoints(
    frame: pd.DataFrame,
    received: pd.DataFrame,
    queued: pd.DataFrame,
    taken: pd.DataFrame,
    freed: pd.DataFrame | None = None,
) -> pd.DataFrame:
    packets = Packets()
    told = packets.add(received, queued, taken, empty() if freed is None else freed)
    return packets_in(frame, pd.concat([told, packets.rest()]))[[*ENDS]]


def woken_by(
    frame: pd.DataFrame, softirqs: pd.DataFrame, woken: pd.DataFrame, ready: pd.DataFrame
) -> pd.DataFrame:
    by_waking = woken_in(frame, softirqs, of_clients(woken))
    sockets = sockets_in(frame, softirqs, ready)
    return with_sockets(by_waking, sockets, owners_of(announced(sockets, by_waking)))


# CPU 0, in the client's time: |100 NET_RX, own  200|   |300 NET_RX, from an interrupt 400|
# CPU 1, idle:                      |150 NET_RX 250|
THREE = softirqs(
    (0, CLIENT, 100, 200, "NET_RX", "synchronous", 91),
    (0, CLIENT, 300, 400, "NET_RX", "stolen", 100),
    (1, 0, 150, 250, "NET_RX", "from_idle", 80),
)


def test_an_event_is_in_the_softirq_of_its_cpu_and_task() -> None:
    seen = events(
        (100, 0, CLIENT, 1),
        (150, 0, CLIENT, 1),
        (200, 0, CLIENT, 1),
        (201, 0, CLIENT, 1),
        (99, 0, CLIENT, 1),
        (160, 1, 0, 1),
        # Another task's, while the softirq waits for its own: PREEMPT_RT.
        (160, 1, OTHER, 1),
        (350, 2, CLIENT, 1),
    )
    assert inside(seen, THREE).tolist() == [0, 0, 0, -1, -1, 2, -1, -1]
    assert inside(seen.assign(in_hardirq=True), THREE).tolist() == [-1] * 8
    unfinished = THREE.assign(exit_ns=pd.array([pd.NA] * 3, dtype="Int64"))
    assert inside(seen, unfinished).tolist() == [-1] * 8


def test_time_is_shared_over_packets_to_the_nanosecond() -> None:
    received = events((110, 0, CLIENT, 7), (120, 0, CLIENT, 8), (160, 1, 0, 9), (150, 0, OTHER, 5))
    frame = units(THREE, received)
    assert frame["softirq"].tolist() == [0, 0, 1, 2]
    assert frame["ns"].tolist() == [46, 45, 100, 80]
    assert frame["what"].fillna(-1).tolist() == [7, 8, -1, 9]
    assert frame["ns"].sum() == THREE["self_ns"].sum()


# Buffer 7 is sent by the client, received, copied to the server; sent and received again, and then
# freed; 8 comes from outside and is copied to a task; 9 is queued by a softirq, and never taken.
def test_a_buffer_leads_from_sender_to_receiver() -> None:
    received = events((110, 0, CLIENT, 7), (120, 0, CLIENT, 8), (310, 0, CLIENT, 7), (160, 1, 0, 9))
    queued = events((90, 0, CLIENT, 7), (290, 0, OTHER, 7))
    queued = pd.concat([queued, events((155, 1, 0, 9), softirq=True)], ignore_index=True)
    taken = events((130, 1, SERVER, 7), (140, 1, OTHER, 8))
    freed = events((500, 1, SERVER, 7))
    late = events((600, 1, SERVER, 7))
    frame = units(THREE, received)
    taken = pd.concat([taken, late], ignore_index=True)
    found = endpoints(frame, received, queued, taken, freed)
    rows = found[["sender_tid", "receiver_tid"]].astype("Int64").fillna(-1).to_numpy().tolist()
    # In the order of units: 7 and 8 in the first softirq, 7 in the second, 9 in the third.
    assert rows == [[CLIENT, SERVER], [-1, OTHER], [OTHER, -1], [-1, -1]]
    assert found["receiver_comm"].tolist()[:2] == ["server", "other"]


def test_without_flags_nobody_is_known_to_have_sent() -> None:
    received = events((110, 0, CLIENT, 7))
    queued = events((90, 0, CLIENT, 7)).assign(in_softirq=pd.array([pd.NA], dtype="boolean"))
    frame = units(THREE, received)
    found = endpoints(frame, received, queued, empty())
    assert found["sender_tid"].isna().all()


# Of socket 77's announcements two wake the server; the third finds it awake.
def test_a_socket_is_the_task_s_that_it_wakes() -> None:
    received = events((110, 0, CLIENT, 7), (150, 0, CLIENT, 8), (310, 0, CLIENT, 9))
    ready = events((120, 0, CLIENT, 77), (155, 0, CLIENT, 77), (320, 0, CLIENT, 77), softirq=True)
    woken = events((121, 0, CLIENT, SERVER), (156, 0, CLIENT, SERVER), softirq=True)
    frame = units(THREE, received)
    found = woken_by(frame, THREE, woken, ready)
    assert found["tid"].fillna(-1).tolist() == [SERVER, SERVER, SERVER, -1]
    assert found["known_by"].tolist() == ["socket", "socket", "socket", None]


def test_a_socket_that_wakes_many_is_nobody_s() -> None:
    received = events((110, 0, CLIENT, 7), (150, 0, CLIENT, 8), (310, 0, CLIENT, 9))
    ready = events((120, 0, CLIENT, 77), (155, 0, CLIENT, 77), (320, 0, CLIENT, 77), softirq=True)
    woken = events((121, 0, CLIENT, SERVER), (156, 0, CLIENT, OTHER), softirq=True)
    found = woken_by(units(THREE, received), THREE, woken, ready)
    assert found["tid"].fillna(-1).tolist() == [SERVER, OTHER, -1, -1]
    assert found["known_by"].tolist() == ["wake-up", "wake-up", None, None]


def test_servants_of_softirqs_own_nothing() -> None:
    woken = events((121, 0, CLIENT, KSOFTIRQD), (130, 0, CLIENT, 0), softirq=True)
    found = woken_by(units(THREE, empty()), THREE, woken, empty())
    assert found["tid"].isna().all()


def parts(received: pd.DataFrame, queued: pd.DataFrame, taken: pd.DataFrame, woken: pd.DataFrame,
          ready: pd.DataFrame) -> pd.DataFrame:  # fmt: skip
    frame = units(THREE, received)
    by_packet = endpoints(frame, received, queued, taken)
    by_waking = woken_by(frame, THREE, woken, ready)
    return parts_of(softirq_rows(THREE, POLLS), frame, by_packet, by_waking)


def test_owners_from_the_strongest_witness_to_the_weakest() -> None:
    received = events((110, 0, CLIENT, 7), (310, 0, CLIENT, 8), (350, 0, CLIENT, 9), (160, 1, 0, 5))
    taken = events((130, 1, SERVER, 7), (330, 1, SERVER, 8))
    queued = events((80, 1, OTHER, 5))
    woken = events((360, 0, CLIENT, OTHER), softirq=True)
    frame = parts(received, queued, taken, woken, empty())
    rows = frame[["softirq", "owner_tid", "owner_known_by", "ns"]].to_numpy().tolist()
    assert rows == [
        [0, CLIENT, "raiser", 91],
        [1, SERVER, "packet", 50],
        [1, OTHER, "wake-up", 50],
        # Nobody took it; who sent it is known.
        [2, OTHER, "packet", 80],
    ]
    assert frame["ns"].sum() == THREE["self_ns"].sum()
    pairs = pairs_of(summed(frame, softirq_rows(THREE, POLLS)).by_pair)
    assert pairs[
        ["sender_tid", "receiver_tid", "units", "by_packet_share"]
    ].to_numpy().tolist() == [[CLIENT, SERVER, 1, 1.0]]


# A Unix socket's buffer at the same address, copied to somebody else.
def test_the_socket_is_believed_against_the_buffer() -> None:
    received = events((110, 0, CLIENT, 7), (310, 0, CLIENT, 8))
    ready = events((120, 0, CLIENT, 77), (320, 0, CLIENT, 77), softirq=True)
    woken = events((121, 0, CLIENT, SERVER), softirq=True)
    taken = events((500, 1, OTHER, 8))
    frame = parts(received, empty(), taken, woken, ready)
    assert frame["receiver_tid"].fillna(-1).tolist() == [SERVER, SERVER, -1]
    assert frame["owner_known_by"].tolist() == ["raiser", "socket", "unknown"]


def test_no_network_s_softirqs_are_nobody_s_traffic() -> None:
    one = softirqs((0, CLIENT, 100, 200, "TIMER", "synchronous", 91))
    woken = events((150, 0, CLIENT, SERVER), softirq=True)
    frame = units(one, empty())
    found = parts_of(
        softirq_rows(one, POLLS),
        frame,
        endpoints(frame, empty(), empty(), empty()),
        woken_by(frame, one, woken, empty()),
    )
    assert found[["owner_known_by", "is_network", "ns"]].to_numpy().tolist() == [
        ["no network", "no", 91]
    ]
    assert found["owner_tid"].isna().all()


# A NAPI thread polls outside any softirq: its time is there, its owner unknown.
def test_polls_of_threads_are_in_the_sum() -> None:
    polls = pd.DataFrame(
        {
            "cpu": [0, 0],
            "tid": pd.array([40, 40], dtype="Int32"),
            "comm": ["napi/eth0-1", "napi/eth0-1"],
            "cost_class": ["scheduled", "scheduled"],
            "softirq_ordinal": pd.array([pd.NA, 3], dtype="Int64"),
            "self_ns": pd.array([500, 70], dtype="Int64"),
            "work": pd.array([9, 1], dtype="Int64"),
        }
    )
    rows = softirq_rows(THREE, polls)
    assert rows["ns"].sum() == THREE["self_ns"].sum() + 500
    frame = units(THREE, empty())
    none = endpoints(frame, empty(), empty(), empty())
    found = parts_of(rows, frame, none, woken_by(frame, THREE, empty(), empty()))
    assert found["ns"].sum() == rows["ns"].sum()
    assert found["owner_known_by"].iloc[-1] == "unknown"


# Softirqs that their own kernel threads ran took nothing from a task.
def test_threads_that_exist_for_it_lose_nothing() -> None:
    owners = pd.DataFrame(
        {
            "tid": pd.array([150, 7], dtype="Int64"),
            "comm": ["irq/32-virtio2-", "openssl"],
            "owner_tid": pd.array([219, 219], dtype="Int64"),
            "owner_comm": "udpsink",
            "owner_known_by": "wake-up",
            "is_network": "yes",
            "ns": [9_000_000, 1_000_000],
        }
    )
    found = owned(owners)
    assert found["in_all"]["foreign_ns"] == 1_000_000
    assert found["in_all"]["foreign"]["comm"] == "openssl"
    assert found["owners_known"].to_numpy().tolist() == [["wake-up", 1.0]]
    assert owned(owners[:1])["in_all"]["foreign"] is None

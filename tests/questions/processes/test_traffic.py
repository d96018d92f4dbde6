# Whose traffic softirqs were: packets, sockets and wake-ups that are drawn, and captures in pieces.

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.processes.traffic import traffic
from support.asked import softirq_time, stolen, traffic_owners, traffic_pairs
from support.host import SAMPLES
from support.kept import kept
from support.large import take_in_parts
from support.perfdata import Recording, cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS, SK_DATA_READY, SKB_EVENTS
from support.run_cli import Netcost
from support.told import KSOFTIRQD, NAPI_THREAD, NET_RX, OPENSSL, UDPSINK

CLIENT, SERVER, OTHER = h.Task(700, "client"), h.Task(701, "server"), h.Task(702, "other")
TASKS = (CLIENT, SERVER, OTHER, OPENSSL, UDPSINK, KSOFTIRQD, NAPI_THREAD)
EVENTS = (*FORMATS, SK_DATA_READY, *SKB_EVENTS.values())


# | irq 32 raises | NET_RX of 100 ns, from 10 to 110 |
def net_rx(at: int, *inside: h.Happening) -> list[h.Happening]:
    return [
        h.IrqEntry(at, 32),
        h.SoftirqRaise(at + 5, NET_RX),
        h.IrqExit(at + 9, 32),
        h.SoftirqEntry(at + 10, NET_RX),
        *inside,
        h.NapiPoll(at + 109, "eth0", 1),
        h.SoftirqExit(at + 110, NET_RX),
    ]


def queued(at: int, packet: int) -> h.Happening:
    return h.SkbEvent(at, "net_dev_queue", packet)


def received(at: int, packet: int) -> h.Happening:
    return h.SkbEvent(at, "netif_receive_skb", packet)


def copied(at: int, packet: int) -> h.Happening:
    return h.SkbEvent(at, "skb_copy_datagram_iovec", packet)


# CPU 0 is the client's throughout, CPU 1 from 50 on the server's and from 2,000 on another's.
def drawn(path: Path, client: list[h.Happening], others: list[h.Happening]) -> netcost.Timeline:
    others = [h.Switch(50, SERVER), h.Switch(2_000, OTHER), *others]
    lanes = (
        cpu(0, *client, h.Waking(9_000, CLIENT, 0), task=CLIENT),
        cpu(1, *sorted(others, key=lambda one: one.at), h.Waking(9_000, CLIENT, 0)),
    )
    taken = Recording(lanes, formats=EVENTS, known=TASKS).write(path / "perf.data")
    return netcost.open_capture(taken).timeline()


def owned(timeline: netcost.Timeline) -> dict[tuple[str, str], int]:
    rows = traffic_owners(timeline)
    assert rows["ns"].sum() == softirq_time(timeline)["ns"].sum()
    found = rows.groupby(["owner_comm", "owner_known_by"])["ns"].sum()
    return found.to_dict()


# Packet 1 is sent by the client on its own path and read by the server; 2 comes from outside and is
# read by the server; 3, in the same softirq, wakes another; 4 is sent by that and never read; 5 is
# queued by a softirq; 6 leaves a packet's address to the next one.
def test_a_packet_leads_from_its_sender_to_its_receiver(tmp_path: Path) -> None:
    own = [
        queued(90, 1),
        h.BhDisable(100),
        h.SoftirqRaise(105, NET_RX),
        h.BhEnable(109),
        h.SoftirqEntry(110, NET_RX),
        received(120, 1),
        h.NapiPoll(199, "eth0", 1),
        h.SoftirqExit(201, NET_RX),
    ]
    client = [
        *own,
        *net_rx(1_000, received(1_020, 2), received(1_050, 3), h.Waking(1_060, OTHER, 1)),
        *net_rx(3_000, received(3_020, 4)),
        *net_rx(4_000, queued(4_015, 5), received(4_020, 5)),
        *net_rx(5_000, received(5_020, 6), received(5_060, 6)),
    ]
    others = [copied(300, 1), copied(1_300, 2), queued(2_500, 4), copied(5_300, 6)]
    timeline = drawn(tmp_path, client, others)
    assert owned(timeline) == {
        ("client", "raiser"): 91,
        ("server", "packet"): 50,
        ("other", "wake-up"): 50,
        ("other", "packet"): 100 + 50,
        ("(unknown)", "unknown"): 100 + 50,
    }
    [pair] = traffic_pairs(timeline).to_dict("records")
    assert (pair["sender_comm"], pair["receiver_comm"]) == ("client", "server")
    assert (pair["units"], pair["ns"], pair["by_packet_share"]) == (1, 91, 1.0)


def test_a_nanosecond_that_does_not_divide_is_not_lost(tmp_path: Path) -> None:
    inside = [received(1_020, 1), received(1_050, 2), received(1_070, 3)]
    others = [copied(1_300, 1), copied(2_300, 2), copied(2_400, 3)]
    assert owned(drawn(tmp_path, net_rx(1_000, *inside), others)) == {
        ("server", "packet"): 34,
        ("other", "packet"): 66,
    }


READY = 0x7000
# Of a socket's announcements some wake a task; the last one finds its reader awake.
SOCKETS: dict[str, tuple[tuple[h.Task, ...], tuple[str, str]]] = {
    "that wakes one task is that task's": ((SERVER, SERVER), ("server", "socket")),
    "that wakes several is nobody's": ((SERVER, OTHER), ("(unknown)", "unknown")),
    "that wakes servants of softirqs is nobody's": ((KSOFTIRQD,), ("(unknown)", "unknown")),
}


@pytest.mark.parametrize(("woken", "owner"), SOCKETS.values(), ids=SOCKETS)
def test_a_socket(woken: tuple[h.Task, ...], owner: tuple[str, str], tmp_path: Path) -> None:
    client: list[h.Happening] = []
    for place, task in enumerate(woken, 1):
        at = 1_000 * place
        client += net_rx(at, h.DataReady(at + 50, READY), h.Waking(at + 60, task, 1))
    last = net_rx(4_000, h.DataReady(4_050, READY))
    found = owned(drawn(tmp_path, [*client, *last], []))
    before = owned(drawn(tmp_path, client, []))
    assert found.pop(owner) - before.pop(owner, 0) == 100
    assert found == before


# A Unix socket's buffer at the same address, copied to somebody else.
def test_the_socket_is_believed_against_the_buffer(tmp_path: Path) -> None:
    first = net_rx(1_000, received(1_020, 1), h.DataReady(1_050, READY), h.Waking(1_060, SERVER, 1))
    second = net_rx(3_000, received(3_020, 2), h.DataReady(3_050, READY))
    timeline = drawn(tmp_path, [*first, *second], [copied(3_300, 2)])
    assert owned(timeline) == {("server", "socket"): 200}


def test_polls_of_threads_are_in_the_sum_and_nobodys(tmp_path: Path) -> None:
    thread = [h.Switch(1_000, NAPI_THREAD), h.NapiPoll(1_500, "eth0", 9), h.Switch(2_000, CLIENT)]
    timeline = drawn(tmp_path, thread, [])
    [(owner, ns)] = owned(timeline).items()
    assert owner == ("(unknown)", "unknown")
    assert ns > 0


# The first is between a client and a server; the last packets of the second are at addresses that
# nobody used again; the third's are copied.
PIECES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "whole": ("local-migrations", ()),
    "its end": ("local-regression-traced/loopback-udp-defer0-rpson-twocpu-1", (0.1,)),
    "part": ("flows/tcp-flows2-1", (0.1, 0.18, [1])),
}


@pytest.mark.parametrize(("name", "window"), PIECES.values(), ids=PIECES)
def test_pieces_say_the_same(
    name: str, window: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = f"{name}.netcost.tar.zst"
    whole = traffic(kept(sample).timeline(*window))
    take_in_parts(monkeypatch, 1_000)
    capture = netcost.open_capture(SAMPLES / sample)
    for one, other in zip(traffic(capture.timeline(*window)), whole, strict=True):
        pd.testing.assert_frame_equal(one, other)


# What was stolen from a victim for its own packets: they come by RPS's interrupt to the CPU on
# which their receiver runs.

MINE, THEIRS, NOBODYS = 0x1000, 0x2000, 0x3000
ECHO = h.Task(700, "echo")
WOKEN = {MINE: UDPSINK, THEIRS: ECHO}
OWN = ["stolen_own_ns", "stolen_own_max_ns"]


# | IPI raises | NET_RX 100 ns: data on a socket, whose owner wakes unless it runs |
def packet(now: int, socket: int, wakes: bool = True) -> list[h.Happening]:
    return [
        h.VectorEntry(now, "call_function_single"),
        h.SoftirqRaise(now + 5, NET_RX),
        h.VectorExit(now + 10, "call_function_single"),
        h.SoftirqEntry(now + 10, NET_RX),
        h.DataReady(now + 60, socket),
        *([h.Waking(now + 62, WOKEN[socket])] if wakes else []),
        h.NapiPoll(now + 100, "(no_device)"),
        h.SoftirqExit(now + 110, NET_RX),
    ]


# On top of openssl 4 for udpsink and 2 for echo; on top of udpsink 5 for itself, 2 for echo and 1
# on a socket that never woke anyone.
def from_sockets(path: Path, *formats: Any) -> netcost.Timeline:
    told: list[h.Happening] = []
    for now, socket in zip(range(1_000, 7_000, 1_000), [MINE] * 4 + [THEIRS] * 2, strict=True):
        told += packet(now, socket)
    told.append(h.Switch(7_000, UDPSINK))
    sockets = [MINE] * 5 + [THEIRS] * 2 + [NOBODYS]
    for now, socket in zip(range(8_000, 16_000, 1_000), sockets, strict=True):
        told += packet(now, socket, wakes=socket == THEIRS)
    drawing = cpu(0, *told, h.Switch(20_000, OPENSSL), task=OPENSSL)
    taken = Recording((drawing,), formats=(*FORMATS, *formats), known=(OPENSSL, UDPSINK, ECHO))
    return netcost.open_capture(taken.write(path / "perf.data")).timeline()


def test_own_traffic_that_came_by_rps_is_told_apart(tmp_path: Path, netcost: Netcost) -> None:
    timeline = from_sockets(tmp_path, SK_DATA_READY)
    by: Any
    for by in ("comm", "tid", "device"):
        answer = stolen(timeline, by=by)
        frame = answer.victims.reset_index().set_index("comm")
        softirqs = answer.by_softirq.set_index(["comm", "action"])["stolen_max_ns"]
        assert softirqs["udpsink", "NET_RX"] == 800
        assert frame.loc["udpsink", OWN].tolist() == [500, 600]
        assert frame.loc["openssl", OWN].tolist() == [0, 0]
    # Of a CPU: whoever was current, and its own packets.
    assert stolen(timeline, by="cpu").victims.loc[0, OWN].tolist() == [500, 600]
    path, head = str(tmp_path / "perf.data"), timeline.ask.stolen_time.headline
    table, words = netcost("stolen", path).out, head(victim="udpsink").words
    assert "by its own" in table
    assert all(re.search(r"500 ns\s–\s600 ns", text) for text in (table, words))
    assert "own traffic" in words
    assert "own traffic" in netcost("stolen", path, "--victim", "udpsink").out
    assert "own traffic" not in head(victim="openssl").words


def test_without_sockets_and_packets_nothing_is_said_of_owners(
    tmp_path: Path, netcost: Netcost
) -> None:
    frame = stolen(from_sockets(tmp_path)).victims
    assert frame[OWN].isna().all(axis=None)
    assert "by its own" not in netcost("stolen", str(tmp_path / "perf.data")).out

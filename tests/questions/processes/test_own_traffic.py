# What was stolen from a victim for its own packets: they come by RPS's interrupt to the CPU on
# which their receiver runs.

import re
from pathlib import Path
from typing import Any

import netcost_analysis as analysis
from support.asked import stolen
from support.perfdata import Recording, cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS, SK_DATA_READY
from support.run_cli import Netcost
from support.told import NET_RX, OPENSSL, UDPSINK

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
def drawn(path: Path, *formats: Any) -> analysis.Timeline:
    told: list[h.Happening] = []
    for now, socket in zip(range(1_000, 7_000, 1_000), [MINE] * 4 + [THEIRS] * 2, strict=True):
        told += packet(now, socket)
    told.append(h.Switch(7_000, UDPSINK))
    sockets = [MINE] * 5 + [THEIRS] * 2 + [NOBODYS]
    for now, socket in zip(range(8_000, 16_000, 1_000), sockets, strict=True):
        told += packet(now, socket, wakes=socket == THEIRS)
    drawing = cpu(0, *told, h.Switch(20_000, OPENSSL), task=OPENSSL)
    taken = Recording((drawing,), formats=(*FORMATS, *formats), known=(OPENSSL, UDPSINK, ECHO))
    return analysis.open_capture(taken.write(path / "perf.data")).timeline()


def test_own_traffic_that_came_by_rps_is_told_apart(tmp_path: Path, netcost: Netcost) -> None:
    timeline = drawn(tmp_path, SK_DATA_READY)
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
    assert "of it own" in table
    assert all(re.search(r"500 ns\s–\s600 ns", text) for text in (table, words))
    assert "own traffic" in words
    assert "own traffic" in netcost("stolen", path, "--victim", "udpsink").out
    assert "own traffic" not in head(victim="openssl").words


def test_without_sockets_and_packets_nothing_is_said_of_owners(
    tmp_path: Path, netcost: Netcost
) -> None:
    frame = stolen(drawn(tmp_path)).victims
    assert frame[OWN].isna().all(axis=None)
    assert "of it own" not in netcost("stolen", str(tmp_path / "perf.data")).out

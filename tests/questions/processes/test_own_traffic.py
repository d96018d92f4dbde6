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


# | IPI raises | NET_RX 100 ns: data on a socket, whose owner wakes unless it runs |
def packet(now: int, socket: int, wakes: bool = True) -> list[h.Happening]:
    woken = [h.Waking(now + 62, WOKEN[socket])] if wakes else []
    return [
        h.VectorEntry(now, "call_function_single"),
        h.SoftirqRaise(now + 5, NET_RX),
        h.VectorExit(now + 10, "call_function_single"),
        h.SoftirqEntry(now + 10, NET_RX),
        h.DataReady(now + 60, socket),
        *woken,
        h.NapiPoll(now + 100, "(no_device)"),
        h.SoftirqExit(now + 110, NET_RX),
    ]


# On top of openssl 4 for udpsink and 2 for echo; on top of udpsink 5 for itself, 2 for echo and 1
# on a socket that never woke anyone.
def drawn(path: Path, *formats: object) -> analysis.Timeline:
    told: list[h.Happening] = []
    for place, now in enumerate(range(1000, 7000, 1000)):
        told += packet(now, MINE if place < 4 else THEIRS)
    told.append(h.Switch(7000, UDPSINK))
    for place, now in enumerate(range(8000, 16000, 1000)):
        told += packet(
            now, (MINE, THEIRS, NOBODYS)[(place > 4) + (place > 6)], wakes=5 <= place < 7
        )
    drawing = cpu(0, *told, h.Switch(20_000, OPENSSL), task=OPENSSL)
    known = (OPENSSL, UDPSINK, ECHO)
    taken = Recording((drawing,), formats=(*FORMATS, *formats), known=known)  # type: ignore[arg-type]
    return analysis.open_capture(taken.write(path / "perf.data")).timeline()


OWN = ["stolen_own_ns", "stolen_own_max_ns"]


def test_own_traffic_that_came_by_rps_is_told_apart(tmp_path: Path) -> None:
    timeline = drawn(tmp_path, SK_DATA_READY)
    by: Any
    for by in ("comm", "tid", "device"):
        found = stolen(timeline, by=by)
        frame = found.victims.reset_index().set_index("comm")
        softirqs = found.by_softirq.set_index(["comm", "action"])["stolen_max_ns"]
        assert softirqs["udpsink", "NET_RX"] == 800
        assert frame.loc["udpsink", OWN].tolist() == [500, 600]
        assert frame.loc["openssl", OWN].tolist() == [0, 0]
    # Of a CPU: whoever was current, and its own packets.
    assert stolen(timeline, by="cpu").victims.loc[0, OWN].tolist() == [
        500,
        600,
    ]


def test_without_sockets_and_packets_nothing_is_said_of_owners(
    tmp_path: Path, netcost: Netcost
) -> None:
    frame = stolen(drawn(tmp_path)).victims
    assert frame[OWN].isna().all(axis=None)
    assert "of it own" not in netcost("stolen", str(tmp_path / "perf.data")).out


def test_the_command_and_the_headline_say_it(tmp_path: Path, netcost: Netcost) -> None:
    timeline = drawn(tmp_path, SK_DATA_READY)
    path, head = str(tmp_path / "perf.data"), timeline.ask.stolen_time.headline
    table = netcost("stolen", path).out
    assert "of it own" in table
    for text in (table, head(victim="udpsink").words):
        assert re.search(r"500 ns\s–\s600 ns", text)
    for text in (netcost("stolen", path, "--victim", "udpsink").out, head(victim="udpsink").words):
        assert "own traffic" in text
    assert "own traffic" not in head(victim="openssl").words

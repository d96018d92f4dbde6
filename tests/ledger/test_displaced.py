# Displaced: the time a task was runnable, but not running, while scheduled network work had the CPU
# that it waited for.

import struct
from pathlib import Path

import pytest

from support.native_tables import Answer
from support.nic_captures import GUESTS, Case
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.told import KSOFTIRQD, NET_RX, OPENSSL, UDPSINK, answer

FINISHED_ROUND, FINISHED_INIT = 68, 82
KNOWN = (OPENSSL, KSOFTIRQD)


def displaced(got: Answer) -> dict[tuple[int, str], int]:
    return {(row["cpu"], row["comm"]): row["ns"] for row in got.displaced}


# Twenty times, on a CPU whose ring is written out after each, or only at the end:
#
# openssl |switch  ksoftirqd/0                          |switch  openssl ...
#         100      |110 softirq_entry .. 410 exit|      420
#         .        |<---- 300 displaced -------->|
#         |<------------ 320 waited ------------------->|
#
# How often perf flushed its rings is nothing that happened on the machine.
@pytest.mark.parametrize("flushes", [False, True])
def test_flushes_displace_nobody(tmp_path: Path, flushes: bool) -> None:
    told: list[h.Happening] = []
    for start in range(0, 20_000, 1000):
        told += [
            h.Switch(start + 100, KSOFTIRQD),
            h.SoftirqEntry(start + 110, NET_RX),
            h.NapiPoll(start + 400),
            h.SoftirqExit(start + 410, NET_RX),
            h.Switch(start + 420, OPENSSL, 1),
        ]
        told += [h.Flush(start + 430)] if flushes else []
    told.append(h.Waking(30_000, UDPSINK))
    got = answer(tmp_path, cpu(0, *told, task=OPENSSL), known=KNOWN)
    assert displaced(got) == {(0, "openssl"): 20 * 300}
    assert sum(row["wait_ns"] or 0 for row in got.slices if row["comm"] == "openssl") == 20 * 320


# The same with the flush in the middle of what displaces, and of one long wait.
#
# openssl |switch  ksoftirqd/0                                    |switch  openssl
#         100      |110 NET_RX 410| flush |510 NET_RX .flush. 910|  920
def test_a_flush_in_the_middle_of_a_wait(tmp_path: Path) -> None:
    told = [
        h.Switch(100, KSOFTIRQD),
        h.SoftirqEntry(110, NET_RX),
        h.NapiPoll(400),
        h.SoftirqExit(410, NET_RX),
        h.SoftirqEntry(510, NET_RX),
        h.NapiPoll(700),
        h.SoftirqExit(910, NET_RX),
        h.Switch(920, OPENSSL, 1),
        h.Waking(3000, UDPSINK),
        h.Waking(4000, UDPSINK),
    ]
    for places in ([], [2], [4], [6], [2, 5, 8], range(1, len(told) + 1)):
        flushed = [
            one
            for place, what in enumerate(told, 1)
            for one in ([what, h.Flush(what.at)] if place in places else [what])
        ]
        got = answer(tmp_path, cpu(0, *flushed, task=OPENSSL), known=KNOWN)
        assert displaced(got) == {(0, "openssl"): 300 + 400}, places


# The same file with every FINISHED_ROUND turned into another record that says nothing.
def without_rounds(data: bytes) -> bytes:
    result = bytearray(data)
    at, size = struct.unpack_from("<QQ", data, 40)
    end, rounds = at + size, 0
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == FINISHED_ROUND:
            struct.pack_into("<I", result, at, FINISHED_INIT)
            rounds += 1
        at += length
    assert rounds > 2
    return bytes(result)


@pytest.mark.parametrize("guest", GUESTS)
def test_flushes_of_real_captures_displace_nobody(
    unpacked: Path, tmp_path: Path, guest: str
) -> None:
    path = Case(unpacked, guest, "p_main").path
    control = tmp_path / "perf.data"
    control.write_bytes(without_rounds(path.read_bytes()))
    tables = ["slices", "displaced"]
    flushed, whole = Answer(path, tables), Answer(control, tables)
    assert flushed.displaced == whole.displaced != []
    assert flushed.slices == whole.slices


# openssl |switch  ksoftirqd/0  |switch  openssl                              (5 lost) LOST |
#         100      110..410     420      |irq 40000|                  40010 ... 50000
#
# What was over before the loss is not in doubt.
@pytest.mark.parametrize("lost", [False, True])
def test_a_loss_takes_nothing_from_waits_that_were_over(tmp_path: Path, lost: bool) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, KSOFTIRQD),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(400),
            h.SoftirqExit(410, NET_RX),
            h.Switch(420, OPENSSL, 1),
            h.IrqEntry(40_000, 32),
            h.IrqExit(40_010, 32),
            *([h.Lost(50_000, 5)] if lost else []),
            h.IrqEntry(60_000, 32),
            h.IrqExit(60_010, 32),
            task=OPENSSL,
        ),
        known=KNOWN,
    )
    assert displaced(got) == {(0, "openssl"): 300}
    waits = {row["in_ns"]: row["wait_ns"] for row in got.slices if row["comm"] == "openssl"}
    assert waits[420] == 320


# openssl |switch  ksoftirqd/0 ... (5 lost) LOST 300 ... |switch  openssl
#         100                                            920
# Whether it waited all along, nobody knows.
def test_a_wait_across_a_loss_is_not_counted(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, KSOFTIRQD),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(200),
            h.SoftirqExit(210, NET_RX),
            h.Lost(300, 5),
            h.SoftirqEntry(310, NET_RX),
            h.NapiPoll(500),
            h.SoftirqExit(510, NET_RX),
            h.Switch(920, OPENSSL, 1),
            h.Waking(2000, UDPSINK),
            task=OPENSSL,
        ),
        known=KNOWN,
    )
    assert displaced(got) == {}
    assert [row["wait_ns"] for row in got.slices if row["in_ns"] == 920] == [None]


# CPU 0  openssl |switch  ksoftirqd/0: NET_RX 110 ......................... 4010
#                100      |<---------- openssl waits here ------->|
# CPU 1  idle                                                     |migrate |openssl
#                                                                 4000     4010
# It was CPU 0 that it waited for, and CPU 0's work that displaced it.
def moved(at: int = 4000) -> tuple[Cpu, Cpu]:
    return (
        cpu(
            0,
            h.Switch(100, KSOFTIRQD),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(4000),
            h.SoftirqExit(4010, NET_RX),
            h.Waking(9420, UDPSINK),
            task=OPENSSL,
        ),
        cpu(
            1, h.MigrateTask(at, OPENSSL, 0, 1), h.Switch(at + 10, OPENSSL), h.Waking(9420, UDPSINK)
        ),
    )


def test_displaced_time_is_of_the_cpu_that_was_waited_for(tmp_path: Path) -> None:
    got = answer(tmp_path, *moved(), known=KNOWN)
    assert displaced(got) == {(0, "openssl"): 3890}


# Half of the wait behind ksoftirqd/0, half behind ksoftirqd/1.
#
# CPU 0  openssl |switch  ksoftirqd/0: NET_RX 110 ................. 4010
# CPU 1  ksoftirqd/1: NET_RX 50 ............................. 3010 |switch openssl 3020
#                          |migrate 2000
def test_a_wait_for_two_cpus_is_of_both(tmp_path: Path) -> None:
    other = h.Task(21, "ksoftirqd/1")
    first, _ = moved()
    got = answer(
        tmp_path,
        first,
        cpu(
            1,
            h.SoftirqEntry(50, NET_RX),
            h.MigrateTask(2000, OPENSSL, 0, 1),
            h.NapiPoll(3000),
            h.SoftirqExit(3010, NET_RX),
            h.Switch(3020, OPENSSL, 1),
            h.Waking(9420, UDPSINK),
            task=other,
        ),
        known=(*KNOWN, other),
    )
    assert displaced(got) == {(0, "openssl"): 2000 - 110, (1, "openssl"): 3010 - 2000}


# openssl |switch  ksoftirqd/0: NET_RX 110 .............. 9410 |waking: the recording ends at 9420
#         100      openssl is waiting still
def test_a_wait_that_is_open_at_the_end_counts(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, KSOFTIRQD),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(9400),
            h.SoftirqExit(9410, NET_RX),
            h.Waking(9420, UDPSINK),
            task=OPENSSL,
        ),
        known=KNOWN,
    )
    assert displaced(got) == {(0, "openssl"): 9300}


# openssl |switch  ksoftirqd/0                          |switch  openssl
#         100      |110 NET_RX ............. 410|       420      1000
#                      [ 200 window 300 ]
@pytest.mark.parametrize(
    ("window", "ns"),
    [({"start_ns": 200, "end_ns": 300}, 100), ({"start_ns": 500, "end_ns": 900}, 0)],
)
def test_displaced_time_lies_in_the_window(tmp_path: Path, window: dict[str, int], ns: int) -> None:
    told = recording(
        cpu(
            0,
            h.Switch(100, KSOFTIRQD),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(400),
            h.SoftirqExit(410, NET_RX),
            h.Switch(420, OPENSSL, 1),
            h.Waking(1000, UDPSINK),
            task=OPENSSL,
        ),
        known=KNOWN,
    )
    got = Answer(told.write(tmp_path / "perf.data"), ["displaced"], **window)
    assert sum(row["ns"] for row in got.displaced) == ns

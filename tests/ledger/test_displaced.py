# Displaced: the time a task was runnable, but not running, while scheduled network work had the CPU
# that it waited for.

import struct
from pathlib import Path

import pytest

from support.drawn import happenings, ledger_of, recorded
from support.native_tables import Answer
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.shared import GUESTS, Case
from support.told import OPENSSL

FINISHED_ROUND, FINISHED_INIT = 68, 82
WAITED = "100 switch ksoftirqd/0, 110 NET_RX, 400 poll, 410 end NET_RX, 420 switch openssl asleep, "
# openssl is preempted, and its CPU is ksoftirqd's until 4010.
LONG = "CPU 0 openssl: 100 switch ksoftirqd/0, 110 NET_RX, 4000 poll, 4010 end NET_RX, "


def displaced(got: Answer) -> dict[tuple[int, str], int]:
    return {(row["cpu"], row["comm"]): row["ns"] for row in got.displaced if row["ns"]}


def waits(got: Answer) -> dict[int, int | None]:
    return {row["in_ns"]: row["wait_ns"] for row in got.slices if row["comm"] == "openssl"}


@pytest.mark.parametrize(
    ("told", "by_cpu", "waited"),
    [
        # What ksoftirqd does between softirqs could be for any of them and is not called network.
        (
            "CPU 0 openssl: 100 waking ksoftirqd/0, 101 wakeup ksoftirqd/0, "
            "200 switch ksoftirqd/0, 210 NET_RX, 290 poll eth0 64, 295 end NET_RX, "
            "300 switch openssl asleep, 400 waking udpsink 1",
            *({0: 85}, {300: 100}),
        ),
        # What was over before a loss is not in doubt.
        (
            f"CPU 0 openssl: {WAITED} 40_000 irq 32, 40_010 end irq 32, 50_000 lost 5, "
            "60_000 irq 32, 60_010 end irq 32",
            *({0: 300}, {420: 320}),
        ),
        # Whether it waited all along, nobody knows.
        (
            "CPU 0 openssl: 100 switch ksoftirqd/0, 110 NET_RX, 200 poll, 210 end NET_RX, "
            "300 lost 5, 310 NET_RX, 500 poll, 510 end NET_RX, 920 switch openssl asleep, "
            "2000 waking udpsink",
            *({}, {920: None}),
        ),
        # It was CPU 0 that it waited for, and CPU 0's work that displaced it.
        (
            f"{LONG} 9420 waking udpsink "
            "CPU 1: 4000 migrate openssl 0 1, 4010 switch openssl, 9420 waking udpsink",
            *({0: 3890}, {4010: 3910}),
        ),
        (
            f"{LONG} 9420 waking udpsink "
            "CPU 1 ksoftirqd/1=21: 50 NET_RX, 2000 migrate openssl 0 1, 3000 poll, "
            "3010 end NET_RX, 3020 switch openssl asleep, 9420 waking udpsink",
            *({0: 2000 - 110, 1: 3010 - 2000}, {3020: 2920}),
        ),
        # The recording ends while it waits.
        (f"{LONG} 9420 waking udpsink", {0: 3900}, {}),
        # It may have run on the CPU that was not recorded.
        *(
            (
                "CPU 0 openssl: 100 switch ksoftirqd/0, 110 NET_RX, 190 end NET_RX, "
                f"195 migrate openssl 0 {cpu}, 197 migrate openssl {cpu} 0, "
                "200 switch openssl asleep, 900 waking udpsink "
                "CPU 1: 50 waking udpsink, 900 waking udpsink",
                *({0: 80} if cpu == 1 else {}, {}),
            )
            for cpu in (1, 2)
        ),
    ],
    ids=[
        *("once", "before a loss", "across a loss", "moved", "on two CPUs", "open at the end"),
        *("by a recorded CPU", "by another CPU"),
    ],
)
def test_who_waits_is_displaced_by_network_work(
    tmp_path: Path, told: str, by_cpu: dict[int, int], waited: dict[int, int | None]
) -> None:
    got = ledger_of(tmp_path, told)
    assert displaced(got) == {(cpu, "openssl"): ns for cpu, ns in by_cpu.items()}
    assert waited.items() <= waits(got).items()


# How often perf flushed its rings is nothing that happened on the machine.
@pytest.mark.parametrize("flush", ["", "430 flush"])
def test_flushes_displace_nobody(tmp_path: Path, flush: str) -> None:
    told = happenings(WAITED + flush, range(0, 20_000, 1000))
    got = ledger_of(tmp_path, cpu(0, *told, h.Waking(30_000, OPENSSL), task=OPENSSL))
    assert displaced(got) == {(0, "openssl"): 20 * 300}
    assert sum(waited or 0 for waited in waits(got).values()) == 20 * 320


def test_a_flush_in_the_middle_of_a_wait(tmp_path: Path) -> None:
    told = happenings(
        "100 switch ksoftirqd/0, 110 NET_RX, 400 poll, 410 end NET_RX, 510 NET_RX, 700 poll, "
        "910 end NET_RX, 920 switch openssl asleep, 3000 waking udpsink, 4000 waking udpsink"
    )
    for places in ([], [2], [4], [6], [2, 5, 8], range(1, len(told) + 1)):
        flushed = [
            one
            for place, what in enumerate(told, 1)
            for one in ([what, h.Flush(what.at)] if place in places else [what])
        ]
        got = ledger_of(tmp_path, cpu(0, *flushed, task=OPENSSL))
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


@pytest.mark.parametrize(("start_ns", "end_ns", "ns"), [(200, 300, 100), (500, 900, 0)])
def test_displaced_time_lies_in_the_window(
    tmp_path: Path, start_ns: int, end_ns: int, ns: int
) -> None:
    path = recorded(f"CPU 0 openssl: {WAITED} 1000 waking udpsink").write(tmp_path / "perf.data")
    got = Answer(path, ["displaced"], start_ns=start_ns, end_ns=end_ns)
    assert sum(row["ns"] for row in got.displaced) == ns

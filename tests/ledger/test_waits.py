# A wait runs from the wake-up to the switch-in that ends it, and nobody waits who was running.

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import netcost_analysis
from netcost_analysis.questions.lifetimes import NAMES
from support.asked import lifetimes, waited_for
from support.drawn import happenings, ledger_of, recorded
from support.host import Fresh, examples
from support.narrator import recordings
from support.native_tables import Answer
from support.perfdata import Recording, cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.shared import GUESTS, Case
from support.told import OPENSSL, UDPSINK


@pytest.mark.parametrize(
    ("told", "tid", "wait"),
    [
        (
            "CPU 0 openssl: 100 waking udpsink, 101 migrate udpsink 0 1, 102 wakeup udpsink 1, "
            "300 waking openssl CPU 1: 110 switch udpsink, 300 waking openssl",
            *(UDPSINK.tid, (110, 102, 8)),
        ),
        # The first event of CPU 0 witnesses that openssl ran before it: that ended no wait.
        (
            "CPU 0 openssl: 200 switch idle asleep, 900 waking udpsink "
            "CPU 1: 195 waking openssl, 196 wakeup openssl, 900 waking udpsink",
            *(OPENSSL.tid, (195, None, None)),
        ),
        # Since when it ran is unknown, so its wait has no length.
        (
            "CPU 0 openssl: 100 switch idle asleep, 250 unseen switch udpsink, 300 waking openssl, "
            "900 waking openssl CPU 1: 149 waking udpsink, 150 wakeup udpsink, 900 waking udpsink",
            *(UDPSINK.tid, (300, None, None)),
        ),
    ],
    ids=["woken", "ran already", "nobody saw when"],
)
def test_a_wait_ends_with_a_switch_in_that_was_seen(
    tmp_path: Path, told: str, tid: int, wait: tuple[int, int | None, int | None]
) -> None:
    [first] = [row for row in ledger_of(tmp_path, told).slices if row["tid"] == tid]
    assert (first["in_ns"], first["wake_ns"], first["wait_ns"]) == wait


# What openssl did until 3000, or the end, is known where CPU 1 was recorded.
LEAVES = {
    "there and back": "1000 switch udpsink, 1200 migrate openssl 0 1, 2800 migrate openssl 1 0",
    # Pulled from there: that it went there, only CPU 1 could have told.
    "back": "1000 switch udpsink, 2800 migrate openssl 1 0",
    "moved": "1000 switch udpsink, 1200 migrate openssl 0 1",
    "woken": "1000 switch udpsink asleep, 1200 waking openssl 1, 1200 wakeup openssl 1",
}


def life_of_openssl(folder: Path, told: str, is_recorded: bool) -> tuple[Any, Any]:
    other = "CPU 1: 100 waking udpsink, 4000 waking udpsink" if is_recorded else ""
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    path = recorded(f"CPU 0 openssl: {told}, 4000 waking udpsink {other}", formats=formats).write(
        folder / "perf.data"
    )
    timeline = netcost_analysis.open_capture(path).timeline()
    return timeline, lifetimes(timeline).loc["openssl"]


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("is_recorded", [False, True])
def test_what_a_task_did_on_a_cpu_that_was_not_recorded_is_unknown(
    tmp_path: Path, leaves: str, is_recorded: bool
) -> None:
    told = f"{LEAVES[leaves]}, 3000 switch openssl asleep"
    timeline, life = life_of_openssl(tmp_path, told, is_recorded)
    [wait] = [
        row["wait_ns"] for row in Answer(tmp_path / "perf.data").slices if row["in_ns"] == 3000
    ]
    assert life[list(NAMES)].sum() == life["lifetime_max_ns"]
    holders = waited_for(timeline)
    waited = holders[holders["comm"] == "openssl"]["ns"].sum()
    if is_recorded:
        assert (wait, waited, life["waited_others_ns"]) == (2_000 - life["asleep_ns"],) * 3
    else:
        assert wait is None
        assert (waited, life["waited_others_ns"], life["asleep_ns"]) == (0, 0, 0)
        assert life["unaccounted_ns"] == 2_000


@pytest.mark.parametrize("leaves", ["moved", "woken"])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_who_does_not_come_back_from_there_is_not_said_to_wait(
    tmp_path: Path, leaves: str, is_recorded: bool
) -> None:
    told = f"0 waking udpsink, {LEAVES[leaves]}"
    _, life = life_of_openssl(tmp_path, told, is_recorded)
    row = life[["waited_others_ns", "asleep_ns", "unaccounted_ns"]].tolist()
    assert row == ([3_000 - row[1], row[1], 0] if is_recorded else [0, 0, 3_000])


@examples(40)
@given(recordings())
def test_wake_up_and_wait_end_at_the_switch_in(fresh: Fresh, told: Recording) -> None:
    got = Answer(told.write(fresh() / "perf.data"))
    woken = [row for row in got.slices if row["wake_ns"] is not None]
    assert all(row["wake_ns"] + row["wait_ns"] == row["in_ns"] for row in woken)
    assert all(row["wait_ns"] >= 0 for row in woken)


# Displaced: the time a task was runnable, but not running, while scheduled network work had the CPU
# that it waited for.


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


# Why a task changed CPU, as later or earlier events show it, and who held either CPU.


STOPPED = (
    "CPU 0 udpsink: 100 switch migration/0=18, 105 migrate udpsink 0 1, 110 switch idle asleep, "
    "300 waking openssl CPU 1: 90 waking openssl, 150 switch udpsink asleep, {}300 waking openssl"
)


# The stopper thread moves a task that runs: for exec, for a new affinity, or to balance actively.
@pytest.mark.parametrize(
    ("told", "cause", "cpus", "holders"),
    [
        (
            "CPU 0 openssl: 100 waking udpsink, 101 migrate udpsink 0 1, 102 wakeup udpsink 1, "
            "300 waking openssl CPU 1: 110 switch udpsink, 300 waking openssl",
            *("wake-up", (0, 1), (500, 0)),
        ),
        (
            "CPU 0: 100 SCHED, 105 migrate udpsink 1 0, 110 end SCHED, 120 switch udpsink, "
            "200 waking openssl CPU 1 openssl: 90 waking udpsink, 200 waking udpsink",
            *("balance", (1, 0), (500, 0)),
        ),
        (STOPPED.format("160 exec /usr/bin/udpsink udpsink, "), "stopper: exec", (0, 1), (18, 0)),
        (STOPPED.format(""), "stopper", (0, 1), (18, 0)),
    ],
    ids=["wake-up", "balance", "exec", "stopper"],
)
def test_why_a_task_was_moved(
    tmp_path: Path, told: str, cause: str, cpus: tuple[int, int], holders: tuple[int, int]
) -> None:
    got = ledger_of(tmp_path, told)
    [row] = got.migrations
    assert (row["tid"], row["comm"], row["orig_cpu"], row["dest_cpu"]) == (600, "udpsink", *cpus)
    assert (row["cause"].startswith(cause), "exec" in row["cause"]) == (True, "exec" in cause)
    assert (row["orig_holder_tid"], row["dest_holder_tid"]) == holders

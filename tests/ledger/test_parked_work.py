# What was open when its task was switched out, or stands where polls usually do not.

from pathlib import Path

import pytest

from support.drawn import ledger_of
from support.native_tables import Row, duration
from support.told import NAPI_THREAD, NET_RX, TIMER


def polled(rows: list[Row]) -> list[tuple[int | None, int, int | None]]:
    return [(row["start_ns"], row["end_ns"], row["self_ns"]) for row in rows]


# The poll that was under way on CPU 0 ended on CPU 1. The one at 10_010 began when the thread was
# switched in for it.
@pytest.mark.parametrize("flush", ["1000 flush, ", ""], ids=["flushed", "in one flush"])
def test_a_napi_thread_comes_back_with_nothing_left_over(tmp_path: Path, flush: str) -> None:
    got = ledger_of(
        tmp_path,
        f"CPU 0 openssl: 100 switch napi/eth0-8193, 200 switch openssl, {flush}"
        "10_000 switch napi/eth0-8193, 10_010 poll, 10_020 switch openssl asleep, "
        "11_000 irq 32, 11_001 end irq 32 "
        "CPU 1: 250 migrate napi/eth0-8193 0 1, 300 switch napi/eth0-8193, 400 poll, "
        "500 switch idle asleep, 11_000 irq 33, 11_001 end irq 33",
    )
    assert polled(got.on(0, "polls")) == [(10_000, 10_010, 10)]
    # At least what ran on CPU 1; all of it where the piece on CPU 0 is told from other work.
    [moved] = got.on(1, "polls")
    assert (moved["start_ns"], moved["self_ns"]) in [(300, 100), (100, 200)]
    # No stretch is a poll's that no row has.
    in_segments = sum(duration(row) for row in got.segments if row["context"] == "poll")
    assert sum(row["self_ns"] for row in got.polls) == in_segments
    assert {row["cost_class"] for row in got.on(0) if row["tid"] == NAPI_THREAD.tid} == {
        "scheduled"
    }


@pytest.mark.parametrize(
    ("told", "poll", "pieces"),
    [
        # Preempted and resumed on the same CPU, it is one.
        (
            "CPU 0 openssl: 100 switch napi/eth0-8193, 200 switch openssl, "
            "300 switch napi/eth0-8193, 400 poll, 410 switch openssl asleep, 500 waking udpsink",
            *((100, 400, 200), [(100, 200), (300, 400)]),
        ),
        # Only what came before it was away to CPU 1 ended there.
        (
            "CPU 0 openssl: 100 switch napi/eth0-8193, 200 switch openssl, "
            "1000 switch napi/eth0-8193, 1050 switch openssl, 1100 switch napi/eth0-8193, "
            "1110 poll, 1200 switch openssl asleep, 2000 waking udpsink "
            "CPU 1 openssl: 300 switch napi/eth0-8193, 400 switch openssl, 2000 waking udpsink",
            *((1000, 1110, 60), [(1000, 1050), (1100, 1110)]),
        ),
    ],
    ids=["resumed", "moved in between"],
)
def test_a_preempted_poll_is_one_poll(
    tmp_path: Path, told: str, poll: tuple[int, int, int], pieces: list[tuple[int, int]]
) -> None:
    got = ledger_of(tmp_path, told)
    assert polled(got.polls) == [poll]
    found = [(row["start_ns"], row["end_ns"]) for row in got.on(0) if row["context"] == "poll"]
    assert found == pieces


# On PREEMPT_RT a softirq waits for its task. Where the recording does not see that again, or
# records are lost meanwhile, its time is in the segments, so it is in a row too.
@pytest.mark.parametrize(
    ("told", "rows"),
    [
        (
            "100 NET_RX, 150 poll, 200 switch udpsink, 900 waking udpsink",
            {NET_RX: (100, 50, 1, "openssl")},
        ),
        (
            "100 TIMER, 200 switch udpsink, 210 NET_RX, 300 switch idle, 500 lost 3, "
            "900 waking udpsink",
            {TIMER: (100, 100, 0, "openssl"), NET_RX: (90, 90, 0, "udpsink")},
        ),
    ],
    ids=["never", "after a loss"],
)
def test_a_softirq_that_is_not_resumed_has_a_row(
    tmp_path: Path, told: str, rows: dict[int, tuple[int, int, int, str]]
) -> None:
    got = ledger_of(tmp_path, f"CPU 0 openssl: {told}")
    assert [row["exit_ns"] for row in got.softirqs] == [None] * len(rows)
    assert {
        row["vec"]: (row["self_ns"], row["outside_polls_ns"], row["polls"], row["comm"])
        for row in got.softirqs
    } == rows


# A console that prints over the network polls the device wherever it is, inside an interrupt too.
# That poll has no begin; the interrupt is one.
def test_a_netpoll_inside_a_hardirq_leaves_it_whole(tmp_path: Path) -> None:
    got = ledger_of(
        tmp_path, "CPU 0 openssl: 100 irq 32, 150 poll eth0 0 0, 200 end irq 32, 300 waking udpsink"
    )
    assert got.lane(0) == [(100, 200, "hardirq"), (200, 300, "task")]
    assert [(row["entry_ns"], row["exit_ns"], row["self_ns"]) for row in got.hardirqs] == [
        (100, 200, 100)
    ]
    assert polled(got.polls) == [(None, 150, None)]
    counted = ("disagreements", "orphan_exits", "polls_without_begin")
    assert [got.summary[name] for name in counted] == [0, 0, 1]


# Nor does it end or shorten the poll of the softirq beneath.
def test_a_netpoll_inside_a_hardirq_is_no_poll_of_the_softirq(tmp_path: Path) -> None:
    got = ledger_of(
        tmp_path,
        "CPU 0 openssl: 100 NET_RX, 110 irq 32, 115 poll eth1 0 0 0x20, 120 end irq 32, "
        "130 poll eth0 8, 140 end NET_RX, 300 waking udpsink",
    )
    assert got.lane(0, 0, "context", "device")[:4] == [
        (100, 110, "poll", "eth0"),
        (110, 120, "hardirq", got.hardirqs[0]["device"]),
        (120, 130, "poll", "eth0"),
        (130, 140, "softirq", None),
    ]
    [row] = got.softirqs
    assert (row["self_ns"], row["outside_polls_ns"], row["polls"], row["packets"]) == (30, 10, 1, 8)

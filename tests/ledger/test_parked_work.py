# What was open when its task was switched out, or stands where polls usually do not.

from pathlib import Path

from support.native_tables import duration
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.told import NAPI_THREAD, NET_RX, OPENSSL, TIMER, UDPSINK, answer


# CPU 0  |napi/eth0 (poll)|openssl ...                     |napi/eth0: poll |task|openssl
#        100              200: preempted, runnable         10_000   10_010  10_020
# CPU 1           |migrate |napi/eth0: poll |task|
#                 250      300   400        400  500: sleeps
#
# The poll that was under way on CPU 0 ended on CPU 1. The one at 10_010 began when the thread was
# switched in for it.
def moving_thread(*flushes: h.Flush) -> tuple[Cpu, Cpu]:
    return (
        cpu(
            0,
            h.Switch(100, NAPI_THREAD),
            h.Switch(200, OPENSSL, 0),
            *flushes,
            h.Switch(10_000, NAPI_THREAD, 0),
            h.NapiPoll(10_010),
            h.Switch(10_020, OPENSSL, 1),
            h.IrqEntry(11_000, 32),
            h.IrqExit(11_001, 32),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.MigrateTask(250, NAPI_THREAD, 0, 1),
            h.Switch(300, NAPI_THREAD),
            h.NapiPoll(400),
            h.Switch(500, h.idle(1), 1),
            h.IrqEntry(11_000, 33),
            h.IrqExit(11_001, 33),
        ),
    )


def test_a_napi_thread_comes_back_with_nothing_left_over(tmp_path: Path) -> None:
    got = answer(tmp_path, *moving_thread(h.Flush(1000)), known=(OPENSSL, NAPI_THREAD))
    last = [row for row in got.polls if row["cpu"] == 0]
    assert [(row["start_ns"], row["end_ns"], row["self_ns"]) for row in last] == [
        (10_000, 10_010, 10)
    ]
    [moved] = [row for row in got.polls if row["cpu"] == 1]
    # At least what ran on CPU 1; all of it where the piece on CPU 0 is told from other work.
    assert (moved["start_ns"], moved["self_ns"]) in [(300, 100), (100, 200)]
    # Polls add up to the segments: no stretch is a poll's that no row has.
    in_segments = sum(duration(row) for row in got.segments if row["context"] == "poll")
    assert sum(row["self_ns"] for row in got.polls) == in_segments
    assert {row["cost_class"] for row in got.on(0) if row["tid"] == NAPI_THREAD.tid} == {
        "scheduled"
    }


def test_a_napi_thread_comes_back_within_one_flush(tmp_path: Path) -> None:
    got = answer(tmp_path, *moving_thread(), known=(OPENSSL, NAPI_THREAD))
    last = [row for row in got.polls if row["cpu"] == 0]
    assert [(row["start_ns"], row["self_ns"]) for row in last] == [(10_000, 10)]


# CPU 0  |napi (poll)|openssl ...        |napi: poll |openssl |napi: ... poll|
#        100         200                 1000        1050     1100          1110
# CPU 1        |napi: poll    |openssl
#              300            400: preempted
#
# Only what came before it was away to CPU 1 ended there.
def test_a_poll_that_was_preempted_again_after_a_move_keeps_what_is_its_own(
    tmp_path: Path,
) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, NAPI_THREAD),
            h.Switch(200, OPENSSL, 0),
            h.Switch(1000, NAPI_THREAD, 0),
            h.Switch(1050, OPENSSL, 0),
            h.Switch(1100, NAPI_THREAD, 0),
            h.NapiPoll(1110),
            h.Switch(1200, OPENSSL, 1),
            h.Waking(2000, UDPSINK),
            task=OPENSSL,
        ),
        cpu(
            1,
            h.Switch(300, NAPI_THREAD),
            h.Switch(400, OPENSSL, 0),
            h.Waking(2000, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL, NAPI_THREAD),
    )
    [poll] = got.polls
    assert (poll["start_ns"], poll["end_ns"], poll["self_ns"]) == (1000, 1110, 60)
    polled = [(row["start_ns"], row["end_ns"]) for row in got.on(0) if row["context"] == "poll"]
    assert polled == [(1000, 1050), (1100, 1110)]


# Preempted and resumed on the same CPU, its poll is one.
#
# |napi/eth0: poll  |openssl |napi/eth0: ... poll|task|openssl
# 100               200      300                 400  410
def test_a_preempted_poll_is_one_poll(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(100, NAPI_THREAD),
            h.Switch(200, OPENSSL, 0),
            h.Switch(300, NAPI_THREAD, 0),
            h.NapiPoll(400),
            h.Switch(410, OPENSSL, 1),
            h.Waking(500, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL, NAPI_THREAD),
    )
    [row] = got.polls
    assert (row["start_ns"], row["end_ns"], row["self_ns"]) == (100, 400, 200)


# openssl |NET_RX entry  poll |      |switch  udpsink ...                    end
#         100           150         200                                       900
# PREEMPT_RT: the softirq waits for its task, which the recording does not see again. Its time is in
# the segments, so it is in a row too.
def test_a_softirq_that_is_never_resumed_has_a_row(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(100, NET_RX),
            h.NapiPoll(150),
            h.Switch(200, UDPSINK),
            h.Waking(900, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL, UDPSINK),
    )
    [row] = got.softirqs
    assert (row["entry_ns"], row["exit_ns"], row["vec"]) == (100, None, NET_RX)
    assert (row["self_ns"], row["outside_polls_ns"], row["polls"]) == (100, 50, 1)
    assert (row["tid"], row["comm"]) == (500, "openssl")
    assert got.lane(0, 0, "context", "tid")[-1] == (200, 900, "task", 600)


# Two tasks' softirqs wait when records are lost: neither resumes as what it was.
#
# openssl |TIMER 100 |switch 200 udpsink: NET_RX 210 |switch 300 idle |LOST 500 |...
def test_softirqs_that_wait_across_a_loss_have_rows(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(100, TIMER),
            h.Switch(200, UDPSINK),
            h.SoftirqEntry(210, NET_RX),
            h.Switch(300, h.idle(0)),
            h.Lost(500, 3),
            h.Waking(900, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL, UDPSINK),
    )
    found = {row["vec"]: (row["exit_ns"], row["self_ns"], row["comm"]) for row in got.softirqs}
    assert found == {TIMER: (None, 100, "openssl"), NET_RX: (None, 90, "udpsink")}


# openssl |hardirq 32      netpoll        |openssl
#         100               150           200      300
# A console that prints over the network polls the device wherever it is, inside an interrupt too.
# That poll has no begin; the interrupt is one.
def test_a_netpoll_inside_a_hardirq_leaves_it_whole(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32),
            h.NapiPoll(150, "eth0", 0, 0),
            h.IrqExit(200, 32),
            h.Waking(300, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    assert got.lane(0) == [(100, 200, "hardirq"), (200, 300, "task")]
    assert [(row["entry_ns"], row["exit_ns"], row["self_ns"]) for row in got.hardirqs] == [
        (100, 200, 100)
    ]
    [poll] = got.polls
    assert (poll["start_ns"], poll["end_ns"], poll["self_ns"]) == (None, 150, None)
    counted = ("disagreements", "orphan_exits", "polls_without_begin")
    assert [got.summary[name] for name in counted] == [0, 0, 1]


# openssl |NET_RX ...    |hardirq 32   netpoll |... eth0 |
#         100            110           115     120 130   140
# Nor does it end or shorten the poll of the softirq beneath.
def test_a_netpoll_inside_a_hardirq_is_no_poll_of_the_softirq(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(100, NET_RX),
            h.IrqEntry(110, 32),
            h.NapiPoll(115, "eth1", 0, 0, 0x20),
            h.IrqExit(120, 32),
            h.NapiPoll(130, "eth0", 8),
            h.SoftirqExit(140, NET_RX),
            h.Waking(300, UDPSINK),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    assert got.lane(0, 0, "context", "device")[:4] == [
        (100, 110, "poll", "eth0"),
        (110, 120, "hardirq", got.hardirqs[0]["device"]),
        (120, 130, "poll", "eth0"),
        (130, 140, "softirq", None),
    ]
    [row] = got.softirqs
    assert (row["self_ns"], row["outside_polls_ns"], row["polls"], row["packets"]) == (30, 10, 1, 8)

# Promise 4: stacks where they live. Hardirqs nest per CPU; softirqs and polls belong to the task
# they run in.

from pathlib import Path

from support.native_tables import by, duration
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IRQ_THREAD, KTIMERS, NAPI_THREAD, NET_RX, OPENSSL, TIMER, UDPSINK, answer


# 100     110      120       130      140      150     160
# |irq 32 |irq 33  |vector   |irq 33  |irq 32  |openssl|
# |       |        |exit 130 |exit 140|exit 150|
def test_hardirqs_nest_and_the_innermost_owns_the_time(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32, "a"),
            h.IrqEntry(110, 33, "b"),
            h.VectorEntry(120),
            h.VectorExit(130),
            h.IrqExit(140, 33),
            h.IrqExit(150, 32),
            h.Waking(160, UDPSINK),
            task=OPENSSL,
        ),
    )
    assert got.lane(0, 0, "context", "id") == [
        (100, 110, "hardirq", 32),
        (110, 120, "hardirq", 33),
        (120, 130, "vector", 236),
        (130, 140, "hardirq", 33),
        (140, 150, "hardirq", 32),
        (150, 160, "task", None),
    ]
    self_ns = {(row["context"], row["name"]): row["self_ns"] for row in got.hardirqs}
    assert self_ns == {("hardirq", "a"): 20, ("hardirq", "b"): 20, ("vector", "local_timer"): 10}


# openssl |softirq NET_RX      |core   |         perf kwork books 100..200 to both the softirq
#         100   |hardirq |     200     230       and the hardirq in it; here each ns has one owner
#               120      150
def test_a_hardirq_in_a_softirq_is_not_counted_twice(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqRaise(90, NET_RX),
            h.SoftirqEntry(100, NET_RX),
            h.IrqEntry(120, 32),
            h.IrqExit(150, 32),
            h.NapiPoll(200, "eth0", 8),
            h.SoftirqExit(230, NET_RX),
            task=OPENSSL,
        ),
    )
    assert by(got.segments, ("context",), duration) == {
        ("task",): 10,
        ("poll",): 70,
        ("hardirq",): 30,
        ("softirq",): 30,
    }
    [row] = got.softirqs
    assert (row["self_ns"], row["outside_polls_ns"], row["polls"], row["packets"]) == (
        100,
        30,
        1,
        8,
    )


# PREEMPT_RT, 6.1: 4 switch-outs of a task inside its softirq in half a second.
#
#            100          150                200          260        300
# ktimers/0  |TIMER entry |(preempted)       .            |TIMER     |exit
# irq/32-... .            |NET_RX entry  poll|NET_RX exit |          .
#                         160            190 200          260
#
# Both softirqs are open at 160..200, each in its own task; only the running one owns time. The irq
# thread's own time is its interrupt's: it has irq 32's id.
def test_softirqs_of_realtime_tasks_are_parked_at_sched_switch(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqRaise(90, TIMER),
            h.SoftirqEntry(100, TIMER),
            h.Switch(150, IRQ_THREAD, 256),
            h.SoftirqRaise(155, NET_RX),
            h.SoftirqEntry(160, NET_RX),
            h.NapiPoll(190, "eth0", 2),
            h.SoftirqExit(200, NET_RX),
            h.Switch(260, KTIMERS, 1),
            h.SoftirqExit(300, TIMER),
            h.Switch(310, OPENSSL, 1),
            task=KTIMERS,
        ),
    )
    assert got.lane(0, 0, "context", "tid", "id") == [
        (90, 100, "task", 17, None),
        (100, 150, "softirq", 17, TIMER),
        (150, 160, "task", 150, 32),
        (160, 190, "poll", 150, NET_RX),
        (190, 200, "softirq", 150, NET_RX),
        (200, 260, "task", 150, 32),
        (260, 300, "softirq", 17, TIMER),
        (300, 310, "task", 17, None),
    ]
    self_ns = {
        row["vec"]: (row["self_ns"], row["entry_ns"], row["exit_ns"]) for row in got.softirqs
    }
    assert self_ns == {TIMER: (90, 100, 300), NET_RX: (40, 160, 200)}
    assert got.summary["disagreements"] == 0


# CPU 0  ktimers/0 |TIMER entry |switch-out (migrates? no: pinned) ...
# CPU 0  swapper/0 and CPU 1 swapper/1 share tid 0: their softirqs must not meet.
def test_pid_0_is_one_task_per_cpu(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(0, h.SoftirqEntry(100, TIMER), h.SoftirqExit(200, TIMER), h.Waking(300, UDPSINK)),
        cpu(1, h.Waking(100, UDPSINK), h.SoftirqEntry(150, NET_RX), h.SoftirqExit(170, NET_RX)),
    )
    assert got.lane(0) == [(100, 200, "softirq"), (200, 300, "idle")]
    assert got.lane(1) == [(100, 150, "idle"), (150, 170, "softirq"), (170, 300, "idle")]


# udpsink  |switch  napi/eth0-8193                                      |switch
#          100      |(poll) 150 napi_poll|irq|(poll) 200 napi_poll|task |230
#                                        160-170
# A threaded poll has no softirq around it, only the kthread: scheduled work.
def test_threaded_polls_belong_to_their_kthread(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(90, NAPI_THREAD),
            h.Switch(100, NAPI_THREAD),
            h.BhDisable(101),
            h.NapiPoll(150, "eth0", 64),
            h.IrqEntry(160, 33),
            h.IrqExit(170, 33),
            h.NapiPoll(200, "eth0", 5),
            h.BhEnable(201),
            h.Switch(230, UDPSINK, 1),
            h.Waking(240, OPENSSL),
            task=UDPSINK,
        ),
    )
    assert got.lane(0, 0, "context", "tid", "cost_class")[1:-1] == [
        (100, 160, "poll", 30, "scheduled"),
        (160, 170, "hardirq", 30, "scheduled"),
        (170, 200, "poll", 30, "scheduled"),
        (200, 230, "task", 30, "scheduled"),
    ]
    assert [(row["self_ns"], row["work"]) for row in got.polls] == [(50, 64), (40, 5)]


# udpsink, in its own recvmsg: busy polling has no begin event either, and no context of its own.
def test_busy_polls_are_counted_and_open_nothing(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, OPENSSL),
            h.NapiPoll(150, "eth0", 3, 8),
            h.Waking(200, OPENSSL),
            task=UDPSINK,
        ),
    )
    assert got.lane(0) == [(100, 200, "task")]
    [poll] = got.polls
    assert (poll["start_ns"], poll["self_ns"], poll["work"], poll["tid"]) == (None, None, 3, 600)

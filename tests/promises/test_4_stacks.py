# Promise 4: stacks where they live. Hardirqs nest per CPU; softirqs and polls belong to the task
# they run in.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IRQ_THREAD, KTIMERS, NET_RX, OPENSSL, TIMER, UDPSINK, answer, irq, raised


# 100     110      120       130      140      150     160
# |irq 32 |irq 33  |vector   |irq 33  |irq 32  |openssl|
def test_hardirqs_nest_and_the_innermost_owns_the_time(tmp_path: Path) -> None:
    inner = irq(110, 140, h.VectorEntry(120), h.VectorExit(130), line=33, name="b")
    outer = irq(100, 150, *inner, name="a")
    got = answer(tmp_path, cpu(0, *outer, h.Waking(160, UDPSINK), task=OPENSSL))
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
    inside = *irq(120, 150), h.NapiPoll(200, "eth0", 8)
    got = answer(tmp_path, cpu(0, *raised(90, 100, 230, *inside), task=OPENSSL))
    times = {context: end - start for start, end, context in got.lane(0)}
    assert times == {"task": 10, "poll": 50, "hardirq": 30, "softirq": 30}
    [row], [hardirq], [poll] = got.softirqs, got.hardirqs, got.polls
    assert (row["self_ns"], row["outside_polls_ns"]) == (100, 30)
    assert (row["polls"], row["packets"]) == (1, 8)
    assert (hardirq["self_ns"], poll["self_ns"]) == (30, 70)


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
    other = raised(155, 160, 200, h.NapiPoll(190, "eth0", 2))
    inside = h.Switch(150, IRQ_THREAD, 256), *other, h.Switch(260, KTIMERS, 1)
    timer = raised(90, 100, 300, *inside, vec=TIMER)
    got = answer(tmp_path, cpu(0, *timer, h.Switch(310, OPENSSL, 1), task=KTIMERS))
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
    assert {row["vec"]: row["self_ns"] for row in got.softirqs} == {TIMER: 90, NET_RX: 40}
    assert got.summary["disagreements"] == 0


# udpsink, in its own recvmsg: busy polling has no begin event either, and no context of its own.
def test_busy_polls_are_counted_and_open_nothing(tmp_path: Path) -> None:
    happenings = h.Waking(100, OPENSSL), h.NapiPoll(150, "eth0", 3, 8), h.Waking(200, OPENSSL)
    got = answer(tmp_path, cpu(0, *happenings, task=UDPSINK))
    assert got.lane(0) == [(100, 200, "task")]
    [poll] = got.polls
    assert (poll["start_ns"], poll["self_ns"], poll["work"], poll["tid"]) == (None, None, 3, 600)

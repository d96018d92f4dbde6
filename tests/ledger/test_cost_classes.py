# Whose time it was: origin from all raises since the last entry, and the class that follows.

from pathlib import Path

import pytest

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import (
    IDLE,
    IRQ_THREAD,
    KSOFTIRQD,
    NET_RX,
    NET_TX,
    OPENSSL,
    TIMER,
    UDPSINK,
    answer,
)


def softirq_row(path: Path, *happenings: h.Happening, task: h.Task = OPENSSL) -> tuple[str, str]:
    end = happenings[-1].at + 50
    got = answer(path, cpu(0, *happenings, h.Waking(end, UDPSINK), task=task))
    row = [one for one in got.softirqs if one["vec"] == NET_RX][-1]
    return row["origin"], row["cost_class"]


# openssl |hardirq: raise NET_RX|softirq NET_RX|          an interrupt asked, openssl paid
def test_raised_in_a_hardirq_is_stolen(tmp_path: Path) -> None:
    assert softirq_row(
        tmp_path,
        h.IrqEntry(100, 32),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 32),
        h.SoftirqEntry(111, NET_RX),
        h.SoftirqExit(150, NET_RX),
    ) == ("irq", "stolen")


# udpsink sendto(): |bh off: raise NET_RX|bh on: softirq NET_RX|      its own traffic
def test_raised_by_the_task_with_bottom_halves_off_is_synchronous(tmp_path: Path) -> None:
    assert softirq_row(
        tmp_path,
        h.BhDisable(100),
        h.SoftirqRaise(105, NET_RX),
        h.BhEnable(110),
        h.SoftirqEntry(111, NET_RX),
        h.SoftirqExit(150, NET_RX),
    ) == ("task", "synchronous")


# openssl |bh off: |hardirq: raise| bh on: softirq| A hardirq's raise while bottom halves are off
# runs at the task's local_bh_enable: "an irq exit right before an entry" is neither needed nor
# enough.
def test_raised_in_a_hardirq_while_bottom_halves_are_off_is_stolen(tmp_path: Path) -> None:
    assert softirq_row(
        tmp_path,
        h.BhDisable(90),
        h.IrqEntry(100, 32),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 32),
        h.BhEnable(120),
        h.SoftirqEntry(121, NET_RX),
        h.SoftirqExit(150, NET_RX),
    ) == ("irq", "stolen")


# Both, in one TCP capture 88 of 369: nobody can say how much was whose.
def test_raised_by_both_is_mixed_and_a_range(tmp_path: Path) -> None:
    assert softirq_row(
        tmp_path,
        h.BhDisable(90),
        h.SoftirqRaise(95, NET_RX),
        h.IrqEntry(100, 32),
        h.SoftirqRaise(105, NET_RX),
        h.IrqExit(110, 32),
        h.BhEnable(120),
        h.SoftirqEntry(121, NET_RX),
        h.SoftirqExit(150, NET_RX),
    ) == ("mixed", "stolen_or_synchronous")


# None, in one TCP capture 12 of 369.
def test_raised_by_nobody_seen_is_unknown_and_a_range(tmp_path: Path) -> None:
    origin, cost_class = softirq_row(
        tmp_path,
        h.SoftirqRaise(50, NET_RX),
        h.SoftirqEntry(60, NET_RX),
        h.SoftirqExit(70, NET_RX),
        h.SoftirqEntry(111, NET_RX),
        h.SoftirqExit(150, NET_RX),
    )
    assert (origin, cost_class) == ("unknown", "stolen_or_synchronous")


# |hardirq: raise TIMER|softirq TIMER: raise NET_RX|softirq NET_RX|   inherits: stolen
@pytest.mark.parametrize(
    ("first", "cost_class"),
    [
        (
            (h.IrqEntry(90, 32), h.SoftirqRaise(95, NET_TX), h.IrqExit(99, 32)),
            "stolen",
        ),
        ((h.BhDisable(90), h.SoftirqRaise(95, NET_TX), h.BhEnable(99)), "synchronous"),
    ],
)
def test_raised_in_a_softirq_inherits(
    tmp_path: Path, first: tuple[h.Happening, ...], cost_class: str
) -> None:
    origin, got = softirq_row(
        tmp_path,
        *first,
        h.SoftirqEntry(100, NET_TX),
        h.SoftirqRaise(105, NET_RX),
        h.SoftirqExit(110, NET_TX),
        h.SoftirqEntry(111, NET_RX),
        h.SoftirqExit(150, NET_RX),
    )
    assert (origin, got) == ("softirq", cost_class)


IN_HARDIRQ = (
    h.IrqEntry(100, 32),
    h.SoftirqRaise(105, NET_RX),
    h.IrqExit(110, 32),
    h.SoftirqEntry(111, NET_RX),
    h.IrqEntry(120, 33),
    h.IrqExit(130, 33),
    h.NapiPoll(140, "eth0", 4),
    h.SoftirqExit(150, NET_RX),
)


# Precedence: on an idle CPU nobody is robbed; in a kthread the work was scheduled, with the
# interrupts on top of it.
def test_the_class_follows_who_was_current(tmp_path: Path) -> None:
    for task, cost_class in (
        (IDLE, "from_idle"),
        (KSOFTIRQD, "scheduled"),
        (IRQ_THREAD, "scheduled"),
        (h.Task(40, "rcuc/0"), "scheduled"),
        (h.Task(41, "backlog_napi/0"), "scheduled"),
        (h.Task(42, "vhost-8180"), "scheduled"),
        (h.Task(43, "ktimers/0"), "scheduled"),
        (OPENSSL, "stolen"),
        # Names that only look like a kthread's.
        (h.Task(44, "irqbalance"), "stolen"),
        (h.Task(45, "napier"), "stolen"),
    ):
        got = answer(
            tmp_path, cpu(0, *IN_HARDIRQ, h.Waking(160, UDPSINK), task=task), known=(task,)
        )
        interrupts = [row for row in got.segments if row["context"] not in ("task", "idle")]
        assert {row["cost_class"] for row in interrupts} == {cost_class}
        assert {row["context"] for row in interrupts} == {"hardirq", "softirq", "poll"}
        assert [row["in_kthread"] for row in got.softirqs] == [cost_class == "scheduled"]


# The steering CPU runs NET_RX without a poll and sends an IPI: 6,002 of 7,838 NET_RX in one
# capture, its own thief and outside of all per-poll figures.
def test_net_rx_without_a_poll_is_rps_dispatch(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqRaise(100, NET_RX),
            h.SoftirqEntry(110, NET_RX),
            h.SoftirqExit(120, NET_RX),
            h.SoftirqRaise(130, NET_RX),
            h.SoftirqEntry(140, NET_RX),
            h.NapiPoll(150, "eth0", 2),
            h.SoftirqExit(160, NET_RX),
            h.SoftirqRaise(170, TIMER),
            h.SoftirqEntry(180, TIMER),
            h.SoftirqExit(190, TIMER),
            task=OPENSSL,
        ),
    )
    names = {row["start_ns"]: row["name"] for row in got.segments if row["context"] == "softirq"}
    assert names == {110: "RPS dispatch", 150: "NET_RX", 180: "TIMER"}
    named = {row["name"]: row["ns"] for row in got.sums if row["context"] == "softirq"}
    assert named == {"RPS dispatch": 10, "NET_RX": 10, "TIMER": 10}
    assert len(got.polls) == 1


# openssl |irq 25: raises|irq 26: raises|NET_RX: polls eth0 and eth1|NET_RX: nothing left|openssl
# The second interrupt came when the run of softirqs had taken what was pending, and before the
# entry. RPS has no part in it, and both interrupts steal.
def test_an_empty_net_rx_is_that_of_the_interrupt_before(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            *(event for at, irq in ((90, 25), (100, 26)) for event in irq_that_raises(at, irq)),
            h.SoftirqEntry(110, NET_RX),
            h.NapiPoll(120, "eth0", 2),
            h.NapiPoll(130, "eth1", 3),
            h.SoftirqExit(140, NET_RX),
            h.SoftirqEntry(150, NET_RX),
            h.SoftirqExit(160, NET_RX),
            task=OPENSSL,
        ),
    )
    assert [(row["origin"], row["cost_class"]) for row in got.softirqs] == [("irq", "stolen")] * 2
    named = {row["name"]: row["ns"] for row in got.sums if row["context"] == "softirq"}
    assert named == {"NET_RX": 20}


def irq_that_raises(at: int, irq: int) -> tuple[h.Happening, ...]:
    return h.IrqEntry(at, irq), h.SoftirqRaise(at + 2, NET_RX), h.IrqExit(at + 5, irq)


# openssl |waking ksoftirqd|softirqs deferred|switch ksoftirqd: NET_RX, poll|switch openssl
#                                            200                           300
# openssl is runnable all the while: displaced by the NET_RX, 85 ns. What ksoftirqd does between
# softirqs could be for any of them and is not called network.
def test_work_in_ksoftirqd_displaces_who_waits(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(100, KSOFTIRQD),
            h.Wakeup(101, KSOFTIRQD),
            h.Switch(200, KSOFTIRQD, 0),
            h.SoftirqEntry(210, NET_RX),
            h.NapiPoll(290, "eth0", 64),
            h.SoftirqExit(295, NET_RX),
            h.Switch(300, OPENSSL, 1),
            h.Waking(400, UDPSINK, 1),
            task=OPENSSL,
        ),
    )
    assert [(row["tid"], row["ns"]) for row in got.displaced if row["ns"]] == [(500, 85)]
    slices = {(row["tid"], row["in_ns"]): row for row in got.slices}
    assert slices[(20, 200)]["wait_ns"] == 99
    assert slices[(500, 300)]["wait_ns"] == 100

# Promise 3: witnessed, not assumed. Every event says which task is current and in which context it
# fired; that overrules what the stack believes.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import IDLE, KSOFTIRQD, NET_RX, OPENSSL, TIMER, UDPSINK, answer

S = 1_000_000_000


# 0            100   130         200       230      1000
# openssl -----|hardirq|---------|hardirq|----------
# No sched_switch of openssl is in the recording: it never leaves its CPU, and is the victim still.
def test_a_task_that_never_switches_is_a_victim(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Waking(50, UDPSINK, 1),
            h.IrqEntry(100, 32),
            h.IrqExit(130, 32),
            h.IrqEntry(200, 32),
            h.IrqExit(230, 32),
            h.Waking(1000, UDPSINK, 1),
            task=OPENSSL,
        ),
        cpu(1, h.Switch(60, UDPSINK), h.Switch(70, h.idle(1))),
        known=(OPENSSL,),
    )
    stolen = [row for row in got.sums if row["cpu"] == 0 and row["context"] == "hardirq"]
    assert [(row["tid"], row["comm"], row["ns"]) for row in stolen] == [(500, "openssl", 60)]
    assert {row["cost_class"] for row in stolen} == {"stolen"}


# 0 s         1.600 s      1.700 s                   1.800 s       1.9 s
# |switch     |waking      |irq_handler_exit          |entry  exit|
# |<-openssl->|<--unknown->|<---- openssl ----------->|<-hardirq->|
#
# Measured: perf enables events one by one, so an exit without its entry stood 1.7 s after the start
# of a recording that lost nothing. The waking at 1.6 s fired outside of any hardirq.
def test_a_late_exit_without_entry_is_not_a_long_hardirq(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Switch(1 * S, OPENSSL),
            h.Waking(2 * S + 600_000_000, UDPSINK, 1),
            h.unrecorded(h.IrqEntry(2 * S + 699_000_000, 32)),
            h.IrqExit(2 * S + 700_000_000, 32),
            h.IrqEntry(2 * S + 800_000_000, 32),
            h.IrqExit(2 * S + 900_000_000, 32),
        ),
    )
    assert got.lane(0, S) == [
        (0, 1_600_000_000, "task"),
        (1_600_000_000, 1_700_000_000, "unknown"),
        (1_700_000_000, 1_800_000_000, "task"),
        (1_800_000_000, 1_900_000_000, "hardirq"),
    ]


# The same exit as the first event of its CPU, 1.7 s into the capture: nothing shows when it began.
def test_an_exit_that_opens_a_cpu_invents_no_hardirq(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqExit(1 * S + 700_000_000, 32),
            h.IrqEntry(2 * S, 32),
            h.IrqExit(2 * S + 5, 32),
            task=OPENSSL,
            unseen=[h.IrqEntry(0, 32)],
        ),
        cpu(1, h.Switch(0, OPENSSL), h.Switch(5, h.idle(1))),
    )
    hardirq = sum(row["ns"] for row in got.sums if row["context"] == "hardirq")
    assert hardirq == 5


# 50      60  100            150              200             300
# |TIMER  |   |softirq_entry |napi_poll       |waking, 0x00   |switch
# |       |   |<--- poll --->|<-- unknown --->|<-- openssl -->|
#                             its exit is missing: softirq or task, until an event's flags deny it
def test_flags_close_a_softirq_whose_exit_is_missing(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(50, TIMER),
            h.SoftirqExit(60, TIMER),
            h.SoftirqEntry(100, NET_RX),
            h.NapiPoll(150, "eth0", 1),
            h.unrecorded(h.SoftirqExit(180, NET_RX)),
            h.Waking(200, UDPSINK),
            h.Switch(300, IDLE),
            task=OPENSSL,
        ),
    )
    assert got.lane(0)[-3:] == [(100, 150, "poll"), (150, 200, "unknown"), (200, 300, "task")]
    assert got.summary["disagreements"] >= 1


# 60     100                200                 300      400
# |      |waking, flags 0   |waking, flags 0x10 |exit    |
# |-task-|<-------------- unknown ------------->|--task--|
# A softirq was running that no entry announced.
def test_flags_open_a_context_that_no_entry_announced(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.SoftirqEntry(50, NET_RX),
            h.SoftirqExit(60, NET_RX),
            h.Waking(100, UDPSINK),
            h.unrecorded(h.SoftirqEntry(110, NET_RX)),
            h.Waking(200, UDPSINK),
            h.SoftirqExit(300, NET_RX),
            h.Waking(400, UDPSINK),
            task=OPENSSL,
        ),
    )
    # From 100 (surely not serving) to the exit: of 100..200 nobody knows, and of 200..300 nobody
    # knows which softirq it was before its exit says so.
    assert got.lane(0)[1:] == [(60, 100, "task"), (100, 300, "unknown"), (300, 400, "task")]
    assert [row["exit_ns"] for row in got.softirqs if row["entry_ns"] is None] == [300]


# The sample's own tid is -1 for a task that is exiting; common_pid still names it.
def test_the_running_task_comes_from_common_pid(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.Exit(100),
            h.SoftirqEntry(110, TIMER),
            h.SoftirqExit(130, TIMER),
            h.Switch(200, KSOFTIRQD, 16),
            h.Switch(300, IDLE, 1),
            task=h.Task(700, "sleep"),
        ),
    )
    assert got.lane(0, 0, "context", "tid")[:3] == [
        (100, 110, "task", 700),
        (110, 130, "softirq", 700),
        (130, 200, "task", 700),
    ]


# irq_handler_exit was never enabled: with one partner missing, the context has no extent.
def test_a_missing_partner_event_disables_that_context_with_a_note(tmp_path: Path) -> None:
    from support.perfdata import tracepoints as t

    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32),
            h.IrqExit(110, 32),
            h.SoftirqEntry(120, NET_RX),
            h.SoftirqExit(150, NET_RX),
            h.IrqEntry(200, 32),
            h.IrqExit(210, 32),
            h.Waking(500, UDPSINK),
            task=OPENSSL,
        ),
        formats=tuple(one for one in t.FORMATS if one.name != "irq_handler_exit"),
    )
    assert not [row for row in got.segments if row["context"] == "hardirq"]
    assert any("irq_handler_exit" in note for note in got.summary["notes"])
    assert [row["self_ns"] for row in got.softirqs] == [30]

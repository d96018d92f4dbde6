# Promise 3: witnessed, not assumed. Every event says which task is current and in which context it
# fired; that overrules what the stack believes.

from pathlib import Path

from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import IDLE, KSOFTIRQD, NET_RX, OPENSSL, TIMER, UDPSINK, answer, irq, softirq

S = 1_000_000_000


# No sched_switch of openssl is in the recording: it never leaves its CPU, and is the victim still.
def test_a_task_that_never_switches_is_a_victim(tmp_path: Path) -> None:
    wakings = h.Waking(50, UDPSINK, 1), h.Waking(1000, UDPSINK, 1)
    got = answer(
        tmp_path,
        cpu(0, wakings[0], *irq(100, 130), *irq(200, 230), wakings[1], task=OPENSSL),
        cpu(1, h.Switch(60, UDPSINK), h.Switch(70, h.idle(1))),
        known=(OPENSSL,),
    )
    [stolen] = [row for row in got.sums if row["cpu"] == 0 and row["context"] == "hardirq"]
    assert (stolen["tid"], stolen["comm"], stolen["ns"]) == (500, "openssl", 60)
    assert stolen["cost_class"] == "stolen"


# 0 s         1.600 s      1.700 s                   1.800 s       1.9 s
# |switch     |waking      |irq_handler_exit          |entry  exit|
# |<-openssl->|<--unknown->|<---- openssl ----------->|<-hardirq->|
#
# Measured: perf enables events one by one, so an exit without its entry stood 1.7 s after the start
# of a recording that lost nothing. The waking at 1.6 s fired outside of any hardirq.
def test_a_late_exit_without_entry_is_not_a_long_hardirq(tmp_path: Path) -> None:
    late = h.unrecorded(h.IrqEntry(2_699_000_000, 32)), h.IrqExit(2_700_000_000, 32)
    begin = h.Switch(1 * S, OPENSSL), h.Waking(2_600_000_000, UDPSINK, 1)
    got = answer(tmp_path, cpu(0, *begin, *late, *irq(2_800_000_000, 2_900_000_000)))
    assert got.lane(0, S) == [
        (0, 1_600_000_000, "task"),
        (1_600_000_000, 1_700_000_000, "unknown"),
        (1_700_000_000, 1_800_000_000, "task"),
        (1_800_000_000, 1_900_000_000, "hardirq"),
    ]


# The same exit as the first event of its CPU: nothing shows when it began.
def test_an_exit_that_opens_a_cpu_invents_no_hardirq(tmp_path: Path) -> None:
    unseen = [h.IrqEntry(0, 32)]
    got = answer(
        tmp_path,
        cpu(0, h.IrqExit(1_700_000_000, 32), *irq(2 * S, 2 * S + 5), task=OPENSSL, unseen=unseen),
        cpu(1, h.Switch(0, OPENSSL), h.Switch(5, h.idle(1))),
    )
    assert sum(row["ns"] for row in got.sums if row["context"] == "hardirq") == 5


# 50      60  100            150              200             300
# |TIMER  |   |softirq_entry |napi_poll       |waking, 0x00   |switch
# |       |   |<--- poll --->|<-- unknown --->|<-- openssl -->|
# The exit is missing: it is softirq or task, until an event's flags deny the former.
def test_flags_close_a_softirq_whose_exit_is_missing(tmp_path: Path) -> None:
    entry = h.SoftirqEntry(100, NET_RX), h.NapiPoll(150, "eth0", 1)
    rest = h.unrecorded(h.SoftirqExit(180, NET_RX)), h.Waking(200, UDPSINK), h.Switch(300, IDLE)
    got = answer(tmp_path, cpu(0, *softirq(50, 60, vec=TIMER), *entry, *rest, task=OPENSSL))
    assert got.lane(0)[-3:] == [(100, 150, "poll"), (150, 200, "unknown"), (200, 300, "task")]
    assert got.summary["disagreements"] >= 1


# 60     100                200                 300      400
# |      |waking, flags 0   |waking, flags 0x10 |exit    |
# |-task-|<-------------- unknown ------------->|--task--|
# No entry announced this softirq, which runs at 200: until its exit nobody knows which one it is.
def test_flags_open_a_context_that_no_entry_announced(tmp_path: Path) -> None:
    unseen = h.unrecorded(h.SoftirqEntry(110, NET_RX)), h.Waking(200, UDPSINK)
    rest = h.SoftirqExit(300, NET_RX), h.Waking(400, UDPSINK)
    first = *softirq(50, 60), h.Waking(100, UDPSINK)
    got = answer(tmp_path, cpu(0, *first, *unseen, *rest, task=OPENSSL))
    assert got.lane(0)[1:] == [(60, 100, "task"), (100, 300, "unknown"), (300, 400, "task")]
    assert [row["exit_ns"] for row in got.softirqs if row["entry_ns"] is None] == [300]


# The sample's own tid is -1 for a task that is exiting; common_pid still names it.
def test_the_running_task_comes_from_common_pid(tmp_path: Path) -> None:
    switches = h.Switch(200, KSOFTIRQD, 16), h.Switch(300, IDLE, 1)
    sleep = h.Task(700, "sleep")
    got = answer(
        tmp_path, cpu(0, h.Exit(100), *softirq(110, 130, vec=TIMER), *switches, task=sleep)
    )
    lane = [(100, 110, "task", 700), (110, 130, "softirq", 700), (130, 200, "task", 700)]
    assert got.lane(0, 0, "context", "tid")[:3] == lane


# irq_handler_exit was never enabled: with one partner missing, the context has no extent.
def test_a_missing_partner_event_disables_that_context_with_a_note(tmp_path: Path) -> None:
    happenings = *irq(100, 110), *softirq(120, 150), *irq(200, 210), h.Waking(500, UDPSINK)
    formats = tuple(one for one in t.FORMATS if one.name != "irq_handler_exit")
    got = answer(tmp_path, cpu(0, *happenings, task=OPENSSL), formats=formats)
    assert not [row for row in got.segments if row["context"] == "hardirq"]
    assert any("irq_handler_exit" in note for note in got.summary["notes"])
    assert [row["self_ns"] for row in got.softirqs] == [30]

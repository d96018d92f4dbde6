# Softirqs by context, switches and waits, on timelines that are drawn and can be added up on paper.

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.errors import AbsentError
from netcost_analysis.questions.processes import (
    client_and_server,
    context_switches,
    run_queue,
    softirq_time,
    traffic_owners,
    traffic_pairs,
)
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talk import talk
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK

# Preempted, in the recorded format of the written captures.
PREEMPTED = 256


def timeline(path: Path, *cpus: Cpu, **settings: object) -> netcost.Timeline:
    known = (OPENSSL, UDPSINK, KSOFTIRQD)
    told = recording(*cpus, **{"known": known, **settings})
    return netcost.open_capture(told.write(path / "perf.data")).timeline()


# CPU 0  openssl |own NET_RX, 4 packets|irq: NET_RX, 1|irq: TIMER |ksoftirqd: NET_RX without a poll|
#                |100             160  |200       250 |300    310 |400  410           450     500|
IN_TURN = (
    h.BhDisable(90),
    h.SoftirqRaise(95, NET_RX),
    h.BhEnable(99),
    h.SoftirqEntry(100, NET_RX),
    h.NapiPoll(150, "eth0", 4),
    h.SoftirqExit(160, NET_RX),
    h.IrqEntry(190, 32),
    h.SoftirqRaise(191, NET_RX),
    h.IrqExit(199, 32),
    h.SoftirqEntry(200, NET_RX),
    h.IrqEntry(210, 33),
    h.IrqExit(220, 33),
    h.NapiPoll(240, "eth0", 1),
    h.SoftirqExit(250, NET_RX),
    h.IrqEntry(290, 33),
    h.SoftirqRaise(291, TIMER),
    h.IrqExit(299, 33),
    h.SoftirqEntry(300, TIMER),
    h.SoftirqExit(310, TIMER),
    h.Waking(350, KSOFTIRQD),
    h.Wakeup(351, KSOFTIRQD),
    h.Switch(400, KSOFTIRQD, PREEMPTED),
    h.SoftirqEntry(410, NET_RX),
    h.SoftirqExit(450, NET_RX),
    h.Switch(500, OPENSSL, 1),
    h.Waking(600, UDPSINK),
)


def test_softirqs_by_context(tmp_path: Path) -> None:
    rows = softirq_time(timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL)))
    found = {
        (row.comm, row.action, row.cost_class): (row.softirqs, row.packets, row.ns, row.poll_ns)
        for row in rows.itertuples()
    }
    assert found == {
        ("openssl", "NET_RX", "synchronous"): (1, 4, 60, 50),
        # The interrupt on top of it is not its own time.
        ("openssl", "NET_RX", "stolen"): (1, 1, 40, 30),
        ("openssl", "TIMER", "stolen"): (1, 0, 10, 0),
        ("ksoftirqd/0", "RPS dispatch", "scheduled"): (1, 0, 40, 0),
    }
    assert rows["softirq_share"].sum() == pytest.approx(1)
    assert rows["ns"].is_monotonic_decreasing


def test_softirqs_by_cpu_and_name(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL))
    assert softirq_time(made, by="cpu")["ns"].sum() == 150
    assert set(softirq_time(made, by="comm")["comm"]) == {
        "openssl",
        "ksoftirqd/0",
    }
    with pytest.raises(ValueError, match="tid, comm, cpu"):
        softirq_time(made, by="device")  # type: ignore[arg-type]


def test_without_packets_traced_the_raiser_is_known_and_no_more(tmp_path: Path) -> None:
    rows = traffic_owners(timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL)))
    found = {(row.comm, row.owner_known_by): row.ns for row in rows.itertuples()}
    assert found == {
        ("openssl", "raiser"): 60,
        ("openssl", "unknown"): 40,
        ("openssl", "no network"): 10,
        ("ksoftirqd/0", "unknown"): 40,
    }
    assert rows["owner_tid"].dropna().tolist() == [OPENSSL.tid]


# Stolen from openssl, and it wakes udpsink; and one that wakes ksoftirqd, which owns nothing.
def test_who_is_woken_owns_it(tmp_path: Path) -> None:
    told = [
        h.IrqEntry(90, 32),
        h.SoftirqRaise(91, NET_RX),
        h.IrqExit(99, 32),
        h.SoftirqEntry(100, NET_RX),
        h.Waking(120, UDPSINK),
        h.NapiPoll(150, "eth0", 1),
        h.SoftirqExit(160, NET_RX),
        h.IrqEntry(190, 32),
        h.SoftirqRaise(191, NET_RX),
        h.IrqExit(199, 32),
        h.SoftirqEntry(200, NET_RX),
        h.Waking(210, KSOFTIRQD),
        h.IrqEntry(220, 33),
        h.Waking(225, UDPSINK),
        h.IrqExit(230, 33),
        h.NapiPoll(240, "eth0", 1),
        h.SoftirqExit(250, NET_RX),
        h.Waking(300, UDPSINK),
    ]
    made = timeline(tmp_path, cpu(0, *told, task=OPENSSL))
    rows = traffic_owners(made)
    known = rows[rows["owner_tid"].notna()]
    assert known[["tid", "owner_tid", "owner_known_by", "ns"]].to_numpy().tolist() == [
        [OPENSSL.tid, UDPSINK.tid, "wake-up", 60]
    ]
    # What a hardirq on top of the softirq wakes is the hardirq's.
    assert rows[rows["owner_known_by"] == "unknown"]["ns"].tolist() == [40]
    assert len(traffic_pairs(made)) == 0
    with pytest.raises(netcost.CaptureError, match=r"no two tasks.*--profile anatomy"):
        client_and_server(made)


def test_client_and_server(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk())
    pairs = traffic_pairs(made)
    assert pairs[["sender_tid", "receiver_tid", "units", "ns", "by_packet_share"]].to_numpy(
    ).tolist() == [[UDPSINK.tid, OPENSSL.tid, 20, 2_000, 0.0]]  # fmt: skip
    ends = client_and_server(made).set_index("side")
    client, server = ends.loc["client"], ends.loc["server"]
    assert (client["tid"], client["comm"]) == (UDPSINK.tid, "udpsink")
    # From its first event at 1,009 to the end at 21,000: it never switched.
    assert client["on_cpu_ns"] == made.duration_ns
    assert client["network_softirq_ns"] == client["owned_ns"] == 2_000
    assert client["task_ns"] == made.duration_ns - 2_000
    assert (client["asleep_between_ns"], client["waited_ns"]) == (0, 0)
    assert (server["tid"], server["on_cpu_ns"], server["waited_ns"]) == (OPENSSL.tid, 4_000, 400)
    assert (server["network_softirq_ns"], server["switches"], server["voluntary"]) == (0, 20, 20)
    # From its first wake-up at 1,060 to its last switch-out at 20,280.
    assert server["asleep_between_ns"] == 20_280 - 1_060 - 4_000 - 400
    # No packet was traced, and no load said what it sent.
    assert ends["sent_packets"].isna().all()
    assert ends["softirq_ns_per_packet"].isna().all()


def test_client_and_server_as_named(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk())
    ends = client_and_server(made, client="openssl", server=UDPSINK.tid)
    assert ends["comm"].tolist() == ["openssl", "udpsink"]
    assert client_and_server(made, server=OPENSSL.tid)["comm"].tolist() == [
        "udpsink",
        "openssl",
    ]
    with pytest.raises(AbsentError, match="no task 'nginx' in the window; there are"):
        client_and_server(made, client="nginx", server="openssl")


# CPU 0  openssl |preempted: udpsink |sleeps: openssl |its time is up: udpsink |dies: openssl
#                100                 300              500                      700          1000
SWITCHES = (
    h.Waking(50, UDPSINK),
    h.Wakeup(60, UDPSINK),
    h.Switch(100, UDPSINK, PREEMPTED),
    h.Switch(300, OPENSSL, 1),
    h.Waking(400, UDPSINK),
    h.Wakeup(410, UDPSINK),
    h.Switch(500, UDPSINK, 0),
    h.Switch(700, OPENSSL, 32),
    h.SoftirqRaise(1_000, RCU),
)


def test_switches(tmp_path: Path) -> None:
    rows = context_switches(timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)))
    counts = rows.set_index("comm")[["switches", "voluntary", "involuntary", "undecided"]]
    assert counts.loc["openssl"].tolist() == [2, 0, 2, 0]
    assert counts.loc["udpsink"].tolist() == [2, 2, 0, 0]
    # The window is 50 to 1,000 ns.
    assert rows["switches_per_s"].tolist() == pytest.approx([2 / 950e-9] * 2)


def test_waits(tmp_path: Path) -> None:
    rows = run_queue(timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)))
    found = {
        (row.comm, row.waited_after): (row.waits, row.ns, row.median_ns, row.longest_ns)
        for row in rows.itertuples()
        if row.waited_after != "unknown"
    }
    assert found == {
        # From the wake-up at 60 and 410.
        ("udpsink", "wake-up"): (2, 130, 65.0, 90),
        ("openssl", "runnable"): (2, 400, 200.0, 200),
    }
    first = rows[rows["waited_after"] == "unknown"]
    assert first["comm"].tolist() == ["openssl"]
    assert first["ns"].isna().all()
    assert first["median_ns"].isna().all()


# The same switch-outs with the bit that older kernels had for "preempted": who waits next decides.
@pytest.mark.parametrize("bit", [0x200, 0x400, 0x800, 0x1000])
def test_the_preempted_bit_of_older_kernels(tmp_path: Path, bit: int) -> None:
    text = t.SCHED_SWITCH.print_fmt
    mask = text[
        text.index("REC->prev_state & (") + len("REC->prev_state & ") : text.index(" - 1))")
    ]
    old = replace(t.SCHED_SWITCH, print_fmt=text.replace(mask.removeprefix("("), hex(bit)))
    formats = tuple(old if one is t.SCHED_SWITCH else one for one in t.FORMATS)
    told = [
        replace(one, prev_state=bit) if isinstance(one, h.Switch) and one.at == 100 else one
        for one in SWITCHES
    ]
    made = timeline(tmp_path, cpu(0, *told, task=OPENSSL), formats=formats)
    rows = context_switches(made).set_index("comm")
    assert rows.loc["openssl", ["voluntary", "involuntary", "undecided"]].tolist() == [0, 2, 0]


# Who does not run again in the recording: nothing says what its state was.
def test_a_state_that_nothing_decides(tmp_path: Path) -> None:
    told = [h.Waking(50, UDPSINK), h.Switch(100, UDPSINK, PREEMPTED), h.SoftirqRaise(900, RCU)]
    rows = context_switches(timeline(tmp_path, cpu(0, *told, task=OPENSSL)))
    assert rows[["comm", "undecided"]].to_numpy().tolist() == [["openssl", 1]]


# After a loss nobody knows who waited since when.
def test_waits_across_a_loss_are_unknown(tmp_path: Path) -> None:
    told = [
        h.Wakeup(60, UDPSINK),
        h.Lost(200, 7),
        h.Switch(300, UDPSINK, PREEMPTED),
        h.Switch(400, OPENSSL, 1),
        h.SoftirqRaise(900, RCU),
    ]
    rows = run_queue(timeline(tmp_path, cpu(0, *told, task=OPENSSL)))
    found = rows.set_index(["comm", "waited_after"])["waits"].to_dict()
    assert ("udpsink", "wake-up") not in found
    assert found[("udpsink", "unknown")] == 1


def test_windows_add_up(tmp_path: Path) -> None:
    whole = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL))
    capture = whole.capture
    # At 250 after the start there is a switch: it is the second part's.
    for cut in (4e-7, 2.5e-7):
        parts = [capture.timeline(0, cut), capture.timeline(cut, None)]
        for question in (context_switches, run_queue):
            column = "switches" if question is context_switches else "ns"
            added = sum(question(one)[column].sum() for one in parts)
            assert added == question(whole)[column].sum()
    made = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL))
    halves = [made.capture.timeline(0, 1.4e-7), made.capture.timeline(1.4e-7, None)]
    whole_ns = softirq_time(made)["ns"].sum()
    assert sum(softirq_time(one)["ns"].sum() for one in halves) == whole_ns


def test_what_was_not_recorded_is_named(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL), formats=t.SCHED_FORMATS)
    with pytest.raises(MissingEventsError, match=r"irq:softirq_entry.*--profile light"):
        softirq_time(made)
    made = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL), formats=t.IRQ_FORMATS)
    for question in (
        context_switches,
        run_queue,
        client_and_server,
    ):
        with pytest.raises(MissingEventsError, match="sched:sched_switch"):
            question(made)
    # Softirqs keep their task and time without it.
    assert softirq_time(made)["ns"].sum() == 150


def test_nothing_happened(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL))
    for question in (
        softirq_time,
        traffic_owners,
        traffic_pairs,
        context_switches,
    ):
        frame = question(made)
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == 0


# CPU 0  openssl |waiting from 60 to 300: udpsink runs |openssl waits ............... |openssl
#                                         300          |                              700
# Of the window from 400 on a wait of 300 ns is inside, and none of what udpsink waited.
def test_a_wait_counts_as_far_as_it_lies_in_the_window(tmp_path: Path) -> None:
    told = (
        h.Waking(0, UDPSINK),
        h.Waking(50, UDPSINK),
        h.Wakeup(60, UDPSINK),
        h.Switch(300, UDPSINK, PREEMPTED),
        h.Switch(700, OPENSSL, 1),
        h.SoftirqRaise(1_000, RCU),
    )
    made = timeline(tmp_path, cpu(0, *told, task=OPENSSL)).capture.timeline(4e-7, None)
    assert made.summary["start_ns"] == 400
    ends = client_and_server(made.capture.timeline(4e-7, None), "openssl", "udpsink")
    assert ends["waited_ns"].tolist() == [300, 0]
    assert ends["on_cpu_ns"].tolist() == [300, 300]
    assert ends["asleep_between_ns"].tolist() == [0, 0]

# Softirqs by context, owners and the two that talk, on timelines that are drawn and can be added up
# on paper.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError
from netcost_analysis.errors import AbsentError, ArgumentError
from support.asked import client_and_server, softirq_time, traffic_owners, traffic_pairs
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talk import talk
from support.timelines import timeline
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK

# Preempted, in the recorded format of the written captures.
PREEMPTED = 256


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
    h.SoftirqRaise(345, NET_RX),
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
    with pytest.raises(ArgumentError, match="tid, comm, cpu"):
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
    with pytest.raises(netcost.CaptureError, match="--profile anatomy"):
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
    ends = client_and_server(made, server=OPENSSL.tid)
    assert ends["comm"].tolist() == ["udpsink", "openssl"]
    with pytest.raises(AbsentError, match="no task 'nginx'"):
        client_and_server(made, client="nginx", server="openssl")


def test_windows_add_up(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL))
    halves = [made.capture.timeline(0, 1.4e-7), made.capture.timeline(1.4e-7, None)]
    assert sum(softirq_time(one)["ns"].sum() for one in halves) == softirq_time(made)["ns"].sum()
    # Softirqs keep their task and time without switches.
    bare = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL), formats=t.IRQ_FORMATS)
    assert softirq_time(bare)["ns"].sum() == 150


# What words go by: of 150 ns 60 are known to be openssl's own.
def test_figures_of_softirqs_and_owners(tmp_path: Path) -> None:
    ask = timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL)).ask.processes
    figures = ask.softirq_time()["in_all"]
    assert (figures["ns"], figures["most_ns"], figures["most_tid"]) == (150, 100, OPENSSL.tid)
    # From the first event, the raise at 95, to the last.
    assert figures["cpu_share"] == pytest.approx(150 / 505)
    assert figures["network_of_softirqs_share"] == pytest.approx(140 / 150)
    by_cpu = ask.softirq_time(by="cpu")
    assert by_cpu["in_all"]["ns"] == 150
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        by_cpu.plot()
    owners = ask.traffic_owners()
    shares = owners["owners_known"].set_index("owner_known_by")["of_network_share"]
    assert shares.to_dict() == pytest.approx({"raiser": 60 / 140, "unknown": 80 / 140})
    assert "`netcost-record --profile anatomy`" in owners.words


# Of the two that talk openssl switches and waits, and udpsink has the CPU all along.
def test_client_and_server_are_told_of_first(tmp_path: Path) -> None:
    ask = timeline(tmp_path, *talk()).ask
    both = ask.processes.client_and_server()
    assert both.frame["tid"].tolist() == [UDPSINK.tid, OPENSSL.tid]
    [longer] = both.frame["pace_longer_share"].dropna()
    assert longer == pytest.approx(0.1 * 2_000 / both.frame["on_cpu_ns"][0])
    assert ask.processes.context_switches()["tasks"]["tid"].tolist() == [OPENSSL.tid]
    verdicts = ask.migration.migration_verdict().frame
    assert verdicts["tid"].tolist()[:2] == [UDPSINK.tid, OPENSSL.tid]
    assert set(verdicts["reason"]) == {"not migrated"}


def test_without_switches_there_is_no_pair(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk(), formats=t.IRQ_FORMATS)
    assert made.ask.processes.softirq_time()["in_all"]["ns"] > 0
    assert "sched:sched_switch" in str(made.ask.processes.client_and_server().refusal)


def test_what_was_not_recorded_is_named(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk(), formats=t.SCHED_FORMATS)
    with pytest.raises(MissingEventsError, match=r"irq:softirq_entry.*--profile light"):
        softirq_time(made)


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

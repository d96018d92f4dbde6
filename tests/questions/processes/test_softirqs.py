# Softirqs by context, owners and the two that talk, on timelines that are drawn and can be added up
# on paper.

from itertools import chain
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.capture.requires import MissingEventsError, ProfileError
from netcost_analysis.errors import AbsentError, ArgumentError
from netcost_analysis.questions.processes.traffic import endpoints
from support.asked import client_and_server, softirq_time, traffic_pairs
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talking import sent, talk
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK, timeline

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


@pytest.fixture
def drawn(tmp_path: Path) -> netcost.Timeline:
    return timeline(tmp_path, cpu(0, *IN_TURN, task=OPENSSL))


def test_softirqs_by_context(drawn: netcost.Timeline) -> None:
    rows = softirq_time(drawn)
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
    assert set(softirq_time(drawn, by="comm")["comm"]) == {"openssl", "ksoftirqd/0"}
    with pytest.raises(ArgumentError, match="tid, comm, cpu"):
        softirq_time(drawn, by="device")  # type: ignore[arg-type]


# Of 150 ns 60 are known to be openssl's own, and no packet was traced.
def test_figures_of_softirqs_and_owners(drawn: netcost.Timeline) -> None:
    ask = drawn.ask.processes
    figures = ask.softirq_time()["in_all"]
    assert (figures["ns"], figures["most_ns"], figures["most_tid"]) == (150, 100, OPENSSL.tid)
    # From the first event, the raise at 95, to the last.
    assert figures["cpu_share"] == pytest.approx(150 / 505)
    assert figures["network_of_softirqs_share"] == pytest.approx(140 / 150)
    by_cpu = ask.softirq_time(by="cpu")
    assert by_cpu["in_all"]["ns"] == by_cpu.frame["ns"].sum() == 150
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        by_cpu.plot()
    owners = ask.traffic_owners()
    found = {(row.comm, row.owner_known_by): row.ns for row in owners.frame.itertuples()}
    assert found == {
        ("openssl", "raiser"): 60,
        ("openssl", "unknown"): 40,
        ("openssl", "no network"): 10,
        ("ksoftirqd/0", "unknown"): 40,
    }
    assert owners.frame["owner_tid"].dropna().tolist() == [OPENSSL.tid]
    shares = owners["owners_known"].set_index("owner_known_by")["of_network_share"]
    assert shares.to_dict() == pytest.approx({"raiser": 60 / 140, "unknown": 80 / 140})
    assert "`netcost-record --profile anatomy`" in owners.words


# Stolen from openssl, and it wakes udpsink; and one that wakes ksoftirqd, which owns nothing, while
# a hardirq on top of it wakes udpsink.
def test_who_is_woken_owns_it(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for at, inside in (
        (100, [h.Waking(120, UDPSINK)]),
        (
            200,
            [h.Waking(210, KSOFTIRQD), h.IrqEntry(220, 33), h.Waking(225, UDPSINK),
             h.IrqExit(230, 33)],
        ),
    ):  # fmt: skip
        told += [h.IrqEntry(at - 10, 32), h.SoftirqRaise(at - 9, NET_RX), h.IrqExit(at - 1, 32)]
        told += [h.SoftirqEntry(at, NET_RX), *inside, h.NapiPoll(at + 40, "eth0", 1)]
        told += [h.SoftirqExit(at + 60, NET_RX)]
    made = timeline(tmp_path, cpu(0, *told, h.Waking(300, UDPSINK), task=OPENSSL))
    answer = made.ask.processes.traffic_owners()
    rows = answer.frame[["tid", "owner_comm", "owner_known_by", "ns"]].to_numpy().tolist()
    assert rows[0] == [OPENSSL.tid, "udpsink", "wake-up", 60]
    assert [row[2:] for row in rows[1:]] == [["unknown", 50]]
    # It ran in the time of another task.
    foreign = answer["in_all"]
    assert (foreign["foreign_ns"], foreign["foreign"]["owner_comm"]) == (60, "udpsink")
    assert len(traffic_pairs(made)) == 0
    with pytest.raises(netcost.CaptureError, match="--profile anatomy"):
        client_and_server(made)


# Softirqs that their own kernel threads ran took nothing from a task.
def test_threads_that_exist_for_it_lose_nothing(tmp_path: Path) -> None:
    told = [
        h.SoftirqRaise(50, NET_RX),
        h.Switch(100, KSOFTIRQD, PREEMPTED),
        h.SoftirqEntry(110, NET_RX),
        h.Waking(120, UDPSINK),
        h.SoftirqExit(210, NET_RX),
        h.Switch(300, OPENSSL, 1),
        h.Waking(400, UDPSINK),
    ]
    answer = timeline(tmp_path, cpu(0, *told, task=OPENSSL)).ask.processes.traffic_owners()
    assert answer.frame["owner_comm"].tolist() == ["udpsink"]
    assert (answer["in_all"]["foreign_ns"], answer["in_all"]["foreign"]) == (0, None)


# Of the two that talk openssl switches and waits, and udpsink has the CPU all along.
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
    assert ends[["sent_packets", "softirq_ns_per_packet"]].isna().all(axis=None)
    [longer] = ends["pace_longer_share"].dropna()
    assert longer == pytest.approx(0.1 * 2_000 / client["on_cpu_ns"])
    assert made.ask.processes.context_switches()["tasks"]["tid"].tolist() == [OPENSSL.tid]
    verdicts = made.ask.migration.migration_verdict().frame
    assert verdicts["tid"].tolist()[:2] == [UDPSINK.tid, OPENSSL.tid]
    assert set(verdicts["reason"]) == {"not migrated"}


# A benchmark that talks to itself is no pair, and who talks a little beside it is a bystander.
@pytest.mark.parametrize(("packets", "named"), [(0, True), (10, True), (200, False)])
def test_bystanders_are_no_client_and_server(tmp_path: Path, packets: int, named: bool) -> None:
    bench = h.Task(700, "bench")
    own = [sent(at, at + 50, bench) for at in range(1_000, 1_000 + 100 * packets, 100)]
    lane = cpu(2, *chain(*own), h.Waking(30_000, bench), task=bench)
    made = timeline(tmp_path, *talk(), lane)
    assert endpoints(made) == ((UDPSINK.tid, OPENSSL.tid) if named else ())
    if named:
        assert list(client_and_server(made)["comm"]) == [UDPSINK.comm, OPENSSL.comm]
    else:
        with pytest.raises(ProfileError):
            client_and_server(made)


def test_client_and_server_as_named(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk())
    ends = client_and_server(made, client="openssl", server=UDPSINK.tid)
    assert ends["comm"].tolist() == ["openssl", "udpsink"]
    assert client_and_server(made, server=OPENSSL.tid)["comm"].tolist() == ["udpsink", "openssl"]
    with pytest.raises(AbsentError, match="no task 'nginx'"):
        client_and_server(made, client="nginx", server="openssl")


def test_windows_add_up(drawn: netcost.Timeline, tmp_path: Path) -> None:
    halves = [drawn.capture.timeline(0, 1.4e-7), drawn.capture.timeline(1.4e-7, None)]
    assert sum(softirq_time(one)["ns"].sum() for one in halves) == softirq_time(drawn)["ns"].sum()
    # Softirqs keep their task and time without switches.
    (tmp_path / "bare").mkdir()
    bare = timeline(tmp_path / "bare", cpu(0, *IN_TURN, task=OPENSSL), formats=t.IRQ_FORMATS)
    assert softirq_time(bare)["ns"].sum() == 150
    assert "sched:sched_switch" in str(bare.ask.processes.client_and_server().refusal)


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
    ends = client_and_server(made, "openssl", "udpsink")
    assert ends["waited_ns"].tolist() == [300, 0]
    assert ends["on_cpu_ns"].tolist() == [300, 300]
    assert ends["asleep_between_ns"].tolist() == [0, 0]

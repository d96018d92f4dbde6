# What the answers say of processes: figures that can be added up on paper, and sentences about what
# is not known.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.talk import talk
from support.told import KSOFTIRQD, NET_RX, OPENSSL, RCU, UDPSINK

PREEMPTED = 256


def timeline(path: Path, *cpus: Cpu, **settings: object) -> netcost.Timeline:
    known = (OPENSSL, UDPSINK, KSOFTIRQD)
    told = recording(*cpus, **{"known": known, **settings})
    return netcost.open_capture(told.write(path / "perf.data")).timeline()


# CPU 0  openssl |own NET_RX |irq: NET_RX |irq: RCU  |
#                |100    160 |200     240 |300    310|
NOBODYS = (
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
    h.NapiPoll(230, "eth0", 1),
    h.SoftirqExit(240, NET_RX),
    h.IrqEntry(290, 33),
    h.SoftirqRaise(291, RCU),
    h.IrqExit(299, 33),
    h.SoftirqEntry(300, RCU),
    h.SoftirqExit(310, RCU),
    h.Waking(400, UDPSINK),
)


def test_in_whose_time(tmp_path: Path) -> None:
    made = timeline(tmp_path, cpu(0, *NOBODYS, task=OPENSSL))
    answer = made.ask.processes.softirq_time()
    figures = answer.figures
    assert (figures["ns"], figures["most_ns"], figures["most_tid"]) == (110, 100, OPENSSL.tid)
    # From the first event, the raise at 95, to the last.
    assert figures["cpu_share"] == pytest.approx(110 / 305)
    assert figures["network_of_softirqs_share"] == pytest.approx(100 / 110)
    assert f"ran in the time of\nopenssl ({OPENSSL.tid})." in answer.words
    by_cpu = made.ask.processes.softirq_time(by="cpu")
    assert by_cpu.figures["ns"] == 110
    with pytest.raises(netcost.CaptureError, match="nothing to draw"):
        by_cpu.plot()


def test_whose_traffic_is_not_known(tmp_path: Path) -> None:
    answer = timeline(tmp_path, cpu(0, *NOBODYS, task=OPENSSL)).ask.processes.traffic_owners()
    assert answer.figures["known_by"] == [("raiser", 0.6), ("unknown", 0.4)]
    assert "- 40.0 %\n  has no known owner" in answer.words
    assert "`netcost-record --profile anatomy`" in answer.words


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


# Nobody talks: those are told of who switched most, and waited longest.
def test_switches_and_waits(tmp_path: Path) -> None:
    ask = timeline(tmp_path, cpu(0, *SWITCHES, task=OPENSSL)).ask.processes
    switched = {row["comm"]: row for row in ask.context_switches().figures["tasks"]}
    assert switched["openssl"]["involuntary"] == switched["udpsink"]["voluntary"] == 2
    waited = {task["comm"]: task["waits"] for task in ask.run_queue().figures["tasks"]}
    assert [(row["waited_after"], row["ns"]) for row in waited["openssl"]] == [("runnable", 400)]
    assert [(row["waited_after"], row["ns"]) for row in waited["udpsink"]] == [("wake-up", 130)]
    assert ask.context_switches(by="cpu").words.strip() == ""
    assert ask.run_queue(by="cpu").words.strip() == ""


# Of the two that talk openssl switches and waits, and udpsink has the CPU all along.
def test_client_and_server_are_told_of_first(tmp_path: Path) -> None:
    ask = timeline(tmp_path, *talk()).ask
    both = ask.processes.client_and_server()
    assert [row["tid"] for row in (both.figures["client"], both.figures["server"])] == [
        UDPSINK.tid,
        OPENSSL.tid,
    ]
    [pacemaker] = both.figures["pacemakers"]
    assert pacemaker["pace_longer_share"] == pytest.approx(0.1 * 2_000 / both.frame["on_cpu_ns"][0])
    assert [row["tid"] for row in ask.processes.context_switches().figures["tasks"]] == [
        OPENSSL.tid
    ]
    verdicts = ask.migration.migration_verdict()
    assert verdicts.frame["tid"].tolist()[:2] == [UDPSINK.tid, OPENSSL.tid]
    assert verdicts.words.count("Nothing was migrated") == 2


def test_nothing_happened(tmp_path: Path) -> None:
    ask = timeline(tmp_path, cpu(0, h.SoftirqRaise(5, RCU), task=OPENSSL)).ask
    assert ask.processes.softirq_time().words == "> No softirq ran in the window.\n"
    assert ask.processes.context_switches().words.startswith("> No task was switched out")
    said = {
        "traffic_owners": "No softirq of the network took any time",
        "traffic_pairs": "No softirq had a sender and a receiver",
        "run_queue": "No wait for a CPU is known",
    }
    for name, words in said.items():
        assert words in ask(name).words
    assert "nothing was migrated" in ask.migration.migrations().words
    assert ask.migration.migration_verdict().figures["found"] == []


def test_without_switches_there_is_no_pair(tmp_path: Path) -> None:
    made = timeline(tmp_path, *talk(), formats=t.IRQ_FORMATS)
    assert made.ask.processes.softirq_time().figures["ns"] > 0
    assert (
        "client_and_server needs sched:sched_switch" in made.ask.processes.client_and_server().words
    )

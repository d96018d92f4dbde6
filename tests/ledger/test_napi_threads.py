# Threaded NAPI: a handler that wakes a napi/ thread raises nothing, and is the network's all the
# same. Timers that raise NET_RX are (napi_defer_hard_irqs); a timer that does not is not.

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.devices import device_lines
from support.asked import ledger, stolen
from support.device_bundles import bundle, link, net_dev
from support.native_tables import Answer
from support.perfdata import Cpu, Recording, cpu
from support.perfdata import happenings as h
from support.perfdata.tracepoints import FORMATS
from support.told import IRQ_THREAD, NAPI_THREAD, NET_RX, OPENSSL, RCU, TIMER, UDPSINK, answer

NIC, SENT, DISK, TASKLET = 32, 33, 36, 6
WAKINGS = ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new")
KWORKER = h.Task(70, "kworker/0:1")
UNNAMED = h.Task(71, "napi/eth0-8194")


# | irq 32 wakes | napi/eth0 polls | openssl | irq 36 wakes | kworker | openssl | timer |
def round_of(now: int, *within: h.Happening) -> list[h.Happening]:
    return [
        h.IrqEntry(now, NIC, "virtio2-input.0"),
        h.Waking(now + 5, NAPI_THREAD),
        h.IrqExit(now + 10, NIC),
        h.Switch(now + 12, NAPI_THREAD),
        h.NapiPoll(now + 90, "eth0", 8),
        h.Switch(now + 100, OPENSSL, 1),
        h.IrqEntry(now + 200, DISK, "virtio1-req.0"),
        h.Waking(now + 205, KWORKER),
        h.IrqExit(now + 210, DISK),
        h.Switch(now + 212, KWORKER),
        h.Switch(now + 250, OPENSSL, 1),
        h.IrqEntry(now + 260, SENT, "virtio2-output.0"),
        h.IrqExit(now + 270, SENT),
        h.VectorEntry(now + 300),
        *within,
        h.VectorExit(now + 320),
    ]


def drawn(rounds: int = 5) -> Cpu:
    told = [one for now in range(1000, 1000 + 1000 * rounds, 1000) for one in round_of(now)]
    return cpu(0, *told, h.Waking(90_000, UDPSINK), task=OPENSSL)


def without(*names: str) -> Collection[object]:
    return tuple(one for one in FORMATS if one.event not in names)


def lines(got: Answer) -> dict[int, tuple[str | None, str, str | None]]:
    return {row["irq"]: (row["device"], row["is_network"], row["known_by"]) for row in got.irqs}


def test_a_line_that_wakes_a_napi_thread_is_its_devices(tmp_path: Path) -> None:
    got = answer(tmp_path, drawn(), known=(OPENSSL,))
    assert lines(got) == {
        NIC: ("eth0", "yes", "wake-ups"),
        # Never woke one, and its neighbour of one stem did.
        SENT: ("eth0", "yes", "stem"),
        DISK: (None, "no", None),
    }


def test_without_wake_ups_the_thread_that_runs_next_tells(tmp_path: Path) -> None:
    got = answer(tmp_path, drawn(), known=(OPENSSL,), formats=without(*WAKINGS))
    assert lines(got) == {
        NIC: ("eth0", "yes", "switches"),
        SENT: ("eth0", "yes", "stem"),
        # Nothing says whom it woke.
        DISK: (None, "unknown", None),
    }


# threadirqs: the handler wakes the line's thread, which raises nothing and wakes the NAPI thread.
# Its own time is the line's.
def test_a_line_whose_thread_wakes_a_napi_thread_is_its_devices(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for now in range(1000, 6000, 1000):
        told += [h.IrqEntry(now, NIC, "virtio2-input.0"), h.Waking(now + 5, IRQ_THREAD)]
        told += [h.IrqExit(now + 10, NIC), h.Switch(now + 20, IRQ_THREAD)]
        told += [h.Waking(now + 40, NAPI_THREAD), h.Switch(now + 50, NAPI_THREAD, 1)]
        told += [h.NapiPoll(now + 90), h.Switch(now + 100, OPENSSL, 1)]
    drawing = cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL)
    got = answer(tmp_path, drawing, known=(OPENSSL,))
    assert lines(got) == {NIC: ("eth0", "yes", "wake-ups")}
    own = [row for row in got.sums if row["tid"] == IRQ_THREAD.tid and row["context"] == "task"]
    assert {row["is_network"] for row in own} == {"yes"}


# A USB NIC: its handler leaves the work to a tasklet, and that raises NET_RX. Whose tasklet it was
# nobody knows.
def test_a_line_that_leaves_its_work_to_tasklets_is_unknown(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for now in range(1000, 6000, 1000):
        told += [h.IrqEntry(now, NIC, "xhci_hcd"), h.SoftirqRaise(now + 5, TASKLET)]
        told += [h.IrqExit(now + 10, NIC), h.SoftirqEntry(now + 10, TASKLET)]
        told += [h.SoftirqRaise(now + 20, NET_RX), h.SoftirqExit(now + 30, TASKLET)]
        told += [h.SoftirqEntry(now + 30, NET_RX), h.NapiPoll(now + 60, "usb0")]
        told += [h.SoftirqExit(now + 60, NET_RX), h.IrqEntry(now + 70, DISK, "nvme0q1")]
        told += [h.IrqExit(now + 80, DISK)]
    drawing = cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL)
    got = answer(tmp_path, drawing, known=(OPENSSL,))
    assert lines(got) == {NIC: (None, "unknown", None), DISK: (None, "no", None)}
    assert timers(got, "softirq")["no"] == 0


# The thread runs on CPU 1: its next switch-in is not the handler's.
def test_without_wake_ups_a_thread_elsewhere_leaves_the_line_unknown(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    there: list[h.Happening] = []
    for now in range(1000, 6000, 1000):
        told += [h.IrqEntry(now, NIC, "nic"), h.IrqExit(now + 10, NIC)]
        there += [h.Switch(now + 30, NAPI_THREAD), h.NapiPoll(now + 50), h.Switch(now + 60, IDLE_1)]
    last = h.Switch(9000, UDPSINK)
    two = (cpu(0, *told, last, task=OPENSSL), cpu(1, *there, task=IDLE_1))
    blind = answer(tmp_path, *two, known=(OPENSSL,), formats=without(*WAKINGS))
    assert lines(blind) == {NIC: (None, "unknown", None)}
    # With them the line is known not to.
    assert lines(answer(tmp_path, *two, known=(OPENSSL,))) == {NIC: (None, "no", None)}


IDLE_1 = h.idle(1)


# Without raises nobody knows what an interrupt did; without wake-ups and names neither.
@pytest.mark.parametrize(
    ("missing", "wanted"),
    [
        (("irq:softirq_raise",), "unknown"),
        ((*WAKINGS, "sched:sched_switch", "napi:napi_poll"), "unknown"),
        ((*WAKINGS,), "no"),
        ((), "no"),
    ],
)
def test_no_network_is_said_only_where_it_would_have_been_seen(
    tmp_path: Path, missing: tuple[str, ...], wanted: str
) -> None:
    told: list[h.Happening] = []
    for now in range(1000, 6000, 1000):
        told += [h.IrqEntry(now, DISK, "nvme0q1"), h.IrqExit(now + 10, DISK)]
        told += [h.VectorEntry(now + 20), h.SoftirqRaise(now + 25, TIMER), h.VectorExit(now + 30)]
        told += [h.SoftirqEntry(now + 31, TIMER), h.SoftirqExit(now + 40, TIMER)]
    drawing = cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL)
    got = answer(tmp_path, drawing, known=(OPENSSL,), formats=without(*missing))
    assert lines(got) == {DISK: (None, wanted, None)}
    said = {row["name"]: row["is_network"] for row in got.sums if row["name"]}
    assert said == {"nvme0q1": wanted, "local_timer": wanted, "TIMER": wanted}


# A handler whose end was lost may have done anything.
def test_a_handler_that_was_not_seen_to_its_end_is_unknown(tmp_path: Path) -> None:
    told = (
        h.IrqEntry(1000, DISK, "nvme0q1"),
        h.VectorEntry(1005),
        h.Lost(2000, 3),
        h.Switch(3000, UDPSINK),
    )
    got = answer(tmp_path, cpu(0, *told, task=OPENSSL), known=(OPENSSL,))
    assert lines(got) == {DISK: (None, "unknown", None)}
    said = {row["context"]: row["is_network"] for row in got.sums if row["ns"] and row["name"]}
    assert set(said.values()) <= {"unknown"}


def timers(got: Answer, context: str = "vector") -> Counter[str]:
    spent: Counter[str] = Counter()
    for row in got.sums:
        if row["context"] == context:
            spent[row["is_network"]] += row["ns"]
    return spent


# Two of five timers raise NET_RX: 20 ns each. A disk's softirq does not become the network's.
def test_a_timer_that_raises_net_rx_is_the_nics_interrupt(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for place, now in enumerate(range(1000, 6000, 1000)):
        raised = [h.SoftirqRaise(now + 10, NET_RX)] if place < 2 else []
        told += [h.VectorEntry(now), h.SoftirqRaise(now + 5, RCU), *raised, h.VectorExit(now + 20)]
        if raised:
            told += [h.SoftirqEntry(now + 21, NET_RX), h.NapiPoll(now + 60)]
            told += [h.SoftirqExit(now + 61, NET_RX)]
        told += [h.SoftirqEntry(now + 70, RCU), h.SoftirqExit(now + 80, RCU)]
    got = answer(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=(OPENSSL,))
    assert timers(got) == {"yes": 40, "no": 60}
    assert {row["is_network"] for row in got.sums if row["name"] == "RCU"} == {"no"}


# gro_flush_timeout with threaded NAPI: the timer wakes the thread.
def test_a_timer_that_wakes_a_napi_thread_is_the_nics_interrupt(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for now in range(1000, 4000, 1000):
        told += [h.VectorEntry(now), h.Waking(now + 10, NAPI_THREAD), h.VectorExit(now + 20)]
        told += [
            h.Switch(now + 30, NAPI_THREAD),
            h.NapiPoll(now + 60),
            h.Switch(now + 70, OPENSSL, 1),
        ]
        told += [h.VectorEntry(now + 100), h.Waking(now + 105, KWORKER), h.VectorExit(now + 110)]
        told += [h.Switch(now + 130, KWORKER), h.Switch(now + 140, OPENSSL, 1)]
    known = (OPENSSL, NAPI_THREAD, KWORKER)
    got = answer(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=known)
    assert timers(got) == {"yes": 60, "no": 30}


# Whom the first timer wakes has no name yet, and there are NAPI threads: it is doubtful.
def test_a_timer_that_wakes_a_task_without_a_name_is_doubtful(tmp_path: Path) -> None:
    told = [h.VectorEntry(1000), h.Waking(1010, UNNAMED), h.VectorExit(1020)]
    told += [h.Switch(1030, NAPI_THREAD), h.NapiPoll(1060), h.Switch(1070, OPENSSL, 1)]
    told += [h.VectorEntry(2000), h.VectorExit(2020), h.Waking(9000, UDPSINK)]
    got = answer(tmp_path, cpu(0, *told, task=OPENSSL), known=(OPENSSL,))
    assert timers(got) == {"unknown": 20, "no": 20}


# A run of the TIMER softirq that raises NET_RX (a driver's poll, a retransmission to this host) is
# the network's from its entry to its exit; interrupts on top of it speak for themselves.
def test_a_softirq_that_raises_net_rx_is_network(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for place, now in enumerate(range(1000, 6000, 1000)):
        told += [h.VectorEntry(now), h.SoftirqRaise(now + 5, TIMER), h.VectorExit(now + 20)]
        told += [h.SoftirqEntry(now + 20, TIMER)]
        told += [h.SoftirqRaise(now + 30, NET_RX)] if place == 0 else []
        told += [
            h.IrqEntry(now + 40, NIC, "eth0"),
            h.SoftirqRaise(now + 41, NET_RX),
            h.IrqExit(now + 45, NIC),
        ]
        told += [h.SoftirqExit(now + 60, TIMER), h.SoftirqEntry(now + 60, NET_RX)]
        told += [h.NapiPoll(now + 90), h.SoftirqExit(now + 90, NET_RX)]
    got = answer(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=(OPENSSL,))
    timer = Counter[str]()
    for row in got.sums:
        if row["name"] == "TIMER":
            timer[row["is_network"]] += row["ns"]
    assert timer == {"yes": 35, "no": 4 * 35}


INTERRUPTS = (
    "     CPU0\n 36:  1  PCI-MSIX-0000:00:05.0 1-edge virtio1-req.0\n"
    " 40:  9  PCI-MSIX-0000:00:03.0 1-edge qdma\n 41:  9  PCI-MSIX 2-edge virtio9-config\n"
)


# What the recording does not tell, the bundle does: everywhere, not only among the devices.
def test_the_bundles_interrupts_name_a_lines_device(tmp_path: Path) -> None:
    told: list[h.Happening] = []
    for now in range(1000, 6000, 1000):
        for place, (irq, name) in enumerate(
            [(DISK, "virtio1-req.0"), (40, "qdma"), (41, "virtio9-config")]
        ):
            told += [h.IrqEntry(now + 20 * place, irq, name), h.IrqExit(now + 20 * place + 10, irq)]
    files = {
        "before/net_dev": net_dev(eth0=(0, 0, 0, 0), eth1=(0, 0, 0, 0)),
        "before/ip_link.json": [
            link("eth0", parentdev="0000:00:03.0"),
            link("eth1", parentdev="virtio9"),
        ],
        "before/interrupts": INTERRUPTS,
    }
    drawing = cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL)
    timeline = netcost.open_capture(bundle(tmp_path, files, drawing).path).timeline()
    found = timeline.irqs.set_index("irq")
    assert found["device"].astype(object).where(found["device"].notna(), None).to_dict() == {
        DISK: None, 40: "eth0", 41: "eth1",
    }  # fmt: skip
    assert found["is_network"].to_dict() == {DISK: "no", 40: "yes", 41: "yes"}
    assert device_lines(timeline).frame.set_index("irq")["known_by"].to_dict()[40] == "bus"
    assert stolen(timeline).victims.loc["openssl", "stolen_network_ns"] == 100
    assert [one for one in ledger(timeline).ns.columns if one.endswith("qdma (eth0)")]


# The point itself: nobody is told that packets took nothing from openssl.
def test_openssls_loss_to_lines_of_napi_threads_is_the_networks(tmp_path: Path) -> None:
    path = Recording((drawn(),), known=(OPENSSL,)).write(tmp_path / "perf.data")
    lost = stolen(netcost.open_capture(path).timeline()).victims.loc["openssl"]
    assert lost["stolen_network_ns"] == 5 * (10 + 10)

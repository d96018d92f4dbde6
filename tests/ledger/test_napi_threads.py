# Threaded NAPI: a handler that wakes a napi/ thread raises nothing, and is the network's all the
# same. Timers that raise NET_RX are (napi_defer_hard_irqs); a timer that does not is not.

from collections import Counter
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.devices import device_lines
from support.asked import ledger, stolen
from support.device_bundles import bundle, link, net_dev
from support.drawn import drawn, happenings, ledger_of, recorded, rounds
from support.native_tables import Answer
from support.perfdata import Cpu, cpu
from support.perfdata import happenings as h
from support.perfdata.formats import Format
from support.perfdata.tracepoints import FORMATS
from support.told import IRQ_THREAD, OPENSSL, UDPSINK

NIC, SENT, DISK = 32, 33, 36
NAPI, KWORKER = "napi/eth0-8193", "kworker/0:1=70"
WAKINGS = ("sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new")
POLLS = rounds(
    f"0 irq {NIC} virtio2-input.0, 5 waking {NAPI}, 10 end irq {NIC}, 12 switch {NAPI}, "
    f"90 poll eth0 8, 100 switch openssl asleep, 200 irq {DISK} virtio1-req.0, "
    f"205 waking {KWORKER}, 210 end irq {DISK}, 212 switch {KWORKER}, 250 switch openssl asleep, "
    f"260 irq {SENT} virtio2-output.0, 270 end irq {SENT}, 300 vector, 320 end vector"
)
# threadirqs: the handler wakes the line's thread, which raises nothing and wakes the NAPI thread.
THREADED = rounds(
    f"0 irq {NIC} virtio2-input.0, 5 waking irq/32-virtio2-, 10 end irq {NIC}, "
    f"20 switch irq/32-virtio2-, 40 waking {NAPI}, 50 switch {NAPI} asleep, 90 poll, "
    "100 switch openssl asleep"
)
# A USB NIC: its handler leaves the work to a tasklet, and that raises NET_RX. Whose tasklet it was
# nobody knows.
TASKLET = rounds(
    f"0 irq {NIC} xhci_hcd, 5 raise TASKLET, 10 end irq {NIC}, 10 TASKLET, 20 raise NET_RX, "
    "30 end TASKLET, 30 NET_RX, 60 poll usb0, 60 end NET_RX, "
    f"70 irq {DISK} nvme0q1, 80 end irq {DISK}"
)
# The thread runs on CPU 1: its next switch-in is not the handler's.
ELSEWHERE = (
    rounds(f"0 irq {NIC} nic, 10 end irq {NIC}", 5, h.Switch(9000, UDPSINK)),
    cpu(
        1,
        *happenings(f"30 switch {NAPI}, 50 poll, 60 switch idle", range(1000, 6000, 1000), 1),
        h.Switch(9000, UDPSINK),
    ),
)
# A handler whose end was lost may have done anything.
LOST = drawn(
    f"CPU 0 openssl: 1000 irq {DISK} nvme0q1, 1005 vector, 2000 lost 3, 3000 switch udpsink"
)


def without(*names: str) -> tuple[Format, ...]:
    return tuple(one for one in FORMATS if one.event not in names)


@pytest.mark.parametrize(
    ("told", "missing", "lines"),
    [
        (
            # SENT never woke one, and its neighbour of one stem did.
            *((POLLS,), ()),
            {
                NIC: ("eth0", "yes", "wake-ups"),
                SENT: ("eth0", "yes", "stem"),
                DISK: (None, "no", None),
            },
        ),
        (
            # By the thread that runs next. Nothing says whom DISK woke.
            *((POLLS,), WAKINGS),
            {
                NIC: ("eth0", "yes", "switches"),
                SENT: ("eth0", "yes", "stem"),
                DISK: (None, "unknown", None),
            },
        ),
        ((THREADED,), (), {NIC: ("eth0", "yes", "wake-ups")}),
        ((TASKLET,), (), {NIC: (None, "unknown", None), DISK: (None, "no", None)}),
        (ELSEWHERE, WAKINGS, {NIC: (None, "unknown", None)}),
        (ELSEWHERE, (), {NIC: (None, "no", None)}),
        (LOST, (), {DISK: (None, "unknown", None)}),
    ],
    ids=["wakes", "runs next", "threadirqs", "tasklet", "elsewhere?", "elsewhere", "lost"],
)
def test_whose_a_line_is(
    tmp_path: Path,
    told: tuple[Cpu, ...],
    missing: tuple[str, ...],
    lines: dict[int, tuple[str | None, str, str | None]],
) -> None:
    got = ledger_of(tmp_path, *told, known=(OPENSSL,), formats=without(*missing))
    assert {
        row["irq"]: (row["device"], row["is_network"], row["known_by"]) for row in got.irqs
    } == lines
    # So is the time of a line's thread, and of what the line leaves to others.
    own = [row for row in got.sums if row["tid"] == IRQ_THREAD.tid and row["context"] == "task"]
    assert {row["is_network"] for row in own} <= {"yes"}
    assert len(own) == (told == (THREADED,))
    if told == (TASKLET,):
        assert spent(got, "softirq")["no"] == 0
    if told == LOST:
        assert spent(got, "hardirq").keys() | spent(got, "vector").keys() <= {"unknown"}


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
    told = rounds(
        f"0 irq {DISK} nvme0q1, 10 end irq {DISK}, 20 vector, 25 raise TIMER, 30 end vector, "
        "31 TIMER, 40 end TIMER"
    )
    got = ledger_of(tmp_path, told, formats=without(*missing))
    assert [(row["irq"], row["is_network"]) for row in got.irqs] == [(DISK, wanted)]
    said = {row["name"]: row["is_network"] for row in got.sums if row["name"]}
    assert said == {"nvme0q1": wanted, "local_timer": wanted, "TIMER": wanted}


def spent(got: Answer, context: str, name: str | None = None) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in got.sums:
        if row["context"] == context and name in (None, row["name"]):
            found[row["is_network"]] += row["ns"]
    return found


QUIET = "0 vector, 5 raise RCU, 20 end vector, 70 RCU, 80 end RCU"
RAISES = (
    "0 vector, 5 raise RCU, 10 raise NET_RX, 20 end vector, 21 NET_RX, 60 poll, 61 end NET_RX, "
    "70 RCU, 80 end RCU"
)


@pytest.mark.parametrize(
    ("told", "timers"),
    [
        # Two of five raise NET_RX: 20 ns each. RCU's softirq does not become the network's.
        (
            [
                *happenings(RAISES, (1000, 2000)),
                *happenings(QUIET, (3000, 4000, 5000)),
            ],
            {"yes": 40, "no": 60},
        ),
        # gro_flush_timeout with threaded NAPI: the timer wakes the thread.
        (
            happenings(
                f"0 vector, 10 waking {NAPI}, 20 end vector, 30 switch {NAPI}, 60 poll, "
                f"70 switch openssl asleep, 100 vector, 105 waking {KWORKER}, 110 end vector, "
                f"130 switch {KWORKER}, 140 switch openssl asleep",
                (1000, 2000, 3000),
            ),
            {"yes": 60, "no": 30},
        ),
        # Whom the first one wakes has no name yet, and there are NAPI threads: it is doubtful.
        (
            happenings(
                "1000 vector, 1010 waking napi/eth0-8194=71, 1020 end vector, "
                f"1030 switch {NAPI}, 1060 poll, 1070 switch openssl asleep, "
                "2000 vector, 2020 end vector"
            ),
            {"unknown": 20, "no": 20},
        ),
    ],
    ids=["raises", "wakes", "wakes whom?"],
)
def test_whose_a_timer_is(tmp_path: Path, told: list[h.Happening], timers: dict[str, int]) -> None:
    known = (OPENSSL, h.Task(30, NAPI), h.Task(70, "kworker/0:1")) if "no" in timers else (OPENSSL,)
    got = ledger_of(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL), known=known)
    assert spent(got, "vector") == timers
    assert spent(got, "softirq", "RCU").keys() <= {"no"}


# A run of the TIMER softirq that raises NET_RX (a driver's poll, a retransmission to this host) is
# the network's from its entry to its exit; interrupts on top of it speak for themselves.
def test_a_softirq_that_raises_net_rx_is_network(tmp_path: Path) -> None:
    raises = "0 vector, 5 raise TIMER, 20 end vector, 20 TIMER, {}40 irq 32 eth0, 41 raise NET_RX, "
    raises += "45 end irq 32, 60 end TIMER, 60 NET_RX, 90 poll, 90 end NET_RX"
    told = happenings(raises.format("30 raise NET_RX, "), [1000])
    told += happenings(raises.format(""), range(2000, 6000, 1000))
    got = ledger_of(tmp_path, cpu(0, *told, h.Waking(9000, UDPSINK), task=OPENSSL))
    assert spent(got, "softirq", "TIMER") == {"yes": 35, "no": 4 * 35}


INTERRUPTS = (
    "     CPU0\n 36:  1  PCI-MSIX-0000:00:05.0 1-edge virtio1-req.0\n"
    " 40:  9  PCI-MSIX-0000:00:03.0 1-edge qdma\n 41:  9  PCI-MSIX 2-edge virtio9-config\n"
)


# What the recording does not tell, the bundle does: everywhere, not only among the devices.
def test_the_bundles_interrupts_name_a_lines_device(tmp_path: Path) -> None:
    files = {
        "before/net_dev": net_dev(eth0=(0, 0, 0, 0), eth1=(0, 0, 0, 0)),
        "before/ip_link.json": [
            link("eth0", parentdev="0000:00:03.0"),
            link("eth1", parentdev="virtio9"),
        ],
        "before/interrupts": INTERRUPTS,
    }
    told = rounds(
        f"0 irq {DISK} virtio1-req.0, 10 end irq {DISK}, 20 irq 40 qdma, 30 end irq 40, "
        "40 irq 41 virtio9-config, 50 end irq 41"
    )
    timeline = netcost.open_capture(bundle(tmp_path, files, told).path).timeline()
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
    path = recorded(POLLS).write(tmp_path / "perf.data")
    lost = stolen(netcost.open_capture(path).timeline()).victims.loc["openssl"]
    assert lost["stolen_network_ns"] == 5 * (10 + 10)

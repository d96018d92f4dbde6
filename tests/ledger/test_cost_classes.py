# Whose time it was: origin from all raises since the last entry, and the class that follows.

from pathlib import Path

import pytest

from support.drawn import drawn, ledger_of
from support.perfdata.tracepoints import FORMATS
from support.told import NET_RX

INTERRUPT = "100 irq 32, 105 raise NET_RX, 108 end irq 32"


@pytest.mark.parametrize(
    ("before", "origin", "cost_class"),
    [
        (INTERRUPT, "irq", "stolen"),
        ("100 bh off, 105 raise NET_RX, 110 bh on", "task", "synchronous"),
        # It runs at the task's local_bh_enable: "an irq exit right before an entry" is neither
        # needed nor enough.
        (f"90 bh off, {INTERRUPT}, 110 bh on", "irq", "stolen"),
        # In one TCP capture 88 of 369, and of nobody 12: who can say how much was whose?
        (f"90 bh off, 95 raise NET_RX, {INTERRUPT}, 110 bh on", "mixed", "stolen_or_synchronous"),
        ("50 raise NET_RX, 60 NET_RX, 70 end NET_RX", "unknown", "stolen_or_synchronous"),
        (
            "90 irq 32, 95 raise NET_TX, 99 end irq 32, "
            "100 NET_TX, 105 raise NET_RX, 110 end NET_TX",
            *("softirq", "stolen"),
        ),
        (
            "90 bh off, 95 raise NET_TX, 99 bh on, 100 NET_TX, 105 raise NET_RX, 110 end NET_TX",
            *("softirq", "synchronous"),
        ),
    ],
    ids=["hardirq", "task", "hardirq at bh on", "both", "nobody", "its softirq", "task's softirq"],
)
def test_who_raised_a_softirq_says_whose_it_is(
    tmp_path: Path, before: str, origin: str, cost_class: str
) -> None:
    told = f"CPU 0 openssl: {before}, 111 NET_RX, 150 end NET_RX, 200 waking udpsink"
    [*_, last] = (row for row in ledger_of(tmp_path, told).softirqs if row["vec"] == NET_RX)
    assert (last["origin"], last["cost_class"]) == (origin, cost_class)


# On an idle CPU nobody is robbed; in a kthread the work was scheduled, with the interrupts on top
# of it. The last two only look like a kthread's.
@pytest.mark.parametrize(
    ("task", "cost_class"),
    [
        ("idle", "from_idle"),
        ("ksoftirqd/0", "scheduled"),
        ("irq/32-virtio2-", "scheduled"),
        ("rcuc/0=40", "scheduled"),
        ("backlog_napi/0=41", "scheduled"),
        ("vhost-8180=42", "scheduled"),
        ("ktimers/0", "scheduled"),
        ("openssl", "stolen"),
        ("irqbalance=44", "stolen"),
        ("napier=45", "stolen"),
    ],
)
def test_the_class_follows_who_was_current(tmp_path: Path, task: str, cost_class: str) -> None:
    got = ledger_of(
        tmp_path,
        f"CPU 0 {task}: {INTERRUPT}, 111 NET_RX, 120 irq 33, 130 end irq 33, 140 poll eth0 4, "
        "150 end NET_RX, 160 waking udpsink",
    )
    interrupts = [row for row in got.segments if row["context"] not in ("task", "idle")]
    assert {row["cost_class"] for row in interrupts} == {cost_class}
    assert {row["context"] for row in interrupts} == {"hardirq", "softirq", "poll"}
    assert [row["in_kthread"] for row in got.softirqs] == [cost_class == "scheduled"]


# The steering CPU runs NET_RX without a poll and sends an IPI: 6,002 of 7,838 NET_RX in one
# capture, its own thief and outside of all per-poll figures.
def test_net_rx_without_a_poll_is_rps_dispatch(tmp_path: Path) -> None:
    got = ledger_of(
        tmp_path,
        "CPU 0 openssl: 100 raise NET_RX, 110 NET_RX, 120 end NET_RX, "
        "130 raise NET_RX, 140 NET_RX, 150 poll eth0 2, 160 end NET_RX, "
        "170 raise TIMER, 180 TIMER, 190 end TIMER",
    )
    names = {row["start_ns"]: row["name"] for row in got.segments if row["context"] == "softirq"}
    assert names == {110: "RPS dispatch", 150: "NET_RX", 180: "TIMER"}
    named = {row["name"]: row["ns"] for row in got.sums if row["context"] == "softirq"}
    assert named == {"RPS dispatch": 10, "NET_RX": 10, "TIMER": 10}
    assert len(got.polls) == 1


# The second interrupt came when the run of softirqs had taken what was pending, and before the
# entry. RPS has no part in it, and both interrupts steal.
def test_an_empty_net_rx_is_that_of_the_interrupt_before(tmp_path: Path) -> None:
    got = ledger_of(
        tmp_path,
        "CPU 0 openssl: 90 irq 25, 92 raise NET_RX, 95 end irq 25, "
        "100 irq 26, 102 raise NET_RX, 105 end irq 26, "
        "110 NET_RX, 120 poll eth0 2, 130 poll eth1 3, 140 end NET_RX, 150 NET_RX, 160 end NET_RX",
    )
    assert [(row["origin"], row["cost_class"]) for row in got.softirqs] == [("irq", "stolen")] * 2
    named = {row["name"]: row["ns"] for row in got.sums if row["context"] == "softirq"}
    assert named == {"NET_RX": 20}


# Recordings without softirq_raise: common_preempt_count at softirq_entry tells where a softirq
# comes from, once sched_switch of the same recording has shown how the recorder counts.


# An interrupt, NET_RX at its exit; NET_RX at the local_bh_enable of a send; an interrupt when idle.
TOLD = drawn(
    "CPU 0: 10 switch openssl, "
    "100 irq 25, 110 end irq 25, 120 NET_RX, 160 poll eth0 1, 170 end NET_RX, "
    "200 bh off, 210 NET_RX, 250 poll eth0 1, 260 end NET_RX, 270 bh on, 400 switch idle, "
    "500 irq 25, 510 end irq 25, 520 NET_RX, 560 poll eth0 1, 570 end NET_RX"
)
TAKEN = [("irq", "stolen"), ("unknown", "stolen_or_synchronous"), ("irq", "from_idle")]


@pytest.mark.parametrize("preemption", ["perf", "ftrace", "none"])
@pytest.mark.parametrize("missing", [(), ("sched:sched_switch",)], ids=["switches", "none"])
def test_the_depth_of_preemption_tells_the_origin(
    preemption: str, missing: tuple[str, ...], tmp_path: Path
) -> None:
    formats = tuple(one for one in FORMATS if one.event not in ("irq:softirq_raise", *missing))
    got = ledger_of(tmp_path, *TOLD, preemption=preemption, formats=formats)
    if missing:
        assert {row["origin"] for row in got.softirqs} == {"unknown"}
    else:
        assert [(row["origin"], row["cost_class"]) for row in got.softirqs] == TAKEN

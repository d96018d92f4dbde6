# What wakes idle CPUs: drawn wake-ups of every kind, and samples counted once more, event by event.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.kept import kept
from support.perfdata import Cpu, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import IDLE, NET_RX, OPENSSL

LINE, UNSEEN = "irq 32 eth0-rx-0 (eth0)", "a task, and no interrupt seen"


def asked(folder: Path, *cpus: Cpu, **settings: object) -> netcost.Answer:
    known = (OPENSSL,)
    path = recording(*cpus, known=known, **settings).write(folder / "perf.data")
    return netcost.open_capture(path).ask.energy.idle_wakeups()


def counts(answer: netcost.Answer) -> dict[tuple[str, str], tuple[int, int, int]]:
    frame = answer.frame
    return {
        (row.waker, row.woken_by): (row.wakeups, row.network_wakeups, row.task_wakeups)
        for row in frame.itertuples()
    }


def interrupt(at: int, packets: int = 4) -> list[h.Happening]:
    # With its softirq 500 ns behind it, in which the idle task is current.
    return [
        h.IrqEntry(at, 32, "eth0-rx-0"),
        h.SoftirqRaise(at + 500, NET_RX),
        h.IrqExit(at + 1_000, 32),
        h.SoftirqEntry(at + 1_500, NET_RX),
        h.NapiPoll(at + 5_000, "eth0", packets),
        h.SoftirqExit(at + 6_000, NET_RX),
    ]


def test_a_packets_interrupt_is_one_wake_up(tmp_path: Path) -> None:
    told = [one for at in (100_000, 300_000) for one in interrupt(at)]
    answer = asked(tmp_path, cpu(0, h.SoftirqRaise(1_000, 9), *told, h.SoftirqRaise(500_000, 9),
                                 task=IDLE))  # fmt: skip
    assert counts(answer) == {("network interrupt", LINE): (2, 2, 0)}
    # From the first event, at 1 µs, to the first interrupt, and from the first softirq's end.
    assert answer.frame["idle_before_ns"].tolist() == [(99_000 + 194_000) / 2]
    assert (answer["packets_device"], answer["packets"]) == ("eth0", 8)
    assert answer["network_wakeups_per_packet"] == 0.25
    assert (answer["all_network_wakeups"], answer["taskless_wakeups"]) == (2, 2)


def test_the_task_that_an_interrupt_woke_is_of_the_same_wake_up(tmp_path: Path) -> None:
    told = [
        h.SoftirqRaise(1_000, 9),
        h.VectorEntry(100_000, "reschedule"),
        h.VectorExit(101_000, "reschedule"),
        h.Switch(103_000, OPENSSL, 0),
        # Network work on top of the task is no part of what woke the CPU.
        *interrupt(150_000),
        h.Switch(200_000, IDLE, 1),
        h.Switch(900_000, OPENSSL, 0),
        h.Switch(950_000, IDLE, 1),
        h.SoftirqRaise(990_000, 9),
    ]
    answer = asked(tmp_path, cpu(0, *told, task=IDLE))
    assert counts(answer) == {("IPI", "reschedule"): (1, 0, 1), ("unrecorded", UNSEEN): (1, 0, 1)}
    assert answer["by_cpu"]["idle_share"].tolist() == [
        pytest.approx((99_000 + 2_000 + 700_000 + 40_000) / 989_000)
    ]
    # With no patience the idle task that runs between is a stretch of its own.
    again = answer.capture.ask.energy.idle_wakeups(gap_ns=1_000)
    assert counts(again)["IPI", "reschedule"] == (1, 0, 0)
    assert counts(again)["unrecorded", UNSEEN] == (2, 0, 2)


def test_what_nobody_is_known_to_have_had_is_no_wake_up(tmp_path: Path) -> None:
    told = [
        h.SoftirqRaise(1_000, 9),
        *interrupt(100_000),
        h.Lost(300_000, 50),
        *interrupt(400_000),
        h.SoftirqRaise(500_000, 9),
    ]
    answer = asked(tmp_path, cpu(0, *told, task=IDLE))
    assert answer.frame["wakeups"].sum() == 2


def test_a_cpu_that_never_idles_is_woken_by_nothing(tmp_path: Path) -> None:
    answer = asked(tmp_path, cpu(0, *interrupt(100_000), h.SoftirqRaise(500_000, 9), task=OPENSSL))
    assert answer.frame.empty
    assert answer.words
    assert answer["by_cpu"]["wakeups"].tolist() == [0]
    assert answer["network_wakeups_per_packet"] == 0


def test_without_switches_nobody_knows_who_idled(tmp_path: Path) -> None:
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_SWITCH)
    answer = asked(tmp_path, cpu(0, *interrupt(100_000), task=IDLE), formats=formats)
    assert "sched:sched_switch" in str(answer.refusal)


# The same definition, one segment after the other.
def walked(timeline: netcost.Timeline) -> dict[str, int]:
    found = {"wakeups": 0, "network_wakeups": 0, "task_wakeups": 0}
    inside = {"hardirq", "vector", "softirq", "poll", "nmi"}
    for _, segments in timeline.segments.groupby("cpu"):
        rows = list(segments.itertuples())
        idle, open_, network, task = False, False, False, False
        for before, row, after in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            if row.context in ("idle", "unknown"):
                led_on = (
                    row.context == "idle"
                    and before is not None
                    and before.context in inside
                    and after is not None
                    and after.context in ("task", "softirq", "poll")
                    and row.end_ns - row.start_ns <= 20_000
                )
                if led_on:
                    continue
                open_, idle = False, row.context == "idle"
                continue
            if idle:
                found["wakeups"] += 1
                idle, open_, network, task = False, True, False, False
            if not open_:
                continue
            if row.context == "task":
                found["task_wakeups"] += not task
                task = True
            elif row.is_network == "yes" and not task:
                found["network_wakeups"] += not network
                network = True
    return found


@pytest.mark.parametrize("name", ["nic-stolen-time", "nic-guest/6.12-nic-1-flows.netcost.tar.zst"])
def test_samples_are_counted_alike_segment_by_segment(name: str) -> None:
    timeline = kept(name).timeline()
    found = timeline.ask.energy.idle_wakeups()
    assert found.frame[[*walked(timeline)]].sum().to_dict() == walked(timeline)
    assert found["by_cpu"][[*walked(timeline)]].sum().to_dict() == walked(timeline)
    assert found.frame["wakeups_share"].sum() == pytest.approx(1)

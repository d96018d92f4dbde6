# What wakes idle CPUs: drawn wake-ups of every kind, and samples counted once more, event by event.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.kept import kept
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import IDLE, NET_RX, OPENSSL

LINE, UNSEEN = "irq 32 eth0-rx-0 (eth0)", "a task, and no interrupt seen"


# From the first event, at 1 µs.
def asked(
    folder: Path, *told: h.Happening, task: h.Task = IDLE, **settings: object
) -> netcost.Answer:
    one = cpu(0, h.SoftirqRaise(1_000, 9), *told, task=task)
    folder.mkdir(exist_ok=True)
    path = recording(one, known=(OPENSSL,), **settings).write(folder / "perf.data")
    return netcost.open_capture(path).ask.energy.idle_wakeups()


def counts(answer: netcost.Answer) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {
        (row.waker, row.woken_by): (row.wakeups, row.network_wakeups, row.task_wakeups)
        for row in answer.frame.itertuples()
    }


# With its softirq 500 ns behind it, in which the idle task is current.
def interrupt(at: int) -> list[h.Happening]:
    return [
        h.IrqEntry(at, 32, "eth0-rx-0"),
        h.SoftirqRaise(at + 500, NET_RX),
        h.IrqExit(at + 1_000, 32),
        h.SoftirqEntry(at + 1_500, NET_RX),
        h.NapiPoll(at + 5_000, "eth0", 4),
        h.SoftirqExit(at + 6_000, NET_RX),
    ]


END = h.SoftirqRaise(500_000, 9)


def test_a_packets_interrupt_is_one_wake_up(tmp_path: Path) -> None:
    answer = asked(tmp_path, *interrupt(100_000), *interrupt(300_000), END)
    assert counts(answer) == {("network interrupt", LINE): (2, 2, 0)}
    # To the first interrupt, and from the first softirq's end.
    assert answer.frame["idle_before_ns"].tolist() == [(99_000 + 194_000) / 2]
    assert (answer["packets_device"], answer["packets"]) == ("eth0", 8)
    assert answer["network_wakeups_per_packet"] == 0.25
    assert (answer["all_network_wakeups"], answer["taskless_wakeups"]) == (2, 2)


def test_the_task_that_an_interrupt_woke_is_of_the_same_wake_up(tmp_path: Path) -> None:
    answer = asked(
        tmp_path,
        h.VectorEntry(100_000, "reschedule"),
        h.VectorExit(101_000, "reschedule"),
        h.Switch(103_000, OPENSSL, 0),
        # Network work on top of the task is no part of what woke the CPU.
        *interrupt(150_000),
        h.Switch(200_000, IDLE, 1),
        h.Switch(900_000, OPENSSL, 0),
        h.Switch(950_000, IDLE, 1),
        h.SoftirqRaise(990_000, 9),
    )
    assert counts(answer) == {("IPI", "reschedule"): (1, 0, 1), ("unrecorded", UNSEEN): (1, 0, 1)}
    assert answer["by_cpu"]["idle_share"].tolist() == [
        pytest.approx((99_000 + 2_000 + 700_000 + 40_000) / 989_000)
    ]
    # With no patience the idle task that runs between is a stretch of its own.
    again = counts(answer.capture.ask.energy.idle_wakeups(gap_ns=1_000))
    assert again == {("IPI", "reschedule"): (1, 0, 0), ("unrecorded", UNSEEN): (2, 0, 2)}


def test_what_wakes_nobody(tmp_path: Path) -> None:
    # Behind time that nobody is known to have had.
    lost = [*interrupt(100_000), h.Lost(300_000, 50), *interrupt(400_000), END]
    assert asked(tmp_path / "a", *lost).frame["wakeups"].sum() == 2
    busy = asked(tmp_path / "b", *interrupt(100_000), END, task=OPENSSL)
    assert (len(busy.frame), busy["by_cpu"]["wakeups"].tolist()) == (0, [0])
    assert busy["network_wakeups_per_packet"] == 0
    assert busy.words
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_SWITCH)
    unknown = asked(tmp_path / "c", *interrupt(100_000), formats=formats)
    assert "sched:sched_switch" in str(unknown.refusal)


# The same definition, one segment after the other.
def walked(timeline: netcost.Timeline) -> dict[str, int]:
    found = {"wakeups": 0, "network_wakeups": 0, "task_wakeups": 0}
    for _, segments in timeline.segments.groupby("cpu"):
        rows = list(segments.itertuples())
        idle, is_open, network, task = False, False, False, False
        for before, row, after in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            if row.context in ("idle", "unknown"):
                leads_on = (
                    row.context == "idle"
                    and before is not None
                    and before.context in {"hardirq", "vector", "softirq", "poll", "nmi"}
                    and after is not None
                    and after.context in ("task", "softirq", "poll")
                    and row.end_ns - row.start_ns <= 20_000
                )
                if not leads_on:
                    is_open, idle = False, row.context == "idle"
                continue
            if idle:
                found["wakeups"] += 1
                idle, is_open, network, task = False, True, False, False
            if not is_open:
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
    answer, same = timeline.ask.energy.idle_wakeups(), walked(timeline)
    for frame in (answer.frame, answer["by_cpu"]):
        assert frame[[*same]].sum().to_dict() == same
    assert answer.frame["wakeups_share"].sum() == pytest.approx(1)

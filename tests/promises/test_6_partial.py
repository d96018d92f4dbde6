# Promise 6: partial captures answer in part, and what cannot be answered is refused in one
# sentence.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import ALL_TABLES, events
from support.perfdata import USUAL, Header, SampleType, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.told import NET_RX, OPENSSL, TIMER, UDPSINK, answer

SIMPLE = cpu(
    0,
    h.SoftirqRaise(90, NET_RX),
    h.SoftirqEntry(100, NET_RX),
    h.NapiPoll(120, "eth0", 8),
    h.SoftirqExit(130, NET_RX),
    h.Waking(200, UDPSINK),
    task=OPENSSL,
)


# ?       |hardirq |softirq  |?            no sched event is in the capture: the events themselves
# 100     110      120       150  200      name the victim, nobody names who ran in between
def test_without_sched_switch_interrupts_keep_victim_and_duration(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(
            0,
            h.IrqEntry(100, 32),
            h.SoftirqRaise(105, NET_RX),
            h.IrqExit(110, 32),
            h.SoftirqEntry(120, NET_RX),
            h.NapiPoll(140, "eth0", 8),
            h.SoftirqExit(150, NET_RX),
            h.IrqEntry(180, 32),
            h.IrqExit(200, 32),
            task=OPENSSL,
        ),
        formats=(*t.IRQ_FORMATS, t.NAPI_POLL),
    )
    assert "sched_switch" in got.summary["missing"]["on_cpu"]
    assert [(row["tid"], row["self_ns"]) for row in got.hardirqs] == [(500, 10), (500, 20)]
    assert [(row["tid"], row["self_ns"]) for row in got.softirqs] == [(500, 30)]
    between = [row for row in got.segments if row["context"] not in ("hardirq", "softirq", "poll")]
    assert {row["tid"] for row in between} == {None}
    assert got.slices == []


# The filter of document 000: only NET_RX passes, so TIMER softirqs are unrecorded, not absent.
def test_a_filter_in_the_command_line_marks_what_it_hid(tmp_path: Path) -> None:
    words = ("perf", "record", "-a", "-e", "irq:irq_handler_entry,irq:irq_handler_exit")
    for event in ("irq:softirq_entry", "irq:softirq_exit"):
        words += ("-e", event, "--filter", "vec == 3")
    told = recording(
        SIMPLE, header=Header(cmdline=(*words, "-e", "sched:sched_waking", "sleep", "1"))
    )
    path = told.write(tmp_path / "perf.data")
    filters = {one["name"]: one["filter"] for one in Capture(str(path)).header()["events"]}
    assert filters["irq:softirq_entry"] == filters["irq:softirq_exit"] == "vec == 3"
    assert filters["irq:irq_handler_entry"] is None
    notes = Capture(str(path)).timeline(["segments"])["summary"]["notes"]
    assert any("vec == 3" in note for note in notes)


# `perf record -F 997` samples tracepoints too: 614 softirq entries in a second where a full
# recording of the same load had 5,510 in 0.6 s.
@pytest.mark.parametrize(
    "settings",
    [{"frequency": True, "period": 997}, {"period": 2}, {"frequency": True, "period": 4000}],
)
def test_sampled_tracepoints_are_refused_and_still_listed(
    tmp_path: Path, settings: dict[str, int]
) -> None:
    path = recording(SIMPLE, **settings).write(tmp_path / "perf.data")
    assert len(events(path, "irq:softirq_entry")) == 1
    with pytest.raises(CaptureError) as refused:
        Capture(str(path)).timeline(ALL_TABLES)
    assert "sampl" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert all(one["sampled"] for one in Capture(str(path)).header()["events"])


@pytest.mark.parametrize(("without", "column"), [("TIME", "time_ns"), ("CPU", "common_cpu")])
def test_without_time_or_cpu_events_are_listed_and_the_ledger_is_refused(
    tmp_path: Path, without: str, column: str
) -> None:
    kinds = USUAL & ~SampleType[without]
    path = recording(SIMPLE, sample_type=kinds).write(tmp_path / "perf.data")
    [row] = events(path, "napi:napi_poll")
    assert (row["dev_name"], row[column]) == ("eth0", None)
    with pytest.raises(CaptureError) as refused:
        Capture(str(path)).timeline(ALL_TABLES)
    assert "\n" not in str(refused.value)


# Kernels before 4.8 record no work and no budget: polls are still polls, of unknown size.
def test_old_polls_have_no_work(tmp_path: Path) -> None:
    old = tuple(t.NAPI_POLL_OLD if one is t.NAPI_POLL else one for one in t.FORMATS)
    got = answer(tmp_path, SIMPLE, formats=old)
    [poll] = got.polls
    assert (poll["device"], poll["work"], poll["budget"], poll["self_ns"]) == (
        "eth0",
        None,
        None,
        20,
    )


# Before 5.14 the wake-up events carried a constant `success`, and common fields differed.
def test_old_wakeups_and_realtime_common_fields_read_the_same(tmp_path: Path) -> None:
    from support.perfdata.formats import COMMON_3_4, COMMON_RT

    told = cpu(
        0,
        h.Wakeup(100, UDPSINK),
        h.Switch(150, UDPSINK),
        h.SoftirqEntry(160, TIMER),
        h.SoftirqExit(170, TIMER),
        h.Switch(200, OPENSSL, 1),
        task=OPENSSL,
    )
    lanes = []
    for number, common in enumerate((None, COMMON_RT, COMMON_3_4)):
        old = (
            {one.event: one for one in (t.SCHED_WAKEUP_OLD, t.SCHED_MIGRATE_TASK_OLD)}
            if common
            else {}
        )
        formats = [old.get(one.event, one) for one in t.FORMATS]
        formats = [one.with_common(common) if common else one for one in formats]
        folder = tmp_path / str(number)
        folder.mkdir()
        got = answer(folder, told, formats=tuple(formats))
        [woken] = [row for row in got.slices if row["tid"] == 600]
        lanes.append((got.lane(0, 0, "context", "tid"), woken["wake_ns"], woken["wait_ns"]))
    assert lanes[0] == lanes[1] == lanes[2]
    assert lanes[0][1:] == (100, 50)


# A capture of CPU samples alone has nothing that the ledger could use.
def test_a_capture_without_networking_events_is_refused(tmp_path: Path) -> None:
    path = recording(
        cpu(0, h.Fork(100, UDPSINK), h.Fork(200, UDPSINK)), formats=(t.SCHED_PROCESS_FORK,)
    ).write(tmp_path / "perf.data")
    with pytest.raises(CaptureError):
        Capture(str(path)).timeline(ALL_TABLES)

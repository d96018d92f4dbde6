# Promise 6: partial captures answer in part, and what cannot be answered is refused in one
# sentence.

from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import ALL_TABLES, events
from support.perfdata import USUAL, Header, SampleType, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.formats import COMMON_3_4, COMMON_RT
from support.told import OPENSSL, TIMER, UDPSINK, answer, irq, raised, softirq

POLL = h.NapiPoll(120, "eth0", 8)
SIMPLE = cpu(0, *raised(90, 100, 130, POLL), h.Waking(200, UDPSINK), task=OPENSSL)


# ?       |hardirq |softirq  |?            no sched event is in the capture: the events themselves
# 100     110      120       150  200      name the victim, nobody names who ran in between
def test_without_sched_switch_interrupts_keep_victim_and_duration(tmp_path: Path) -> None:
    first = *irq(100, 110, h.SoftirqRaise(105, 3)), *softirq(120, 150, h.NapiPoll(140, "eth0", 8))
    formats = (*t.IRQ_FORMATS, t.NAPI_POLL)
    got = answer(tmp_path, cpu(0, *first, *irq(180, 200), task=OPENSSL), formats=formats)
    assert "sched_switch" in got.summary["missing"]["on_cpu"]
    assert [(row["tid"], row["self_ns"]) for row in got.hardirqs] == [(500, 10), (500, 20)]
    assert [(row["tid"], row["self_ns"]) for row in got.softirqs] == [(500, 30)]
    between = [row for row in got.segments if row["context"] not in ("hardirq", "softirq", "poll")]
    assert {row["tid"] for row in between} == {None}
    assert got.slices == []


# Only NET_RX passes: softirqs of other vectors are unrecorded, not absent.
def test_a_filter_in_the_command_line_marks_what_it_hid(tmp_path: Path) -> None:
    words = ("perf", "record", "-a", "-e", "irq:irq_handler_entry,irq:irq_handler_exit")
    for event in ("irq:softirq_entry", "irq:softirq_exit"):
        words += ("-e", event, "--filter", "vec == 3")
    header = Header(cmdline=(*words, "-e", "sched:sched_waking", "sleep", "1"))
    capture = Capture(str(recording(SIMPLE, header=header).write(tmp_path / "perf.data")))
    filters = {one["name"]: one["filter"] for one in capture.header()["events"]}
    assert filters["irq:softirq_entry"] == filters["irq:softirq_exit"] == "vec == 3"
    assert filters["irq:irq_handler_entry"] is None
    notes = capture.timeline(["segments"])["summary"]["notes"]
    assert any("vec == 3" in note for note in notes)


# `perf record -F 997` samples tracepoints too: 614 softirq entries in a second where a full
# recording of the same load had 5,510 in 0.6 s. Others have no times, no CPUs, or nothing of use.
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"frequency": True, "period": 997}, "sampl"),
        ({"period": 2}, "sampl"),
        ({"frequency": True, "period": 4000}, "sampl"),
        ({"sample_type": USUAL & ~SampleType.TIME}, None),
        ({"sample_type": USUAL & ~SampleType.CPU}, None),
        ({"formats": (t.SCHED_PROCESS_FORK,)}, None),
    ],
)
def test_what_is_no_account_of_cpus_is_refused_and_still_listed(
    tmp_path: Path, settings: dict[str, Any], reason: str | None
) -> None:
    forking = cpu(0, h.Fork(80, UDPSINK), *SIMPLE.happenings, task=OPENSSL)
    capture = recording(forking, **settings).write(tmp_path / "perf.data")
    is_listed = "formats" not in settings
    if is_listed:
        [row] = events(capture, "napi:napi_poll")
        known = settings.get("sample_type", USUAL)
        assert row["dev_name"] == "eth0"
        assert (row["time_ns"] is not None) == (SampleType.TIME in known)
        assert (row["common_cpu"] is not None) == (SampleType.CPU in known)
    with pytest.raises(CaptureError, match=reason) as refused:
        Capture(str(capture)).timeline(ALL_TABLES)
    assert "\n" not in str(refused.value)
    is_sampled = [one["sampled"] for one in Capture(str(capture)).header()["events"]]
    assert set(is_sampled) == {reason == "sampl"}


# Kernels before 4.8 record no work and no budget: polls are still polls, of unknown size.
def test_old_polls_have_no_work(tmp_path: Path) -> None:
    old = tuple(t.NAPI_POLL_OLD if one is t.NAPI_POLL else one for one in t.FORMATS)
    [poll] = answer(tmp_path, SIMPLE, formats=old).polls
    assert (poll["device"], poll["self_ns"]) == ("eth0", 20)
    assert poll["work"] is poll["budget"] is None


# Before 5.14 the wake-up events had a constant `success`, and common fields differed.
def test_old_wakeups_and_realtime_common_fields_read_the_same(tmp_path: Path) -> None:
    inside = *softirq(160, 170, vec=TIMER), h.Switch(200, OPENSSL, 1)
    drawing = cpu(0, h.Wakeup(100, UDPSINK), h.Switch(150, UDPSINK), *inside, task=OPENSSL)
    wakeups = {one.event: one for one in (t.SCHED_WAKEUP_OLD, t.SCHED_MIGRATE_TASK_OLD)}
    old = [wakeups.get(one.event, one) for one in t.FORMATS]
    lanes = []
    for formats in (
        t.FORMATS,
        *([one.with_common(common) for one in old] for common in (COMMON_RT, COMMON_3_4)),
    ):
        got = answer(tmp_path, drawing, formats=tuple(formats))
        [woken] = [row for row in got.slices if row["tid"] == 600]
        lanes.append((got.lane(0, 0, "context", "tid"), woken["wake_ns"], woken["wait_ns"]))
    assert lanes[0] == lanes[1] == lanes[2]
    assert lanes[0][1:] == (100, 50)

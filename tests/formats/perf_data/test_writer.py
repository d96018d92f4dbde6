# The writer itself is tested against perf: what a described timeline says is what perf reads from
# the bytes.

from collections import Counter
from pathlib import Path

import pytest

from support.host import require_tool
from support.oracle import perf_handler, perf_record_counts, perf_script_counts, run
from support.perfdata import USUAL, SampleType, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.story import S, described, seen, story

MODES = [("file", 0), ("file", 1), ("pipe", 0), ("pipe", 1), ("directory", 0)]


@pytest.mark.parametrize(("mode", "compressed"), MODES)
def test_perf_reads_what_was_described(tmp_path: Path, mode: str, compressed: int) -> None:
    path = story().write(tmp_path / "perf.data", mode, compressed)
    assert seen(perf_handler(path, tmp_path)) == described(story())


@pytest.mark.parametrize("size", [112, 120, 128])
@pytest.mark.parametrize(
    "extra",
    [
        SampleType.ADDR | SampleType.ID | SampleType.STREAM_ID,
        SampleType.READ | SampleType.CALLCHAIN,
    ],
)
def test_perf_reads_other_sample_types(tmp_path: Path, size: int, extra: SampleType) -> None:
    told = story(sample_type=USUAL | extra, attr_size=size)
    path = told.write(tmp_path / "perf.data")
    assert perf_script_counts(path) == Counter(one.format.event for one in told.events())


def test_perf_reads_id_without_identifier(tmp_path: Path) -> None:
    kinds = (
        SampleType.TID
        | SampleType.TIME
        | SampleType.ID
        | SampleType.CPU
        | SampleType.PERIOD
        | SampleType.RAW
    )
    told = story(sample_type=kinds)
    path = told.write(tmp_path / "perf.data")
    assert len(perf_handler(path, tmp_path)) == len(told.events())


def test_perf_reads_old_formats(tmp_path: Path) -> None:
    old = {
        one.event: one for one in (t.NAPI_POLL_OLD, t.SCHED_WAKEUP_OLD, t.SCHED_MIGRATE_TASK_OLD)
    }
    told = story(formats=tuple(old.get(one.event, one) for one in t.FORMATS))
    events = perf_handler(told.write(tmp_path / "perf.data"), tmp_path)
    polls = [one.fields for one in events if one.event == "napi:napi_poll"]
    assert [one["dev_name"] for one in polls] == ["eth0", "eth1"]
    assert all("work" not in one for one in polls)
    assert [one.fields["success"] for one in events if one.event == "sched:sched_wakeup"] == [1]


def test_perf_counts_the_losses_and_repeats_that_were_described(tmp_path: Path) -> None:
    told = recording(
        cpu(
            0,
            h.SoftirqRaise(S, 3),
            h.SoftirqRaise(S + 1, 1),
            h.Flush(S + 2, repeat=1),
            h.SoftirqRaise(S + 3, 9),
            h.Lost(S + 4, 7),
        )
    )
    path = told.write(tmp_path / "perf.data")
    records = perf_record_counts(path)
    assert perf_script_counts(path) == {"irq:softirq_raise": 4}
    assert (records["PERF_RECORD_LOST"], records["PERF_RECORD_LOST_SAMPLES"]) == (1, 1)
    assert records["PERF_RECORD_FINISHED_ROUND"] == 2


def test_perf_reads_the_header(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    output = run(require_tool("perf"), "report", "--header-only", "-i", path)
    for line in (
        "hostname : described",
        "os release : 6.18.0",
        "perf version : 6.1.187",
        "nrcpus online : 2",
    ):
        assert f"# {line}" in output
    assert "clockid: monotonic (1)" in output
    assert "perf record -a" in output

# The writer itself is tested against perf: what a described timeline says is what perf reads from
# the bytes.

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.host import Fresh, require_tool
from support.oracle import perf_handler, perf_record_counts, perf_script_counts, run
from support.perfdata import (
    MACHINES,
    Attr,
    Comm,
    Header,
    SampleType,
    cpu,
    recording,
    write_file,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.attr import TYPE_HARDWARE
from support.perfdata.timeline import narrowed
from support.story import S, described, seen, story


# In pipes of foreign byte order perf 6.1 turns words around, but does not tell its events so: two
# halves of a word stay exchanged, and it refuses the first payload.
@pytest.mark.parametrize(
    ("mode", "compressed"),
    [("file", 0), ("file", 1), ("version 1", 0), ("directory", 0), ("pipe", 0), ("pipe", 1)],
)
def test_perf_reads_what_was_described(fresh: Fresh, mode: str, compressed: int) -> None:
    alike = mode == "pipe" or compressed
    for machine in [MACHINES["x86_64"]] if alike else MACHINES.values():
        folder = fresh()
        told = replace(narrowed(story()), machine=machine, attr_size=104)
        path = told.write(folder / "perf.data", mode, compressed)
        assert seen(perf_handler(path, folder)) == described(told)


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
    told = [h.SoftirqRaise(S, 3), h.SoftirqRaise(S + 1, 1), h.Flush(S + 2, repeat=1)]
    told += [h.SoftirqRaise(S + 3, 9), h.Lost(S + 4, 7)]
    path = recording(cpu(0, *told)).write(tmp_path / "perf.data")
    records = perf_record_counts(path)
    assert perf_script_counts(path) == {"irq:softirq_raise": 4}
    assert (records["PERF_RECORD_LOST"], records["PERF_RECORD_LOST_SAMPLES"]) == (1, 1)
    assert records["PERF_RECORD_FINISHED_ROUND"] == 2


def test_perf_reads_the_header(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    output = run(require_tool("perf"), "report", "--header-only", "-i", path)
    said = ("hostname : described", "os release : 6.18.0", "perf version : 6.1.187")
    for part in (*said, "nrcpus online : 2", "clockid: monotonic (1)", "perf record -a"):
        assert part in output


# Without EVENT_DESC the attr alone says what an event is called, with perf's modifiers. perf also
# says H, or HG, where nobody asked: where guests are not counted, or are. The tables of names:
# native/src/perf/naming/tests.rs.
def test_modifiers_are_perfs(tmp_path: Path) -> None:
    without = ("exclude_user", "exclude_kernel", "exclude_hv", "exclude_host", "exclude_guest")
    flags = [set(some) for count in range(5) for some in itertools.combinations(without, count)]
    kinds = SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME
    attrs = [
        Attr("", 0, (number,), TYPE_HARDWARE, kinds, flags=frozenset(some), precise_ip=precise)
        for number, (some, precise) in enumerate(itertools.product(flags, range(4)))
        if not some >= {"exclude_host", "exclude_guest"}
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(attrs, [], [Comm(1, 1, "x")], Header(event_names=False)))
    theirs = run(require_tool("perf"), "evlist", "-f", "-i", path).split()
    assert [one["name"] for one in Capture(str(path)).header()["events"]] == [
        name.replace("HG", "").replace("H", "").rstrip(":") for name in theirs
    ]

# This machine's events as text and in the recorders' own formats: the same tables, to the
# nanosecond where the text has them.

import re
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.live import EVENTS
from support.native_tables import gaps
from support.oracle import perf_script
from support.text_compared import assert_same, tables
from support.tracedat.live import events, load, require_recording, trace_cmd_record
from support.tracedat.report import trace_cmd

pytestmark = pytest.mark.alone

PREEMPT_RESCHED, BH_OFF = 0x20, 0x80
CONTEXT = frozenset({"common_flags", "common_preempt_count"})
KNOWN = {*EVENTS, *(f"irq_vectors:local_timer_{edge}" for edge in ("entry", "exit"))}


PERF = {
    "as it comes": ((), 1000),
    "ns": (("--ns",), 1),
    "both ids": (("--ns", "-F", "comm,pid,tid,cpu,time,event,trace"), 1),
    "header": (("--ns", "--header"), 1),
    "periods": (("--ns", "-F", "comm,tid,cpu,time,period,event,trace"), 1),
    "all records": (("--ns", "--show-task-events", "--show-lost-events", "--show-mmap-events"), 1),
}


@pytest.mark.parametrize("way", PERF)
def test_perf_script_has_what_perf_recorded(live: Path, tmp_path: Path, way: str) -> None:
    options, ns = PERF[way]
    path = tmp_path / "script.txt"
    path.write_text(perf_script(live, *options))
    counts = assert_same(path, live, ns, CONTEXT)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq:softirq_entry"] > 100
    header, scan = Capture(str(path)).header(), Capture(str(path)).scan()
    assert (header["format"], header["mode"]) == ("text", "perf script")
    assert (header["resolution_ns"], header["time_unit"]) == (ns, "ns")
    assert scan["records"]["event"] == counts.total()
    assert "no event" not in scan["records"]


def test_perf_header_says_who_recorded(live: Path, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(perf_script(live, "--header"))
    text, recorded = Capture(str(path)).header(), Capture(str(live)).header()
    for key in ("hostname", "os_release", "arch", "nr_cpus", "tool_version"):
        assert text[key] == recorded[key], key
    assert text["cmdline"] == " ".join(recorded["cmdline"]).split()


# Without CPU or task there are tables, but no ledger: it says what is missing.
def test_perf_script_without_cpus_or_tasks(live: Path, tmp_path: Path) -> None:
    path = tmp_path / "script.txt"
    path.write_text(perf_script(live, "--ns", "-F", "comm,tid,time,event,trace"))
    wanted = tables(live)["irq:softirq_entry"]
    found = tables(path)["irq:softirq_entry"]
    assert found["common_cpu"].null_count == len(found) == len(wanted)
    names = ["time_ns", "common_pid", "vec"]
    in_time = [("time_ns", "ascending"), ("common_pid", "ascending")]
    assert found.select(names).sort_by(in_time) == wanted.select(names).sort_by(in_time)
    with pytest.raises(Exception, match="on which CPU"):
        Capture(str(path)).timeline(["segments"])
    path.write_text(perf_script(live, "--ns", "-F", "comm,cpu,time,event,trace"))
    found = tables(path)["irq:softirq_entry"]
    assert "common_pid" not in found.column_names
    assert sorted(found["time_ns"].to_pylist()) == sorted(wanted["time_ns"].to_pylist())


@pytest.fixture(scope="module")
def trace_dat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_recording()
    path = tmp_path_factory.mktemp("trace-cmd") / "trace.dat"
    vectors = ["irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit"]
    options = ("-C", "mono", *events([*EVENTS, *vectors]))
    return trace_cmd_record(path, *options, load=load(0.3), worth=switched)


# trace-cmd's plugins show no preemption, and only its latency format shows a context.
TRACE_CMD = {
    "as it comes": ((), 1000, {"prev_state"}),
    "ns": (("-t",), 1, {"prev_state"}),
    "no plugins": (("-t", "-N"), 1, set[str]()),
    "raw": (("-t", "-R"), 1, set[str]()),
    "raw microseconds": (("-R",), 1000, set[str]()),
    "raw latency format": (("-t", "-R", "-l"), 1, set[str]()),
    "raw latency format, microseconds": (("-R", "-l"), 1000, set[str]()),
    "time differences": (("-t", "-N", "-l", "--ts-diff"), 1, set[str]()),
    "latency format": (("-t", "-N", "-l"), 1, set[str]()),
}


@pytest.mark.parametrize("way", TRACE_CMD)
def test_trace_cmd_reports_what_it_recorded(trace_dat: Path, tmp_path: Path, way: str) -> None:
    options, ns, differ = TRACE_CMD[way]
    path = tmp_path / "report.txt"
    path.write_text(trace_cmd("report", *options, "-i", trace_dat))
    header = Capture(str(path)).header()
    assert (header["mode"], header["resolution_ns"]) == ("trace-cmd report", ns)
    assert header["nr_cpus"] == len(Capture(str(trace_dat)).scan()["cpus"])
    # Names of tasks as trace-cmd knew them last; it rounds where perf cuts.
    counts = assert_same(path, trace_dat, ns, CONTEXT | differ | {"common_comm"}, half=ns // 2)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq_vectors:local_timer_entry"] > 10


# What plugins show of a state is all but whether a runnable task was preempted.
def test_states_as_plugins_show_them(trace_dat: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text(trace_cmd("report", "-t", "-i", trace_dat))
    shown, recorded = (
        pa.table(Capture(str(one)).events("sched:sched_switch"))["prev_state"].to_pylist()
        for one in (path, trace_dat)
    )
    # It has the letters of dead and of zombie tasks the other way round.
    swapped = {0x100: 0, 0x10: 0x20, 0x20: 0x10}
    assert shown == [swapped.get(state, state) for state in recorded]


# The kernel has two ways of asking for a reschedule, trace-cmd one letter for both; and none for
# bottom halves that are off.
def test_context_as_trace_cmd_shows_it(trace_dat: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text(trace_cmd("report", "-t", "-l", "-i", trace_dat))
    for event, table in tables(trace_dat).items():
        found = tables(path)[event]
        assert found["common_preempt_count"] == table["common_preempt_count"]
        shown = [flags & ~(PREEMPT_RESCHED | BH_OFF) for flags in table["common_flags"].to_pylist()]
        assert found["common_flags"].to_pylist() == shown, event


# Raw, it prints all flags as the kernel has them, and nothing of the depth: that is then absent.
def test_flags_as_trace_cmd_has_them_raw(trace_dat: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text(trace_cmd("report", "-t", "-R", "-l", "-i", trace_dat))
    found = tables(path)
    for event, table in tables(trace_dat).items():
        assert found[event]["common_flags"] == table["common_flags"], event
        assert "common_preempt_count" not in found[event].column_names


def switched(path: Path) -> bool:
    return bool(Capture(str(path)).scan()["events"].get("sched:sched_switch", 0) > 100)


def lost_some(path: Path) -> bool:
    return bool(Capture(str(path)).scan()["lost_events"])


# Losses lie where trace-cmd says: as many, on the same CPUs, up to the event behind the line.
def test_losses_are_where_trace_cmd_has_them(tmp_path: Path) -> None:
    path, recording = tmp_path / "report.txt", tmp_path / "trace.dat"
    small = ("-C", "mono", "-b", "1", "-e", "raw_syscalls", "-e", "sched:sched_switch")
    trace_cmd_record(recording, *small, load=load(0.2), worth=lost_some)
    path.write_text(trace_cmd("report", "-t", "-i", recording))
    mark = r"^CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]\n.*\[\d+\] +(\d+)\.(\d{9}):"
    marks = re.findall(mark, path.read_text(), re.MULTILINE)
    scan = Capture(str(path)).scan()
    assert scan["lost_events"] == sum(int(count or 0) for _, count, _, _ in marks)
    assert scan["lost_unknown"] == sum(not count for _, count, _, _ in marks)
    wanted = [(int(cpu), int(s + ns), int(count or 0)) for cpu, count, s, ns in marks]
    assert [(cpu, end, lost) for cpu, _, end, lost in gaps(scan)] == wanted
    assert wanted


# Each buffer's lines are its own.
def test_buffers_of_one_report(tmp_path: Path) -> None:
    path, recording = tmp_path / "report.txt", tmp_path / "trace.dat"
    names = ("netcost_text",)
    trace_cmd_record(
        *(recording, "-C", "mono", "-e", "irq", "-B", names[0], "-e", "sched:sched_switch"),
        load=load(0.3),
        instances=names,
    )
    path.write_text(trace_cmd("report", "-t", "-N", "-i", recording))
    assert [one["name"] for one in Capture(str(path)).header()["buffers"]] == ["", *names]
    for buffer in ("", *names):
        found, wanted = tables(path, buffer=buffer), tables(recording, buffer=buffer)
        assert set(found) == set(wanted)
        times = [
            {name: table["time_ns"].to_pylist() for name, table in one.items()}
            for one in (found, wanted)
        ]
        assert times[0] == times[1]
    assert set(tables(path)) & {"sched:sched_switch", "irq:softirq_entry"} == {"irq:softirq_entry"}
    with pytest.raises(Exception, match="no buffer 'other'"):
        Capture(str(path), buffer="other")

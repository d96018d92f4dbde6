# This machine's events as text and in the recorders' own formats: the same tables, to the
# nanosecond where the text has them, the same call chains and, as far as the text tells, the same
# ledger.

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.host import require_root_tracing
from support.live import EVENTS, LIVE_LOAD
from support.native_tables import ALL_TABLES, Answer, assert_conserved, gaps, rows
from support.oracle import perf_script
from support.texts import assert_same, tables
from support.tracedat.live import events, holds, load, require_recording, trace_cmd_record
from support.tracedat.report import trace_cmd

pytestmark = pytest.mark.alone

PREEMPT_RESCHED, BH_OFF = 0x20, 0x80
CONTEXT = frozenset({"common_flags", "common_preempt_count"})
VECTORS = ["irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit"]

PERF = {
    "as it comes": ((), 1000),
    "ns": (("--ns",), 1),
    "both ids": (("--ns", "-F", "comm,pid,tid,cpu,time,event,trace"), 1),
    "header": (("--ns", "--header"), 1),
    "periods": (("--ns", "-F", "comm,tid,cpu,time,period,event,trace"), 1),
    "all records": (("--ns", "--show-task-events", "--show-lost-events", "--show-mmap-events"), 1),
}


def printed(recording: Path, folder: Path, *options: str) -> Path:
    path = folder / "script.txt"
    path.write_text(perf_script(recording, *options))
    return path


def reported(recording: Path, folder: Path, *options: str) -> Path:
    path = folder / "report.txt"
    path.write_text(trace_cmd("report", *options, "-i", recording))
    return path


@pytest.mark.parametrize("way", PERF)
def test_perf_script_has_what_perf_recorded(live: Path, tmp_path: Path, way: str) -> None:
    options, ns = PERF[way]
    path = printed(live, tmp_path, *options)
    counts = assert_same(path, live, ns, CONTEXT)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq:softirq_entry"] > 100
    text, recorded = Capture(str(path)), Capture(str(live)).header()
    header, records = text.header(), text.scan()["records"]
    names = ("format", "mode", "resolution_ns", "time_unit")
    assert [header[name] for name in names] == ["text", "perf script", ns, "ns"]
    assert records["event"] == counts.total()
    assert "no event" not in records
    if way == "header":
        for key in ("hostname", "os_release", "arch", "nr_cpus", "tool_version"):
            assert header[key] == recorded[key], key
        assert header["cmdline"] == " ".join(recorded["cmdline"]).split()


# Without CPU or task there are tables, but no ledger: it says what is missing.
def test_perf_script_without_cpus_or_tasks(live: Path, tmp_path: Path) -> None:
    path = printed(live, tmp_path, "--ns", "-F", "comm,tid,time,event,trace")
    wanted = tables(live)["irq:softirq_entry"]
    found = tables(path)["irq:softirq_entry"]
    assert found["common_cpu"].null_count == len(found) == len(wanted)
    names = ["time_ns", "common_pid", "vec"]
    in_time = [("time_ns", "ascending"), ("common_pid", "ascending")]
    assert found.select(names).sort_by(in_time) == wanted.select(names).sort_by(in_time)
    with pytest.raises(Exception, match="on which CPU"):
        Capture(str(path)).timeline(["segments"])
    path = printed(live, tmp_path, "--ns", "-F", "comm,cpu,time,event,trace")
    found = tables(path)["irq:softirq_entry"]
    assert "common_pid" not in found.column_names
    assert sorted(found["time_ns"].to_pylist()) == sorted(wanted["time_ns"].to_pylist())


KEY = ("cpu", "context", "id", "cost_class")
OPEN = ("synchronous", "stolen", "stolen_or_synchronous")


# Where no device interrupted, a text leaves open whose raise it was: those classes are one then.
def shares(answer: Answer, interrupted: bool) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row in answer.sums:
        *key, cost_class = (row[name] for name in KEY)
        is_open = cost_class in OPEN and not interrupted
        found[*key, "open" if is_open else cost_class] += row["ns"]
    return found


# Context flags are what perf's text lacks: where they would have contradicted the stack, and only
# there, answers differ. In microseconds, half of one at each border evens out on the average; what
# took less than one has no length, and is there all the same.
@pytest.mark.parametrize("options", [("--ns",), ()], ids=["ns", "us"])
def test_a_texts_ledger_is_the_recordings(
    live: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    text, recorded = Answer(printed(live, tmp_path, *options), ALL_TABLES), Answer(live, ALL_TABLES)
    assert_conserved(text)
    capture = Capture(str(live))
    # A device may be silent for the 0.8 s of the recording.
    handlers = [capture.events(f"irq:irq_handler_{edge}") for edge in ("entry", "exit")]
    interrupted = all(map(rows, handlers))
    ours, theirs = shares(text, interrupted), shares(recorded, interrupted)
    if options:
        assert text.window == recorded.window
        assert ours.total() == theirs.total()
        apart = sum(abs(ours[key] - theirs[key]) for key in ours | theirs)
        assert apart < theirs.total() / 1000
        names = ("cpu", "entry_ns", "exit_ns", "vec", "tid")
        mine, wanted = (
            {tuple(row[name] for name in names) for row in one.softirqs} for one in (text, recorded)
        )
        assert len(mine ^ wanted) <= len(wanted) / 100
        return
    assert [bound % 1000 for bound in text.window] == [0, 0]
    assert len(text.softirqs) == pytest.approx(len(recorded.softirqs), rel=0.01)
    assert len(text.polls) == pytest.approx(len(recorded.polls), rel=0.01)
    for key, ns in theirs.items():
        assert ours[key] == pytest.approx(ns, rel=0.05, abs=1e6), key


@pytest.fixture(scope="module")
def chained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chains") / "perf.data"
    recorded = ["-e", "cpu-clock", "-e", "sched:sched_switch"]
    command = [require_root_tracing(), "record", "-q", "-a", "-g", *recorded, "-o", str(path)]
    whole = [*command, sys.executable, str(LIVE_LOAD), "0.2"]
    subprocess.run(whole, check=True, capture_output=True, timeout=60)
    return path


MARKS = 2**64 - 4096
FRAME = re.compile(r"^\t *([0-9a-f]+)(?: (.*?))?$")


# A second reading of the same text: the frames below each line of the event.
def by_lines(text: str, name: str) -> list[list[tuple[int, str]]]:
    chains: list[list[tuple[int, str]]] = []
    for block in text.split("\n\n"):
        head, *below = block.strip("\n").split("\n")
        if f" {name}:" in head:
            frames = filter(None, map(FRAME.match, below))
            chains.append([(int(one[1], 16), one[2] or "") for one in frames])
    return chains


def when(row: dict[str, Any]) -> tuple[int, int]:
    return row["time_ns"], row["cpu"]


@pytest.mark.parametrize("name", ["cpu-clock", "sched:sched_switch"])
@pytest.mark.parametrize("fields", ["ip", "ip,sym", "ip,sym,symoff,dso"])
def test_chains_are_those_that_perf_recorded(
    chained: Path, tmp_path: Path, fields: str, name: str
) -> None:
    every = f"comm,tid,cpu,time,event,{fields}"
    path = printed(chained, tmp_path, "--ns", "--no-inline", "-F", every)
    table = pa.table(Capture(str(path)).samples(name))
    table.validate(full=True)
    found, wanted = rows(table), rows(Capture(str(chained)).samples(name))
    assert len(found) == len(wanted) > 20
    # perf script is in the order of time, perf.data in that of its file.
    for mine, theirs in zip(sorted(found, key=when), sorted(wanted, key=when), strict=True):
        assert when(mine) == when(theirs)
        kernel = theirs["kernel_frames"]
        # What looks like a mark that it does not know makes perf script give up the whole chain.
        if not any(address > MARKS for address in theirs["callchain"]):
            assert mine["callchain"][:kernel] == theirs["callchain"][:kernel]
    chains = by_lines(path.read_text(), name)
    assert [row["callchain"] for row in found] == [[ip for ip, _ in chain] for chain in chains]
    if "sym" not in fields:
        assert {symbol for row in found for symbol in row["symbols"]} <= {None}
    elif "dso" not in fields:
        named = [["" if word == "[unknown]" else word for _, word in chain] for chain in chains]
        assert [[symbol or "" for symbol in row["symbols"]] for row in found] == named
    else:
        words = [
            f"{symbol or '[unknown]'} ({dso or '[unknown]'})"
            for row in found
            for symbol, dso in zip(row["symbols"], row["dsos"], strict=True)
        ]
        bare = [re.sub(r"\+0x[0-9a-f]+(?= \()", "", word) for chain in chains for _, word in chain]
        assert words == bare


@pytest.fixture(scope="module")
def trace_dat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_recording()
    path = tmp_path_factory.mktemp("trace-cmd") / "trace.dat"
    options = ("-C", "mono", *events([*EVENTS, *VECTORS]))
    return trace_cmd_record(path, *options, load=load(0.3), worth=holds("sched:sched_switch"))


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
    path = reported(trace_dat, tmp_path, *options)
    header = Capture(str(path)).header()
    assert (header["mode"], header["resolution_ns"]) == ("trace-cmd report", ns)
    assert header["nr_cpus"] == len(Capture(str(trace_dat)).scan()["cpus"])
    # Names of tasks as trace-cmd knew them last; it rounds where perf cuts.
    counts = assert_same(path, trace_dat, ns, CONTEXT | differ | {"common_comm"}, half=ns // 2)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq_vectors:local_timer_entry"] > 10


# What plugins show of a state is all but whether a runnable task was preempted. The kernel has two
# ways of asking for a reschedule, trace-cmd one letter for both; and none for bottom halves that
# are off. Raw, it prints all flags as the kernel has them, and nothing of the depth.
def test_states_and_context_as_trace_cmd_shows_them(trace_dat: Path, tmp_path: Path) -> None:
    wanted = tables(trace_dat)
    shown = tables(reported(trace_dat, tmp_path, "-t", "-l"))
    raw = tables(reported(trace_dat, tmp_path, "-t", "-R", "-l"))
    # It has the letters of dead and of zombie tasks the other way round.
    swapped = {0x100: 0, 0x10: 0x20, 0x20: 0x10}
    states = wanted["sched:sched_switch"]["prev_state"].to_pylist()
    assert shown["sched:sched_switch"]["prev_state"].to_pylist() == [
        swapped.get(state, state) for state in states
    ]
    for event, table in wanted.items():
        assert shown[event]["common_preempt_count"] == table["common_preempt_count"]
        flags = [flags & ~(PREEMPT_RESCHED | BH_OFF) for flags in table["common_flags"].to_pylist()]
        assert shown[event]["common_flags"].to_pylist() == flags, event
        assert raw[event]["common_flags"] == table["common_flags"], event
        assert "common_preempt_count" not in raw[event].column_names


def lost_some(path: Path) -> bool:
    return bool(Capture(str(path)).scan()["lost_events"])


# Losses lie where trace-cmd says: as many, on the same CPUs, up to the event behind the line.
def test_losses_are_where_trace_cmd_has_them(tmp_path: Path) -> None:
    recording = tmp_path / "trace.dat"
    small = ("-C", "mono", "-b", "1", "-e", "raw_syscalls", "-e", "sched:sched_switch")
    trace_cmd_record(recording, *small, load=load(0.2), worth=lost_some)
    path = reported(recording, tmp_path, "-t")
    mark = r"^CPU:(\d+) \[(?:(\d+) )?EVENTS DROPPED\]\n.*\[\d+\] +(\d+)\.(\d{9}):"
    marks = re.findall(mark, path.read_text(), re.MULTILINE)
    scan = Capture(str(path)).scan()
    assert scan["lost_events"] == sum(int(count or 0) for _, count, _, _ in marks)
    assert scan["lost_unknown"] == sum(not count for _, count, _, _ in marks)
    wanted = [(int(cpu), int(s + ns), int(count or 0)) for cpu, count, s, ns in marks]
    assert [(cpu, end, lost) for cpu, _, end, lost in gaps(scan)] == wanted != []


# Each buffer's lines are its own.
def test_buffers_of_one_report(tmp_path: Path) -> None:
    recording, names = tmp_path / "trace.dat", ("netcost_text",)
    trace_cmd_record(
        *(recording, "-C", "mono", "-e", "irq", "-B", names[0], "-e", "sched:sched_switch"),
        load=load(0.3),
        instances=names,
    )
    path = reported(recording, tmp_path, "-t", "-N")
    assert [one["name"] for one in Capture(str(path)).header()["buffers"]] == ["", *names]
    for buffer in ("", *names):
        found, wanted = (
            {event: table["time_ns"] for event, table in tables(one, buffer=buffer).items()}
            for one in (path, recording)
        )
        assert found == wanted
    assert set(tables(path)) & {"sched:sched_switch", "irq:softirq_entry"} == {"irq:softirq_entry"}
    with pytest.raises(Exception, match="no buffer 'other'"):
        Capture(str(path), buffer="other")

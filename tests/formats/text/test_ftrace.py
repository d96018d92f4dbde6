# ftrace's text of this machine, in every format it has, beside the pages it was printed from.

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.kit.record import made_again
from support.live import EVENTS
from support.native_tables import rows
from support.texts import ABSENT, assert_same, by_cpu, tables
from support.tracedat.live import copy, instance, load, tell

pytestmark = pytest.mark.measures

VECTORS = [f"irq_vectors:local_timer_{edge}" for edge in ("entry", "exit")]
# The names of tasks are those that the kernel knew last, of which each reader keeps what it can.
NAMES = frozenset({"common_comm"})
CONTEXT = frozenset({"common_flags", "common_preempt_count"})
# The verbose format shows half of common_preempt_count, the depth of preemption.
DEPTH = "common_preempt_count"
CPU_AND_DEPTH = ["common_cpu", DEPTH]
ABSENT_IN = {"no context": CONTEXT, "verbose": frozenset({DEPTH})}


# What the load did, stopped: reading `trace` leaves everything in place, `trace_pipe` takes it.
@contextmanager
def recorded(
    names: Sequence[str], seconds: float, clock: str = "mono", kilobytes: int = 4096
) -> Iterator[Path]:
    with instance(names, clock, kilobytes) as place:
        if (place / "options" / "hash-ptr").exists():
            tell(place / "options" / "hash-ptr", "0")
        subprocess.run(load(seconds), check=True, timeout=60)
        tell(place / "tracing_on", "0")
        yield place


def printed(place: Path, target: Path, **options: int) -> None:
    for name, on in options.items():
        tell(place / "options" / name.replace("_", "-"), str(on))
    target.write_text((place / "trace").read_text(errors="surrogateescape"))


def piped(place: Path, target: Path) -> str:
    command = ["timeout", "2", "cat", str(place / "trace_pipe")]
    target.write_text(subprocess.run(command, capture_output=True, text=True).stdout)
    return target.read_text()


# All formats of the same events; the pages come last, for copying takes them.
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ftrace")
    with recorded([*EVENTS, *VECTORS], 0.4) as place:
        printed(place, folder / "trace")
        printed(place, folder / "latency", latency_format=1)
        printed(place, folder / "verbose", verbose=1)
        printed(place, folder / "no context", verbose=0, latency_format=0, irq_info=0)
        printed(place, folder / "tgid", irq_info=1, record_tgid=1)
        copy(place, folder / "pages", [*EVENTS, *VECTORS])
    return folder


@pytest.mark.parametrize("name", ["trace", "tgid", "verbose", "no context"])
def test_text_is_what_the_pages_hold(folder: Path, name: str) -> None:
    absent = NAMES | ABSENT_IN.get(name, frozenset())
    counts = assert_same(folder / name, folder / "pages", 1000, absent, half=500)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq_vectors:local_timer_entry"] > 10
    header = Capture(str(folder / name)).header()
    assert (header["mode"], header["resolution_ns"]) == ("ftrace", 1000)
    if name != "no context":
        # SOFTIRQ is set while one runs.
        flags = tables(folder / name)["irq:softirq_entry"]["common_flags"].to_pylist()
        assert {one & 0x10 for one in flags} == {0x10}
    scan = Capture(str(folder / name)).scan()
    assert "no event" not in scan["records"]
    assert (scan["lost_events"], scan["lost_unknown"]) == (0, 0)


def test_the_verbose_format_has_the_depth_of_preemption(folder: Path) -> None:
    found, wanted = tables(folder / "verbose"), tables(folder / "pages")
    for event, table in found.items():
        depths = [(cpu, depth & 0xF) for cpu, depth in by_cpu(wanted[event], CPU_AND_DEPTH, 1)]
        assert sorted(by_cpu(table, CPU_AND_DEPTH, 1)) == sorted(depths), event
    assert {depth for _, depth in by_cpu(found["sched:sched_switch"], CPU_AND_DEPTH, 1)} - {0}


# The latency format counts from where the buffer began, and rounds from there.
def test_the_latency_format_is_what_the_pages_hold(folder: Path) -> None:
    found, wanted = tables(folder / "latency"), tables(folder / "pages")
    assert {name: len(table) for name, table in found.items()} == {
        name: len(table) for name, table in wanted.items()
    }
    shifts = set()
    for event, table in found.items():
        names = [name for name in wanted[event].column_names if name not in ABSENT | NAMES]
        ours, theirs = (
            sorted(by_cpu(one, names, 1), key=lambda row: row[1]) for one in (table, wanted[event])
        )
        assert [row[1:] for row in ours] == [row[1:] for row in theirs], event
        shifts |= {their[0] - our[0] for our, their in zip(ours, theirs, strict=True)}
    assert min(shifts) > 0
    assert max(shifts) - min(shifts) <= 1000


def test_a_pipe_shows_the_same_as_the_file(tmp_path: Path) -> None:
    with recorded(EVENTS, 0.2) as place:
        printed(place, tmp_path / "trace")
        piped(place, tmp_path / "pipe")
    counts = assert_same(tmp_path / "pipe", tmp_path / "trace", 1, NAMES)
    assert counts["sched:sched_switch"] > 50


# A full buffer: the file says where each CPU's events begin, the pipe how many were lost.
def test_what_was_overwritten_is_said(tmp_path: Path) -> None:
    events = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch"]

    def overwritten(folder: Path) -> tuple[Path, list[str]]:
        with recorded(events, 0.5, kilobytes=8) as place:
            printed(place, folder / "trace")
            text = piped(place, folder / "pipe")
        return folder, re.findall(r"^CPU:\d+ \[LOST (\d+) EVENTS\]$", text, re.M)

    folder, marks = made_again(overwritten, lambda made: bool(made[1]), tmp_path)
    trace, pipe = (Capture(str(folder / name)).scan() for name in ("trace", "pipe"))
    assert pipe["lost_events"] == sum(map(int, marks)) > 0
    text = (folder / "trace").read_text()
    starts = re.findall(r"^##### CPU \d+ buffer started ####$", text, re.M)
    assert (trace["lost_events"], trace["lost_unknown"]) == (0, 0)
    assert [gap["why"] for gap in rows(trace["coverage"])] == len(starts) * ["overwritten"] != []
    assert [note for note in trace["notes"] if "buffer was full" in note]


@pytest.mark.parametrize(("clock", "unit"), [("x86-tsc", "cycles"), ("counter", "order")])
def test_clocks_without_a_unit_keep_the_order(tmp_path: Path, clock: str, unit: str) -> None:
    events = ["sched:sched_switch", "irq:softirq_entry"]
    with recorded(events, 0.1, clock) as place:
        printed(place, tmp_path / "trace")
        printed(place, tmp_path / "verbose", latency_format=1, verbose=1)
        copy(place, tmp_path / "pages", events)
    text, pages = Capture(str(tmp_path / "trace")), Capture(str(tmp_path / "pages"))
    verbose = Capture(str(tmp_path / "verbose"))
    assert verbose.header()["time_unit"] == "order"
    for name in events:
        tables_of_both = [pa.table(one.events(name)) for one in (verbose, text)]
        [mine, theirs] = [one.drop_columns([DEPTH, *NAMES]) for one in tables_of_both]
        assert mine == theirs
    # The text does not say which: neither tells a duration.
    assert (text.header()["time_unit"], pages.header()["time_unit"]) == ("order", unit)
    [found, wanted] = [pa.table(one.events("sched:sched_switch")) for one in (text, pages)]
    key = [("common_cpu", "ascending"), ("next_pid", "ascending"), ("prev_pid", "ascending")]
    assert len(found) == len(wanted) > 10
    names = ["common_cpu", "prev_pid", "next_pid"]
    assert found.select(names).sort_by(key) == wanted.select(names).sort_by(key)
    assert found["time_order"].to_pylist() == sorted(found["time_order"].to_pylist())
    with pytest.raises(Exception, match="no ledger"):
        text.timeline(["segments"])

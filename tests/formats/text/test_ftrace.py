# ftrace's text of this machine, in every format it has, beside the pages it was printed from.

import re
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.kit.record import made_again
from support.live import EVENTS
from support.native_tables import rows
from support.text_compared import ABSENT, assert_same, by_cpu, tables
from support.text_ftrace import Instance, recorded
from support.tracedat.live import load

pytestmark = pytest.mark.measures

VECTORS = [f"irq_vectors:local_timer_{edge}" for edge in ("entry", "exit")]
# The names of tasks are those that the kernel knew last, of which each reader keeps what it can.
NAMES = frozenset({"common_comm"})
CONTEXT = frozenset({"common_flags", "common_preempt_count"})
# The verbose format shows half of common_preempt_count, the depth of preemption.
DEPTH = "common_preempt_count"
CPU_AND_DEPTH = ["common_cpu", DEPTH]
ABSENT_IN = {"no context": CONTEXT, "verbose": frozenset({DEPTH})}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ftrace")
    with recorded([*EVENTS, *VECTORS], load(0.4)) as instance:
        print_all(instance, folder)
    return folder


# Reading `trace` leaves everything in place, so all formats show the same events. The pages come
# before the pipe, which shows what they left: of another recording, then.
def print_all(instance: Instance, folder: Path) -> None:
    (folder / "trace").write_text(instance.trace())
    instance.options(latency_format=True)
    (folder / "latency").write_text(instance.trace())
    instance.options(verbose=True)
    (folder / "verbose").write_text(instance.trace())
    instance.options(verbose=False, latency_format=False, irq_info=False)
    (folder / "no context").write_text(instance.trace())
    instance.options(irq_info=True, record_tgid=True)
    (folder / "tgid").write_text(instance.trace())
    instance.options(record_tgid=False)
    instance.pages(folder / "pages", [*EVENTS, *VECTORS])


@pytest.mark.parametrize("name", ["trace", "tgid", "verbose", "no context"])
def test_text_is_what_the_pages_hold(folder: Path, name: str) -> None:
    absent = NAMES | ABSENT_IN.get(name, frozenset())
    counts = assert_same(folder / name, folder / "pages", 1000, absent, half=500)
    assert counts["sched:sched_switch"] > 100
    assert counts["irq_vectors:local_timer_entry"] > 10
    header = Capture(str(folder / name)).header()
    assert (header["mode"], header["resolution_ns"]) == ("ftrace", 1000)
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


def test_columns_mean_what_the_fields_hold(folder: Path) -> None:
    found = tables(folder / "trace")["irq:softirq_entry"]
    # SOFTIRQ is set while one runs.
    assert {flags & 0x10 for flags in found["common_flags"].to_pylist()} == {0x10}


def test_a_pipe_shows_the_same_as_the_file(tmp_path: Path) -> None:
    with recorded(EVENTS, load(0.2)) as instance:
        (tmp_path / "trace").write_text(instance.trace())
        (tmp_path / "pipe").write_text(instance.pipe(2.0))
    counts = assert_same(tmp_path / "pipe", tmp_path / "trace", 1, NAMES)
    assert counts["sched:sched_switch"] > 50


# A full buffer: the file says where each CPU's events begin, the pipe how many were lost.
def test_what_was_overwritten_is_said(tmp_path: Path) -> None:
    events = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch"]

    def overwritten(folder: Path) -> tuple[Path, list[str]]:
        with recorded(events, load(0.5), kilobytes=8) as instance:
            (folder / "trace").write_text(instance.trace())
            (folder / "pipe").write_text(instance.pipe(2.0))
        lost = r"^CPU:\d+ \[LOST (\d+) EVENTS\]$"
        return folder, re.findall(lost, (folder / "pipe").read_text(), re.M)

    folder, marks = made_again(overwritten, lambda made: bool(made[1]), tmp_path)
    trace, pipe = (Capture(str(folder / name)).scan() for name in ("trace", "pipe"))
    assert pipe["lost_events"] == sum(map(int, marks)) > 0
    starts = re.findall(
        r"^##### CPU \d+ buffer started ####$", (folder / "trace").read_text(), re.M
    )
    assert (trace["lost_events"], trace["lost_unknown"]) == (0, 0)
    assert [gap["why"] for gap in rows(trace["coverage"])] == len(starts) * ["overwritten"] != []
    assert [note for note in trace["notes"] if "buffer was full" in note]


@pytest.mark.parametrize(("clock", "unit"), [("x86-tsc", "cycles"), ("counter", "order")])
def test_clocks_without_a_unit_keep_the_order(tmp_path: Path, clock: str, unit: str) -> None:
    events = ["sched:sched_switch", "irq:softirq_entry"]
    with recorded(events, load(0.1), clock=clock) as instance:
        (tmp_path / "trace").write_text(instance.trace())
        instance.options(latency_format=True, verbose=True)
        (tmp_path / "verbose").write_text(instance.trace())
        instance.pages(tmp_path / "pages", events)
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

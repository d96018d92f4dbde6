# This machine, recorded by trace-cmd in every way it allows, against what trace-cmd reads from the
# same file: every event, every field, every loss.

import shlex
from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.live import EVENTS
from support.native_tables import Answer, assert_conserved, rows
from support.tracedat.live import TRACING, events, holds, load, require_recording, trace_cmd_record
from support.tracedat.report import assert_same, report, trace_cmd

pytestmark = pytest.mark.alone

# Each records what the others do not. The smallest rings, of two sub-buffers, lose events.
SMALL = ("-C", "mono", "-b", "1", "-e", "raw_syscalls")
WAYS: dict[str, tuple[str, ...]] = {
    "as it comes": (),
    "mono": ("-C", "mono"),
    "not compressed": ("-C", "mono", "--compression", "none"),
    "version 6": ("-C", "mono", "--file-version", "6"),
    "stacks": ("-C", "boot", "-T"),
    "date": ("-C", "mono", "--date"),
    "global": ("-C", "global"),
    "perf": ("-C", "perf"),
    "tai": ("-C", "tai"),
    "raw": ("-C", "mono_raw"),
    "cycles": ("-C", "x86-tsc"),
    "counter": ("-C", "counter"),
    "losses": SMALL,
    "losses, version 6": (*SMALL, "--file-version", "6"),
}
# A file holds nothing but the name of these clocks.
OF_NAME = ("global", "perf", "tai", "raw", "counter")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_recording()
    return tmp_path_factory.mktemp("recorded")


is_busy = holds("irq:softirq_entry", "sched:sched_switch")
is_interrupted = holds("irq:softirq_entry")


@pytest.mark.parametrize(
    "way", [pytest.param(one, marks=[pytest.mark.slow] * (one in OF_NAME)) for one in WAYS]
)
def test_every_event_is_what_trace_cmd_reads(folder: Path, way: str) -> None:
    options = WAYS[way]
    clock = options[options.index("-C") + 1] if "-C" in options else None
    known = (TRACING / "trace_clock").read_text().replace("[", "").replace("]", "").split()
    if clock not in (None, *known):
        pytest.skip(f"this machine has no clock for '{way}'")
    loses = "losses" in way

    def is_worth_it(path: Path) -> bool:
        capture = Capture(str(path))
        lost = not loses or capture.scan()["lost_events"] > 0
        # Of a file with many stacks trace-cmd 3.1 sometimes shows nothing itself.
        is_shown = trace_cmd("report", "-i", path) != ""
        return lost and is_shown and clock in (None, capture.header()["clock"]) and is_busy(path)

    path = trace_cmd_record(
        *(folder / f"{way.replace(' ', '-')}.dat", *options, *events(EVENTS)),
        load=load(0.3),
        worth=is_worth_it,
    )
    counts = assert_same(path)
    assert counts["softirq_entry"] > 10
    assert counts["sched_switch"] > 10
    # What it was recorded for is there: a test of nothing would pass all the same.
    assert ("kernel_stack" in counts) is (way == "stacks")
    header, scan = Capture(str(path)).header(), Capture(str(path)).scan()
    assert header["version"] == (6 if "6" in options else 7)
    assert clock in (None, header["clock"])
    assert header["compressed"] is not (header["version"] == 6 or "none" in options)
    assert (header["date_offset_ns"] is not None) is ("--date" in options)
    assert header["uname"].startswith("Linux ")
    assert not loses or len(rows(scan["coverage"])) > 0
    # The ledger's parts are the whole, except where there is no time.
    if header["time_unit"] != "ns" or header["resolution_ns"] > 1_000_000:
        with pytest.raises(CaptureError, match=rf"^no ledger: clock {header['clock']} "):
            Answer(path)
    else:
        assert_conserved(Answer(path))


# The date is that of now. The same tasks' names as trace-cmd's, where no event tells one: of three
# senders at the least.
def test_names_and_date(folder: Path) -> None:
    senders = ["sh", "-c", f"{' & '.join([shlex.join(load(0.3))] * 3)} & wait"]
    options = ("-C", "mono", "--date", "-e", "irq")
    path = trace_cmd_record(folder / "names.dat", *options, load=senders, worth=is_interrupted)
    offset, said = Capture(str(path)).header()["date_offset_ns"], report(path, {})
    theirs = {one.pid: one.comm for one in said}
    table = rows(Capture(str(path)).events("irq:softirq_entry"))
    mine = {row["common_pid"]: row["common_comm"] for row in table}
    known = [pid for pid in mine if pid and theirs[pid] != "<...>"]
    assert len(known) > 2
    assert {pid: mine[pid] for pid in known} == {pid: theirs[pid] for pid in known}
    times = sorted(row["time_ns"] + offset for row in table)
    assert abs(times[-1] / 1e9 - path.stat().st_mtime) < 60
    assert sorted(one.time for one in said if one.event == "softirq_entry") == times


# Each buffer has events of its own.
@pytest.mark.parametrize("version", ["6", "7"])
def test_instances(folder: Path, version: str) -> None:
    names = ("netcost_one", "netcost_two")
    path = trace_cmd_record(
        *(folder / f"instances-{version}.dat", "--file-version", version, "-C", "mono"),
        *("-e", "irq", "-B", names[0], "-e", "sched:sched_switch", "-B", names[1], "-e", "napi"),
        load=load(0.3),
        instances=names,
        worth=is_interrupted,
    )
    assert "softirq_entry" in assert_same(path)
    assert set(assert_same(path, names[0])) == {"sched_switch"}
    assert set(assert_same(path, names[1])) == {"napi_poll"}

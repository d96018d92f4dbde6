# This machine, recorded by trace-cmd in every way it allows, against what trace-cmd reads from the
# same file: every event, every field, every loss.

import shlex
from pathlib import Path

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.live import EVENTS
from support.native_tables import Answer, assert_conserved, rows
from support.tracedat.compared import assert_same
from support.tracedat.live import TRACING, events, load, require_recording, trace_cmd_record
from support.tracedat.report import report, trace_cmd

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
# Not every machine has every clock.
CLOCKS = ("local", "global", "counter", "uptime", "perf", "mono", "mono_raw", "boot", "tai")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_recording()
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.slow] * (one in OF_NAME)) for one in WAYS],
)
def recorded(request: pytest.FixtureRequest, folder: Path) -> tuple[str, Path]:
    way: str = request.param
    options = WAYS[way]
    if "-C" in options and options[options.index("-C") + 1] not in clocks():
        pytest.skip(f"this machine has no clock for '{way}'")
    path = folder / f"{way.replace(' ', '-')}.dat"
    clock = options[options.index("-C") + 1] if "-C" in options else None

    def worth(path: Path) -> bool:
        lost = "losses" not in way or Capture(str(path)).scan()["lost_events"] > 0
        return lost and clock in (None, Capture(str(path)).header()["clock"]) and busy(path)

    return way, trace_cmd_record(path, *options, *events(EVENTS), load=load(0.3), worth=worth)


def busy(path: Path, names: tuple[str, ...] = ("irq:softirq_entry", "sched:sched_switch")) -> bool:
    counts = Capture(str(path)).scan()["events"]
    return all(counts.get(name, 0) > 100 for name in names)


def switched(path: Path) -> bool:
    return busy(path, ("sched:sched_switch",))


def interrupted(path: Path) -> bool:
    return busy(path, ("irq:softirq_entry",))


def clocks() -> list[str]:
    return (TRACING / "trace_clock").read_text().replace("[", "").replace("]", "").split()


def test_every_event_is_what_trace_cmd_reads(recorded: tuple[str, Path]) -> None:
    way, path = recorded
    counts = assert_same(path)
    assert counts["softirq_entry"] > 10
    assert counts["sched_switch"] > 10
    assert ("kernel_stack" in counts) is (way == "stacks")


# What each was recorded for is there: a test of nothing would pass all the same.
def test_what_was_asked_for_was_recorded(recorded: tuple[str, Path]) -> None:
    way, path = recorded
    options = WAYS[way]
    header, scan = Capture(str(path)).header(), Capture(str(path)).scan()
    assert header["version"] == (6 if "6" in options else 7)
    assert "-C" not in options or header["clock"] == options[options.index("-C") + 1]
    assert header["compressed"] is not (header["version"] == 6 or "none" in options)
    assert (header["date_offset_ns"] is not None) is ("--date" in options)
    assert header["uname"].startswith("Linux ")
    if "losses" in way:
        assert scan["lost_events"] > 0
        assert len(rows(scan["coverage"])) > 0


# The ledger's parts are the whole, except where there is no time.
def test_a_live_capture_conserves(recorded: tuple[str, Path]) -> None:
    path = recorded[1]
    header = Capture(str(path)).header()
    if header["time_unit"] != "ns" or header["resolution_ns"] > 1_000_000:
        with pytest.raises(CaptureError, match=rf"^no ledger: clock {header['clock']} "):
            Answer(path)
        return
    got = Answer(path)
    assert_conserved(got)
    assert len(got.softirqs) > 10


def test_the_date_is_that_of_now(folder: Path) -> None:
    path = trace_cmd_record(
        *(folder / "now.dat", "-C", "mono", "--date", "-e", "sched:sched_switch"),
        load=load(0.2),
        worth=switched,
    )
    offset = Capture(str(path)).header()["date_offset_ns"]
    times = [row["time_ns"] for row in rows(Capture(str(path)).events("sched:sched_switch"))]
    assert abs((times[-1] + offset) / 1e9 - path.stat().st_mtime) < 60
    assert sorted(one.time for one in report(path, {})) == [at + offset for at in sorted(times)]


# Each buffer has events of its own.
@pytest.mark.parametrize("version", ["6", "7"])
def test_instances(folder: Path, version: str) -> None:
    names = ("netcost_one", "netcost_two")
    path = trace_cmd_record(
        *(folder / f"instances-{version}.dat", "--file-version", version, "-C", "mono"),
        *("-e", "irq", "-B", names[0], "-e", "sched:sched_switch", "-B", names[1], "-e", "napi"),
        load=load(0.3),
        instances=names,
        worth=interrupted,
    )
    assert "softirq_entry" in assert_same(path)
    assert set(assert_same(path, names[0])) == {"sched_switch"}
    assert set(assert_same(path, names[1])) == {"napi_poll"}


# The same tasks' names as trace-cmd's, where no event tells one: of three senders at the least.
def test_saved_names(folder: Path) -> None:
    senders = ["sh", "-c", f"{' & '.join([shlex.join(load(0.3))] * 3)} & wait"]
    path = trace_cmd_record(
        folder / "names.dat", "-C", "mono", "-e", "irq", load=senders, worth=interrupted
    )
    theirs = {one.pid: one.comm for one in report(path, {})}
    mine = {
        row["common_pid"]: row["common_comm"]
        for row in rows(Capture(str(path)).events("irq:softirq_entry"))
    }
    known = [pid for pid in mine if pid and theirs[pid] != "<...>"]
    assert len(known) > 2
    assert {pid: mine[pid] for pid in known} == {pid: theirs[pid] for pid in known}
    assert "Linux" in trace_cmd("report", "--uname", "-i", path)

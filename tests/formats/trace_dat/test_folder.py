# A folder of copies from tracefs is what a trace.dat of the same rings is. What it says, and what
# may be missing in it: native/tests/formats/trace_dat/folder.rs.

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

import netcost_analysis
from netcost_analysis import open_capture
from netcost_analysis._native import Capture
from support.asked import lifetimes
from support.host import Fresh, examples
from support.live import EVENTS
from support.narrator import recordings
from support.native_tables import Answer, assert_conserved
from support.perfdata import Cpu, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.timeline import narrowed
from support.told import OPENSSL, UDPSINK
from support.tracedat import Dress, encoded, options, write_trace_dat, write_tracefs
from support.tracedat.dresses import (
    LOSSES,
    assert_same,
    dresses,
    losing,
    machines,
    tables,
    without_repeats,
)
from support.tracedat.live import load, tracefs_folder

S = 1_000_000_000


@examples(20)
@given(recordings(), dresses(), machines(), LOSSES)
def test_a_timeline_is_the_same_from_tracefs_and_from_trace_cmd(
    fresh: Fresh,
    told: Recording,
    dress: Dress,
    machine: Machine,
    losses: list[tuple[int, int]],
) -> None:
    folder = fresh()
    told = narrowed(without_repeats(told))
    told = replace(told, cpus=tuple(losing(one, losses) for one in told.cpus), machine=machine)
    dress = replace(dress, instances={}, options=())
    wanted = tables(write_trace_dat(told, folder / "trace.dat", dress))
    assert_same(tables(write_tracefs(told, folder / "trace.tracefs", dress)), wanted)


def slept() -> Cpu:
    told = (h.Waking(S, UDPSINK), h.Switch(S + 1_000, h.idle(1), 1), h.Waking(S + 4_000, UDPSINK))
    return cpu(1, *told, task=OPENSSL)


# CPU 1 alone was recorded. The folder has what was recorded, and says nothing of other CPUs.
def test_a_folder_does_not_say_how_many_cpus_the_host_had(tmp_path: Path) -> None:
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    capture = open_capture(write_tracefs(recording(slept(), formats=formats), tmp_path / "folder"))
    assert (capture.info["cpus"], capture.info["nr_cpus"]) == ([1], None)
    # So who went to sleep may have ended elsewhere.
    life = lifetimes(capture.timeline()).loc["openssl"]
    assert life[["lifetime_ns", "lifetime_max_ns"]].tolist() == [1_000, 4_000]
    assert life[["asleep_ns", "unaccounted_ns"]].tolist() == [0, 3_000]


# Version 6 counts its CPUs, those without data too; version 7 where it has the option.
@pytest.mark.parametrize(("version", "stated", "count"), [(6, (), 2), (7, (2,), 2), (7, (), None)])
def test_a_trace_dat_says_how_many_cpus_there_were_or_nothing(
    tmp_path: Path, version: int, stated: tuple[int, ...], count: int | None
) -> None:
    contents = Dress(version).contents(recording(slept()))
    others = tuple(one for one in contents.options if one.id != options.CPUCOUNT)
    contents = replace(contents, options=others + tuple(map(options.cpu_count, stated)))
    (tmp_path / "trace.dat").write_bytes(encoded(contents, version))
    info = netcost_analysis.open_capture(tmp_path / "trace.dat").info
    assert (info["cpus"], info["nr_cpus"]) == ([1], count)


# In a bundle whose manifest says that it rolled, what a CPU's ring lost before its oldest event was
# overwritten, what it lost behind that is lost; elsewhere all is lost, as trace-cmd counts it. The
# kernel writes the number into the page only where that has room for it.
@pytest.mark.parametrize("counted", [True, False])
def test_what_was_overwritten_is_not_lost(tmp_path: Path, counted: bool) -> None:
    def raised(at: int) -> tuple[h.Happening, ...]:
        return (h.SoftirqRaise(at, 3), h.SoftirqEntry(at + 10, 3), h.SoftirqExit(at + 20, 3))

    told = recording(
        cpu(0, h.Lost(S - 5, 70_000), *raised(S + 400), h.Lost(S + 500, 5), *raised(S + 600)),
        cpu(1, *raised(S), *raised(S + 900)),
    )
    places = [(0, S, S + 400, 70_000 * counted), (0, S + 420, S + 600, 5 * counted)]
    dress = Dress(count_losses=counted)
    same = write_trace_dat(told, tmp_path / "trace.dat", dress)
    until = {"condition": "softirq>30%", "held": True, "ended_by": "condition"}
    for rolled in (until, None):
        bundle = tmp_path / f"bundle {rolled is None}"
        write_tracefs(told, bundle / "trace.tracefs", dress)
        said = {"netcost_bundle": 1, "tool": "tracefs", "trace": "trace.tracefs", "until": rolled}
        (bundle / "manifest.json").write_text(json.dumps(said))
        alike = [bundle] if rolled else [bundle, bundle / "trace.tracefs", same]
        for capture in map(open_capture, alike):
            coverage = capture.info["coverage"]
            columns = ("cpu", "start_ns", "end_ns", "lost")
            assert [tuple(row[name] for name in columns) for row in coverage] == places
            whys = ["overwritten" if rolled else "events were lost", "events were lost"]
            assert [row["why"] for row in coverage] == whys
            of_timeline = capture.timeline().coverage["why"].tolist()
            assert (of_timeline[0] == "overwritten", len(of_timeline)) == (rolled is not None, 2)
            lost = 5 if rolled else 70_005
            wanted = [lost, 0] if counted else [0, 1 if rolled else 2]
            for told_of in (capture.info, capture.timeline().summary):
                assert [told_of[name] for name in ("lost_events", "lost_unknown")] == wanted


# This machine's own, copied while nothing is recorded any more.
@pytest.mark.alone
def test_a_live_folder(tmp_path: Path) -> None:
    with tracefs_folder(tmp_path / "live", EVENTS):
        subprocess.run(load(0.2), check=True)
    capture = Capture(str(tmp_path / "live"))
    scan = capture.scan()
    assert scan["events"]["irq:softirq_entry"] > 10
    assert scan["events"]["sched:sched_switch"] > 10
    assert scan["notes"] == []
    assert capture.header()["clock"] == "mono"
    assert_conserved(Answer(tmp_path / "live"))

# A folder of copies from tracefs is what a trace.dat of the same rings is.

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

import netcost_analysis
from netcost_analysis._native import Capture, CaptureError
from support.asked import lifetimes
from support.examples import examples
from support.host import Fresh
from support.live import EVENTS
from support.narrator import recordings
from support.narrowed import narrowed
from support.native_tables import Answer, assert_conserved, rows
from support.perfdata import MACHINES, Cpu, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.story import story
from support.told import OPENSSL, UDPSINK
from support.tracedat import (
    Dress,
    Style,
    options,
    version6,
    version7,
    write_trace_dat,
    write_tracefs,
)
from support.tracedat.dresses import dresses, machines
from support.tracedat.live import load, tracefs_folder
from support.tracedat.told_twice import LOSSES, assert_same, losing, tables, without_repeats

S = 1_000_000_000
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


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


def test_the_header_says_what_it_was(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        for size in (4096, 65536):
            told = replace(narrowed(story()), machine=machine)
            dress = Dress(clock="boot", style=Style(size))
            header = Capture(str(write_tracefs(told, tmp_path / "folder", dress))).header()
            said = (
                "format",
                "byte_order",
                "word_bytes",
                "clock",
                "time_unit",
                "resolution_ns",
                "notes",
            )
            order = {"<": "little", ">": "big"}[machine.order]
            assert [header[name] for name in said] == [
                *("tracefs", order, machine.word, "boot", "ns", 1, []),
            ]
            assert header["uname"].split()[1:] == ["described", "6.18.0", "x86_64"]
            assert {one["name"] for one in header["events"]} >= {
                one.event for one in story().formats
            }


# CPU 1 alone was recorded. The folder has what was recorded, and says nothing of other CPUs.
def test_a_folder_does_not_say_how_many_cpus_the_host_had(tmp_path: Path) -> None:
    formats = tuple(one for one in t.FORMATS if one is not t.SCHED_PROCESS_EXIT)
    folder = write_tracefs(recording(slept(), formats=formats), tmp_path / "folder")
    capture = netcost_analysis.open_capture(folder)
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
    data = version6.write(contents) if version == 6 else version7.write(contents, Dress().packing)
    (tmp_path / "trace.dat").write_bytes(data)
    assert Capture(str(tmp_path / "trace.dat")).header()["nr_cpus"] == count
    info = netcost_analysis.open_capture(tmp_path / "trace.dat").info
    assert (info["cpus"], info["nr_cpus"]) == ([1], count)


def slept() -> Cpu:
    told = (h.Waking(S, UDPSINK), h.Switch(S + 1_000, h.idle(1), 1), h.Waking(S + 4_000, UDPSINK))
    return cpu(1, *told, task=OPENSSL)


# A CPU whose file is empty or absent, one whose last page is cut, files beside.
def test_what_may_be_missing(tmp_path: Path) -> None:
    lanes = [cpu(number, *(h.SoftirqRaise(S + at, 1) for at in range(600))) for number in range(3)]
    folder = write_tracefs(recording(*lanes), tmp_path / "folder")
    for name in ("header_event", "saved_cmdlines", "printk_formats", "uname", "per_cpu/cpu0/stats"):
        (folder / name).unlink()
    (folder / "per_cpu/cpu0/raw").write_bytes(b"")
    raw = folder / "per_cpu/cpu1/raw"
    raw.write_bytes(raw.read_bytes()[: 2 * 4096 + 100])
    (folder / "README").write_text("copied by hand\n")
    found = rows(Capture(str(folder)).events("irq:softirq_raise"))
    assert [sum(row["common_cpu"] == number for row in found) for number in range(3)] == [
        *(0, 510, 600),
    ]
    assert any("CPU 1" in note for note in Capture(str(folder)).scan()["notes"])


@pytest.mark.parametrize("name", ["header_page", "per_cpu", "events"])
def test_what_must_not_be_missing(tmp_path: Path, name: str) -> None:
    folder = write_tracefs(story(), tmp_path / "folder")
    (folder / name).rename(tmp_path / "elsewhere")
    with pytest.raises(CaptureError) as refused:
        Capture(str(folder)).scan()
    assert "\n" not in str(refused.value)


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

# Several ring buffers in one file: the top one, and instances (trace-cmd record -B).

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.narrowed import narrowed
from support.native_tables import rows
from support.perfdata import MACHINES, cpu, recording
from support.perfdata import happenings as h
from support.story import story
from support.tracedat import Buffer, Dress, Packing, Style, version6, version7, write_trace_dat

S = 1_000_000_000
OTHER = recording(
    cpu(0, h.SoftirqRaise(S, 1), h.SoftirqRaise(S + 3, 2)),
    cpu(1, h.SoftirqRaise(S + 7, 3)),
)
THIRD = recording(cpu(1, h.IrqEntry(S + 2000, 5, "other line"), h.IrqExit(S + 2500, 5)))
INSTANCES = {"other": OTHER, "third one": THIRD}
DRESSES = {
    "6": Dress(6, instances=INSTANCES),
    "7": Dress(7, Packing("none"), instances=INSTANCES),
    "7 zstd": Dress(7, instances=INSTANCES),
    "7, options in many sections": Dress(7, Packing(options_each=1), instances=INSTANCES),
}
every_dress = pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def everything(capture: Capture) -> dict[str, Any]:
    found = {name: rows(table) for name, table in capture.all_events().items()}
    return {name: table for name, table in found.items() if table}


@every_dress
def test_each_buffer_is_what_was_recorded_in_it(tmp_path: Path, dress: Dress) -> None:
    for machine in MACHINES.values():
        told = replace(narrowed(story()), machine=machine)
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        alone = replace(dress, instances={})
        for name, one in {"": told, **INSTANCES}.items():
            one = replace(one, machine=machine, known=told.known)
            wanted = Capture(str(write_trace_dat(one, tmp_path / "alone", alone)))
            found = Capture(str(path), buffer=name)
            assert everything(found) == everything(wanted)
            assert found.scan()["cpus"] == wanted.scan()["cpus"]
            assert found.header()["buffer"] == name


# The top one, where nothing else is asked for.
def test_the_top_buffer_by_default(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        path = write_trace_dat(story(), tmp_path / "trace.dat", dress)
        assert everything(Capture(str(path))) == everything(Capture(str(path), buffer=""))
        assert Capture(str(path)).header()["buffer"] == ""


def test_the_header_lists_them(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        path = write_trace_dat(story(), tmp_path / "trace.dat", dress)
        for name in ("", *INSTANCES):
            listed = Capture(str(path), buffer=name).header()["buffers"]
            assert [one["name"] for one in listed] == ["", *INSTANCES]
            assert all(one["bytes"] > 0 for one in listed)
            # Version 6 lists every CPU of the machine for each; here count those that recorded.
            assert [one["cpus"] for one in listed] == [2, 2, 1]


def test_a_buffer_that_is_not_there(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        for name in ("nobody", "Other", "other "):
            path = write_trace_dat(story(), tmp_path / "trace.dat", dress)
            with pytest.raises(CaptureError) as refused:
                Capture(str(path), buffer=name)
            said = str(refused.value)
            assert "\n" not in said
            assert name in said
            assert all(instance in said for instance in INSTANCES)


def test_perf_has_no_buffers_to_choose_from(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    assert Capture(str(path), buffer=None).header()["format"] == "perf.data"
    with pytest.raises(CaptureError, match="other"):
        Capture(str(path), buffer="other")


# trace-cmd record -B other: nothing was recorded in the top buffer, which has no CPU then. The only
# one that has something is meant where none is named.
def test_only_an_instance(tmp_path: Path) -> None:
    for version in (6, 7):
        contents = Dress(version, instances={"other": OTHER}).contents(OTHER)
        empty = Buffer("", "mono", {} if version == 7 else {0: b"", 1: b""})
        contents = replace(contents, buffers=(empty, *contents.instances))
        write: Callable[..., bytes] = version7.write if version == 7 else version6.write
        path = tmp_path / "trace.dat"
        path.write_bytes(write(contents))
        for other in (Capture(str(path)), Capture(str(path), buffer="other")):
            assert len(rows(other.events("irq:softirq_raise"))) == 3
            assert other.header()["buffer"] == "other"
            listed = {one["name"]: one for one in other.header()["buffers"]}
            assert listed[""]["bytes"] == 0
            assert listed["other"]["bytes"] > 0
        top = Capture(str(path), buffer="")
        assert sum(top.scan()["events"].values()) == 0


# Sub-buffers of a size of their own, as newer kernels let each buffer have.
def test_an_instance_with_larger_sub_buffers(tmp_path: Path) -> None:
    small, large = Dress(instances={"other": OTHER}), Dress(style=Style(65536))
    contents = small.contents(story())
    other = large.buffer("other", OTHER)
    contents = replace(contents, buffers=(contents.top, other))
    path = tmp_path / "trace.dat"
    path.write_bytes(version7.write(contents))
    assert len(rows(Capture(str(path), buffer="other").events("irq:softirq_raise"))) == 3
    counts = Capture(str(path)).scan()["events"]
    assert sum(counts.values()) == len(story().events())

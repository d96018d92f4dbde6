# Several ring buffers in one file: the top one, and instances (trace-cmd record -B).

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis._native import Capture, CaptureError
from support.native_tables import rows
from support.perfdata import MACHINES, cpu, recording
from support.perfdata import happenings as h
from support.perfdata.timeline import narrowed
from support.story import story
from support.tracedat import Buffer, Dress, Packing, Style, encoded, write_trace_dat
from support.tracedat.report import names, report, trace_cmd

S = 1_000_000_000
OTHER = recording(
    cpu(0, h.SoftirqRaise(S, 1), h.Lost(S + 1, 9), h.SoftirqRaise(S + 3, 2)),
    cpu(1, h.SoftirqRaise(S + 7, 3)),
)
THIRD = recording(cpu(1, h.IrqEntry(S + 2000, 5, "other line"), h.IrqExit(S + 2500, 5)))
INSTANCES = {"other": OTHER, "third": THIRD}
DRESSES = {
    "6": Dress(6, instances=INSTANCES),
    "7": Dress(7, Packing("none"), instances=INSTANCES),
    "7 zstd": Dress(7, instances=INSTANCES),
    "7, options in many sections": Dress(7, Packing(options_each=1), instances=INSTANCES),
}


def everything(capture: Capture) -> dict[str, Any]:
    found = {name: rows(table) for name, table in capture.all_events().items()}
    return {name: table for name, table in found.items() if table}


# The top one, where no other is asked for.
@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
def test_each_buffer_is_what_was_recorded_in_it(tmp_path: Path, dress: Dress) -> None:
    for machine in MACHINES.values():
        told = replace(narrowed(story()), machine=machine)
        path = write_trace_dat(told, tmp_path / "trace.dat", dress)
        shown = report(path, names(told.formats))
        for name, one in {"": told, **INSTANCES}.items():
            one = replace(one, machine=machine, known=told.known)
            alone = write_trace_dat(one, tmp_path / "alone", replace(dress, instances={}))
            wanted, found = Capture(str(alone)), Capture(str(path), buffer=name)
            assert everything(found) == everything(wanted)
            for key in ("cpus", "lost_events", "lost_unknown"):
                assert found.scan()[key] == wanted.scan()[key]
            header = found.header()
            assert header["buffer"] == name
            # Version 6 lists every CPU of the machine for each; here count those that recorded.
            listed = [(one["name"], one["cpus"]) for one in header["buffers"]]
            assert listed == [("", 2), ("other", 2), ("third", 1)]
            assert all(one["bytes"] > 0 for one in header["buffers"])
            times = sorted(row["time_ns"] for of in everything(found).values() for row in of)
            assert [row.time for row in shown if row.buffer == name] == times
        dropped = [(row.buffer, row.time - S, row.dropped) for row in shown if row.dropped]
        assert dropped == [("other", 3, 9)]
        assert everything(Capture(str(path))) == everything(Capture(str(path), buffer=""))
        with pytest.raises(CaptureError, match=r"'Other'.*other.*third"):
            Capture(str(path), buffer="Other")


def test_perf_has_no_buffers_to_choose_from(tmp_path: Path) -> None:
    path = story().write(tmp_path / "perf.data")
    with pytest.raises(CaptureError, match="other"):
        Capture(str(path), buffer="other")


# trace-cmd record -B other: nothing was recorded in the top buffer, which has no CPU then. The only
# one that has something is meant where none is named.
def test_only_an_instance(tmp_path: Path) -> None:
    for version in (6, 7):
        contents = Dress(version, instances={"other": OTHER}).contents(OTHER)
        empty = Buffer("", "mono", {} if version == 7 else {0: b"", 1: b""})
        contents = replace(contents, buffers=(empty, *contents.instances))
        path = tmp_path / "trace.dat"
        path.write_bytes(encoded(contents, version))
        for other in (Capture(str(path)), Capture(str(path), buffer="other")):
            assert len(rows(other.events("irq:softirq_raise"))) == 3
            assert other.header()["buffer"] == "other"
            listed = {one["name"]: one["bytes"] > 0 for one in other.header()["buffers"]}
            assert listed == {"": False, "other": True}
        top = Capture(str(path), buffer="")
        assert sum(top.scan()["events"].values()) == 0


# Sub-buffers of a size of their own, as newer kernels let each buffer have.
def test_an_instance_with_larger_sub_buffers(tmp_path: Path) -> None:
    contents = Dress(instances={"other": OTHER}).contents(story())
    other = Dress(style=Style(65536)).buffer("other", OTHER)
    path = tmp_path / "trace.dat"
    path.write_bytes(encoded(replace(contents, buffers=(contents.top, other))))
    assert len(rows(Capture(str(path), buffer="other").events("irq:softirq_raise"))) == 3
    counts = Capture(str(path)).scan()["events"]
    assert sum(counts.values()) == len(story().events())


# What a latency tracer leaves: text in place of pages, in a trace.dat all the same.
LINES = (
    "         openssl-500     [001] d.h1.  1000.000001: softirq_raise: vec=3 [action=NET_RX]\n",
    "         openssl-500     [001] ..s1.  1000.000003: softirq_entry: vec=3 [action=NET_RX]\n",
    *("         openssl-500     [001] ..s1.  1000.000009: softirq_exit: vec=3 [action=NET_RX]\n",)
    * 1000,
)
LATENCY = {
    "6": Dress(6),
    "7": Dress(7, Packing("none")),
    "7 zstd": Dress(7),
    "7 zstd, a page a chunk": Dress(7, Packing(chunk_pages=1)),
    "7 zlib": Dress(7, Packing("zlib")),
}


@pytest.mark.parametrize("dress", LATENCY.values(), ids=LATENCY)
def test_the_text_of_a_latency_tracer(tmp_path: Path, dress: Dress) -> None:
    path = tmp_path / "trace.dat"
    for lines in (LINES, ()):
        buffer = Buffer(clock="local", text="# tracer: irqsoff\n#\n" + "".join(lines))
        contents = replace(dress.contents(story()), buffers=(buffer,))
        path.write_bytes(encoded(contents, dress.version, dress.packing))
        if dress.packing.algorithm != "zlib":
            said = trace_cmd("report", "-i", path).partition("\n")[2].rstrip("\n")
            assert said == (buffer.text or "").rstrip("\n")
        if not lines:
            with pytest.raises(CaptureError):
                Capture(str(path)).scan()
            continue
        capture = Capture(str(path))
        counts = {name: count for name, count in capture.scan()["events"].items() if count}
        assert [*counts.values()] == [1, 1, 1000]
        [raised] = rows(capture.events("irq:softirq_raise"))
        columns = ("time_ns", "common_cpu", "common_pid", "vec", "common_flags")
        assert [raised[name] for name in columns] == [1000_000_001_000, 1, 500, 3, 9]
        header = capture.header()
        assert (header["version"], header["resolution_ns"]) == (dress.version, 1000)

# Sub-buffers that no quiet machine makes, what damage leaves of them, and what a ring had no room
# for. Byte by byte: native/tests/ring_pages.rs.

from collections.abc import Mapping
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, gaps, rows
from support.perfdata import MACHINES, X86_64, Machine, Recording, cpu, recording
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common
from support.told import OPENSSL, UDPSINK
from support.tracedat import (
    Buffer,
    Contents,
    Dress,
    Entry,
    Packing,
    Style,
    Taken,
    encoded,
    ring,
    write_trace_dat,
)
from support.tracedat.report import report
from support.tracedat.ring import MISSED, STORED, Ring

S = 1_000_000_000
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def raised(at: int, vec: int = 1, machine: Machine = X86_64) -> Entry:
    return Entry(S + at, t.SOFTIRQ_RAISE.payload({"vec": vec}, Common(0, 1, 500), machine))


# (time, CPU, vector) of every event in such rings, and the notes on them.
def found(
    folder: Path, rings: Mapping[int, bytes], machine: Machine = X86_64
) -> tuple[list[tuple[int, int, int]], list[str]]:
    contents = Contents((Buffer("", "mono", rings),), (t.SOFTIRQ_RAISE,), machine=machine)
    path = folder / "trace.dat"
    path.write_bytes(encoded(contents, packing=Packing("none")))
    capture = Capture(str(path))
    table = rows(capture.events("irq:softirq_raise"))
    seen = [(row["time_ns"] - S, row["common_cpu"], row["vec"]) for row in table]
    return seen, capture.scan()["notes"]


# Bodies of sub-buffers, as the ring's own methods make them.
def odd_pages(one: Ring) -> dict[str, bytes]:
    return {
        "nothing": b"",
        "a given-back record": one.head(29, 5) + one.sized(20),
        "padding to the end": one.head(29, 0) + b"\xff" * (one.room - 4),
        "padding to the end, at its end": one.head(29, 0),
        "a time": one.words(30, 1 << 30),
        "an absolute time": one.words(31, S),
    }


@machines
def test_sub_buffers_without_an_event(tmp_path: Path, machine: Machine) -> None:
    before, after = (ring([raised(at, machine=machine)], machine) for at in (0, 10))
    for kind, body in odd_pages(Ring(machine)).items():
        odd = Ring(machine).sub_buffer(S + 5, len(body), body)
        told = found(tmp_path, {0: before + odd + after, 1: odd}, machine)
        assert told == ([(0, 0, 1), (10, 0, 1)], []), kind


# What stands before the damage in its sub-buffer is kept, and all others.
@machines
def test_damage_ends_one_sub_buffer_and_is_said(tmp_path: Path, machine: Machine) -> None:
    one = Ring(machine)
    good = one.data(0, raised(0, machine=machine).payload)
    before, after = (ring([raised(at, machine=machine)], machine) for at in (-10, 10))
    rest = [(-10, 0, 1), (0, 0, 1), (10, 0, 1), (10, 1, 1)]
    for body, commit, kept in (
        (one.head(0, 1) + machine.pack("I", 4000) + bytes(8), None, rest),
        (one.head(0, 1) + machine.pack("I", 2**32 - 1) + bytes(8), None, rest),
        (b"\1\1", None, rest),
        (b"", one.room + 4, [rest[0], *rest[2:]]),
        (b"", (1 << 27) - 1, [rest[0], *rest[2:]]),
    ):
        bad = one.sub_buffer(S, commit or len(good + body), good + body)
        seen, notes = found(tmp_path, {0: before + bad + after, 1: after}, machine)
        assert seen == kept
        assert any("damage" in note for note in notes)


# Records of an event that no format describes are counted, and of half a sub-buffer at the end what
# is whole is read.
def test_what_is_not_understood_is_said(tmp_path: Path) -> None:
    strange = Entry(S + 1, X86_64.pack("HBBI", 999, 0, 1, 500))
    seen, [note] = found(tmp_path, {0: ring([raised(0), strange, raised(2)], X86_64)})
    assert ([at for at, _, _ in seen], note[:2]) == ([0, 2], "1 ")
    pages = ring([raised(number) for number in range(300)], X86_64)
    seen, notes = found(tmp_path, {0: pages[: 4096 + 100]})
    assert [at for at, _, _ in seen][:255] == list(range(255))
    assert notes


# Each CPU's stream is in the order of time; the table is, for all of them.
def test_streams_merge_by_time(tmp_path: Path) -> None:
    lanes = ((0, 3, 6, 9), (1, 1, 1, 20), (), (5, 6, 7))
    rings = {
        cpu: ring([raised(at) for at in lane], X86_64, Style(per_page=2))
        for cpu, lane in enumerate(lanes)
    }
    seen, _ = found(tmp_path, rings)
    assert seen == sorted((at, cpu, 1) for cpu, lane in enumerate(lanes) for at in lane)


# A clock that is not coherent runs backwards within a CPU: the order of its ring stays.
def test_time_that_runs_backwards(tmp_path: Path) -> None:
    backwards = [raised(at, vec) for vec, at in enumerate((0, 100, 50, 200))]
    seen, _ = found(
        tmp_path, {0: ring([*backwards, Taken(), raised(150, 4), raised(300, 5)], X86_64)}
    )
    times = (0, 100, 50, 200, 150, 300)
    assert seen == [(at, 0, vec) for vec, at in enumerate(times)]


def lossy(**settings: object) -> Recording:
    return recording(
        cpu(
            0,
            *(h.Waking(S + 100, UDPSINK), h.Waking(S + 110, UDPSINK), h.Lost(S + 250, 5)),
            *(h.Waking(S + 300, UDPSINK), h.Lost(S + 350, 70_000), h.Waking(S + 400, UDPSINK)),
            task=OPENSSL,
        ),
        cpu(1, h.Waking(S + 50, UDPSINK), h.Waking(S + 500, UDPSINK)),
        **settings,
    )


# From the last event that was kept to the first one behind the loss, which trace-cmd marks. The
# kernel writes the number behind the records where there is room, and nothing else would show.
@pytest.mark.parametrize("counted", [True, False])
def test_losses_are_counted_and_placed(tmp_path: Path, counted: bool) -> None:
    for version, packing in ((6, "none"), (7, "none"), (7, "zstd")):
        for machine in MACHINES.values():
            dress = Dress(version, Packing(packing), count_losses=counted)
            path = write_trace_dat(lossy(machine=machine), tmp_path / "trace.dat", dress)
            scan = Capture(str(path)).scan()
            lost = (scan["lost_events"], scan["lost_unknown"])
            assert lost == ((70_005, 0) if counted else (0, 2))
            found = gaps(scan)
            assert [gap[:3] for gap in found] == [(0, S + 110, S + 300), (0, S + 300, S + 400)]
            marked = [(one.cpu, one.time, one.dropped) for one in report(path, {}) if one.dropped]
            assert marked == [(cpu, end, lost if counted else -1) for cpu, _, end, lost in found]
            assert counted or [*scan["notes"], *Answer(path).summary["notes"]]


# Bit 30 belongs to bit 31, and a number that would stand beyond the sub-buffer is none.
def test_what_is_no_loss(tmp_path: Path) -> None:
    dress = Dress(style=Style(per_page=1), packing=Packing("none"))
    told = recording(cpu(0, *(h.SoftirqRaise(S + step, 1) for step in range(3))))
    contents = dress.contents(told)
    pages = bytearray(contents.top.rings[0])
    commit = int.from_bytes(pages[4096 + 8 : 4096 + 16], "little")
    pages[4096 + 8 : 4096 + 16] = (commit | STORED).to_bytes(8, "little")
    one = Ring(contents.machine)
    full = b"".join(one.data(1, entry) for entry in [bytes(pages[20:32])] * 255)
    pages += one.sub_buffer(S + 10, len(full) | MISSED | STORED, full)
    path = tmp_path / "trace.dat"
    top = type(contents.top)("", "mono", {0: bytes(pages)})
    path.write_bytes(encoded(type(contents)((top,), told.formats), packing=dress.packing))
    scan = Capture(str(path)).scan()
    assert (scan["lost_events"], scan["lost_unknown"]) == (0, 1)
    assert [gap[:3] for gap in gaps(scan)] == [(0, S + 2, S + 11)]
    assert scan["events"]["irq:softirq_raise"] == 3 + 255

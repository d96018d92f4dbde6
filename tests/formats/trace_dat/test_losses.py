# What a ring had no room for: how much, where, and what an answer makes of it.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, rows
from support.perfdata import MACHINES, Recording, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK
from support.tracedat import Dress, Packing, Style, version7, write_trace_dat
from support.tracedat.report import report
from support.tracedat.ring import MISSED, STORED, Ring

S = 1_000_000_000
DRESSES = {"6": Dress(6), "7": Dress(7, Packing("none")), "7 zstd": Dress(7)}
every_dress = pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES)
every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


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


def gaps(path: Path) -> list[tuple[int, ...]]:
    names = ("cpu", "start_ns", "end_ns", "lost")
    coverage = rows(Capture(str(path)).scan()["coverage"])
    return [
        tuple(row[name] - S if name.endswith("_ns") else row[name] for name in names)
        for row in coverage
    ]


# From the last event that was kept to the first one behind the loss.
def test_losses_are_counted_and_placed(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        for machine in MACHINES.values():
            path = write_trace_dat(lossy(machine=machine), tmp_path / "trace.dat", dress)
            scan = Capture(str(path)).scan()
            assert (scan["lost_events"], scan["lost_unknown"]) == (70_005, 0)
            assert gaps(path) == [(0, 110, 300, 5), (0, 300, 400, 70_000)]


def test_losses_stand_where_trace_cmd_marks_them(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        path = write_trace_dat(lossy(), tmp_path / "trace.dat", dress)
        marked = [(one.cpu, one.time - S, one.dropped) for one in report(path, {}) if one.dropped]
        assert marked == [(number, end, lost) for number, _, end, lost in gaps(path)]


# The kernel writes the number behind the records where there is room, and nothing else would show.
def test_losses_of_unknown_number(tmp_path: Path) -> None:
    for machine in MACHINES.values():
        dress = Dress(count_losses=False)
        path = write_trace_dat(lossy(machine=machine), tmp_path / "trace.dat", dress)
        scan = Capture(str(path)).scan()
        assert (scan["lost_events"], scan["lost_unknown"]) == (0, 2)
        assert [gap[:3] for gap in gaps(path)] == [(0, 110, 300), (0, 300, 400)]
        summary = Answer(path).summary
        assert [*scan["notes"], *summary["notes"]], "losses of unknown number deserve a word"


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
    rings = {0: bytes(pages)}
    top = type(contents.top)("", "mono", rings)
    path.write_bytes(version7.write(type(contents)((top,), told.formats), dress.packing))
    scan = Capture(str(path)).scan()
    assert (scan["lost_events"], scan["lost_unknown"]) == (0, 1)
    assert gaps(path) == [(0, 2, 11, gaps(path)[0][3])]
    assert scan["events"]["irq:softirq_raise"] == 3 + 255


# 100       110            301        400       500
# openssl   |softirq_entry |openssl   |hardirq  |
#           |<- unknown -->|          |         |
def test_a_loss_closes_every_open_start_and_its_gap_is_unknown(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        told = recording(
            cpu(
                0,
                h.Waking(100, UDPSINK),
                h.SoftirqEntry(110, NET_RX),
                h.unrecorded(h.SoftirqExit(200, NET_RX)),
                h.Lost(300, 5),
                h.Waking(301, UDPSINK),
                h.IrqEntry(400, 32),
                h.IrqExit(500, 32),
                task=OPENSSL,
            ),
        )
        got = Answer(write_trace_dat(told, tmp_path / "trace.dat", dress))
        assert_conserved(got)
        assert got.lane(0) == [
            (100, 110, "task"),
            (110, 301, "unknown"),
            (301, 400, "task"),
            (400, 500, "hardirq"),
        ]
        assert got.summary["lost_events"] == 5


# In an instance's rings.
def test_losses_belong_to_their_buffer(tmp_path: Path) -> None:
    for dress in DRESSES.values():
        calm = recording(cpu(0, h.SoftirqRaise(S, 1)))
        beside = Dress(dress.version, dress.packing, instances={"lossy": lossy()})
        path = write_trace_dat(calm, tmp_path / "trace.dat", beside)
        assert Capture(str(path)).scan()["lost_events"] == 0
        scan = Capture(str(path), buffer="lossy").scan()
        assert (scan["lost_events"], scan["cpus"]) == (70_005, [0, 1])

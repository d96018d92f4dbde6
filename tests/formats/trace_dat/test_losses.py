# What a ring had no room for: how much, where, and what an answer makes of it.

from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, gaps
from support.perfdata import MACHINES, Recording, cpu, recording
from support.perfdata import happenings as h
from support.told import NET_RX, OPENSSL, UDPSINK
from support.tracedat import Dress, Packing, Style, version7, write_trace_dat
from support.tracedat.report import report
from support.tracedat.ring import MISSED, STORED, Ring

S = 1_000_000_000


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
    path.write_bytes(version7.write(type(contents)((top,), told.formats), dress.packing))
    scan = Capture(str(path)).scan()
    assert (scan["lost_events"], scan["lost_unknown"]) == (0, 1)
    assert [gap[:3] for gap in gaps(scan)] == [(0, S + 2, S + 11)]
    assert scan["events"]["irq:softirq_raise"] == 3 + 255


# 100       110            301        400       500
# openssl   |softirq_entry |openssl   |hardirq  |
#           |<- unknown -->|          |         |
def test_a_loss_closes_every_open_start_and_its_gap_is_unknown(tmp_path: Path) -> None:
    told = (
        *(h.Waking(100, UDPSINK), h.SoftirqEntry(110, NET_RX)),
        *(h.unrecorded(h.SoftirqExit(200, NET_RX)), h.Lost(300, 5), h.Waking(301, UDPSINK)),
        *(h.IrqEntry(400, 32), h.IrqExit(500, 32)),
    )
    got = Answer(write_trace_dat(recording(cpu(0, *told, task=OPENSSL)), tmp_path / "trace.dat"))
    assert_conserved(got)
    lane = [(100, 110, "task"), (110, 301, "unknown"), (301, 400, "task"), (400, 500, "hardirq")]
    assert got.lane(0) == lane
    assert got.summary["lost_events"] == 5

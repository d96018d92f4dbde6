# The window is the capture's, from its first event to its last: what lies at its edges, or beyond
# what the ledger walks over, changes no sum.

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from netcost_analysis import CaptureError, open_capture
from support.device_bundles import bundle
from support.native_tables import SUM_KEY, Answer, assert_conserved, by
from support.perfdata import (
    Attr,
    Comm,
    Common,
    Field,
    Format,
    Record,
    Recording,
    Sample,
    Where,
    cpu,
    recording,
    write_file,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.machine import X86_64
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL, UDPSINK, answer

INTERRUPT = (h.IrqEntry(100, 32), h.IrqExit(110, 32))


def changed(
    path: Path, told: Recording, records: list[Record], attrs: list[Attr] | None = None
) -> Answer:
    path.write_bytes(write_file(attrs or told.attrs(), told.formats, records))
    got = Answer(path)
    assert_conserved(got)
    return got


# CPU 0  openssl |hardirq|openssl |                 |COMM: "renamed"
# CPU 1                   ...     200  ...                     10_200       20_000
#
# A task's new name has a time of its own, after the last event of its CPU: the name is another, and
# the time is not counted twice.
@pytest.mark.parametrize("last", [[], [h.Waking(20_000, OPENSSL)]])
def test_a_name_after_the_last_event_adds_no_time(tmp_path: Path, last: list[h.Happening]) -> None:
    told = recording(
        cpu(0, *INTERRUPT, h.Waking(200, UDPSINK), task=OPENSSL),
        cpu(1, h.Waking(150, OPENSSL), *last),
        known=(OPENSSL,),
    )
    records = told.records()
    records.insert(-1, Comm(500, 500, "renamed", Where(0, 10_200, 500, 500)))
    got = changed(tmp_path / "perf.data", told, records)
    end = 20_000 if last else 200
    assert got.window == (got.scan["start_ns"], got.scan["end_ns"]) == (100, end)
    assert sum(row["ns"] for row in got.sums if row["cpu"] == 0) == end - 100
    assert got.on(0)[1]["comm"] == "openssl"


# An event that the ledger does not know comes first and last: it was recorded, so the CPU was being
# recorded, and the window is from it to it.
def test_events_that_the_ledger_ignores_bound_its_window(tmp_path: Path) -> None:
    length = Field("unsigned int", "len", 4)
    received = Format("net", "netif_rx", 999, (length,), '"len=%u", REC->len')
    told = recording(
        cpu(0, h.IrqEntry(1000, 32), h.IrqExit(1010, 32), task=OPENSSL),
        formats=(*t.FORMATS, received),
        known=(OPENSSL,),
    )
    place = len(told.formats) - 1
    raw = received.pack({"len": 1}, Common(0, 1, 500), X86_64)
    records = told.records()
    records.insert(1, Sample(Where(0, 100, 500, 500, place), raw))
    records.insert(-1, Sample(Where(0, 5000, 500, 500, place), raw))
    got = changed(tmp_path / "perf.data", told, records)
    assert got.window == (got.scan["start_ns"], got.scan["end_ns"]) == (100, 5000)
    assert got.lane(0) == [(100, 1000, "task"), (1000, 1010, "hardirq"), (1010, 5000, "task")]


# CPU 0        (7 lost) LOST 500 |... 1000 hardirq
# CPU 1  100 hardirq
# What was lost before a CPU's first event was lost, and says so.
def test_a_loss_before_the_first_event_keeps_its_count(tmp_path: Path) -> None:
    got = answer(
        tmp_path,
        cpu(0, h.Lost(500, 7), h.IrqEntry(1000, 32), h.IrqExit(1010, 32), task=OPENSSL),
        cpu(1, *INTERRUPT),
        known=(OPENSSL,),
    )
    gaps = [row for row in got.coverage if row["cpu"] == 0]
    assert sum(row["lost"] for row in gaps) == got.summary["lost_events"] == 7
    [gap] = [row for row in gaps if row["lost"]]
    assert (gap["start_ns"], gap["end_ns"]) == (100, 500)
    assert "lost" in gap["why"]
    assert got.lane(0)[:2] == [(100, 500, "unknown"), (500, 1000, "task")]


# |hardirq|(9 lost) LOST ............... |switch openssl -> udpsink
# 100     110                           10_000                       11_000
# Without sample_id_all a LOST record has no time: the loss lies before the next event.
def test_a_loss_without_a_time_ends_at_the_next_event(tmp_path: Path) -> None:
    told = recording(
        cpu(
            0,
            *INTERRUPT,
            h.Lost(5000, 9),
            h.Switch(10_000, UDPSINK),
            h.Waking(11_000, OPENSSL),
            task=OPENSSL,
        ),
        known=(OPENSSL,),
    )
    attrs = [
        Attr(one.name, one.config, one.ids, flags=frozenset({"disabled"})) for one in told.attrs()
    ]
    got = changed(tmp_path / "perf.data", told, told.records(), attrs)
    assert got.lane(0) == [
        (100, 110, "hardirq"),
        (110, 10_000, "unknown"),
        (10_000, 11_000, "task"),
    ]
    assert [(row["start_ns"], row["end_ns"], row["lost"]) for row in got.coverage] == [
        (110, 10_000, 9)
    ]


# CPU 0        |hardirq       |switch        |hardirq
# CPU 1  10    100 ..110      400            600 ..610
#                      300 [ window ] 500
# openssl's stay is from 10 to 400, whatever part of it is asked for.
WINDOWS: list[dict[str, Any]] = [
    {},
    {"start_ns": 300, "end_ns": 500},
    {"start_ns": 105, "end_ns": 600},
    {"start_ns": 10, "end_ns": 399},
]


def test_a_stay_is_whole_whatever_the_window(tmp_path: Path) -> None:
    for window in WINDOWS:
        told = recording(
            cpu(
                0,
                *INTERRUPT,
                h.Switch(400, UDPSINK, 1),
                h.IrqEntry(600, 32),
                h.IrqExit(610, 32),
                task=OPENSSL,
            ),
            cpu(1, h.IrqEntry(10, 33), h.IrqExit(20, 33)),
            known=(OPENSSL, UDPSINK),
        )
        got = Answer(told.write(tmp_path / "perf.data"), **window)
        assert_conserved(got)
        stays = [(row["in_ns"], row["out_ns"]) for row in got.on(0, "slices") if row["tid"] == 500]
        assert stays == [(10, 400)]


# Ten times a wake-up, which ends nothing, and an interrupt, which does.
def test_episodes_are_the_segments(tmp_path: Path) -> None:
    for window in ({}, {"start_ns": 155, "end_ns": 755}):
        told: list[h.Happening] = []
        for start in range(0, 1000, 100):
            told += [
                h.Waking(start + 10, UDPSINK),
                h.IrqEntry(start + 50, 32),
                h.Waking(start + 55, UDPSINK),
                h.IrqExit(start + 60, 32),
            ]
        path = recording(cpu(0, *told, task=OPENSSL), known=(OPENSSL,)).write(
            tmp_path / "perf.data"
        )
        got = Answer(path, **window)
        assert_conserved(got)
        wanted = by(got.segments, SUM_KEY, lambda row: 1)
        assert by(got.sums, SUM_KEY, lambda row: row["segments"]) == wanted


# However far a window reaches, it is the capture's: 64 bits of nanoseconds end at 9.2e9 s.
@pytest.mark.parametrize("word", ["stolen", "ledger"])
def test_a_window_far_beyond_the_capture(netcost: Netcost, tmp_path: Path, word: str) -> None:
    for far in (1e9, 9.3e9, 1e10, 1e300):
        path = tmp_path / "perf.data"
        told = recording(cpu(0, *INTERRUPT, h.Switch(500, UDPSINK), task=OPENSSL))
        path.write_bytes(write_file(told.attrs(), told.formats, list(told.records())))
        whole = netcost(word, str(path), "--json").json
        assert netcost(word, str(path), "--end", str(far), "--json").json == whole
        for words in ((word, str(path)), ("events", str(path), "irq:irq_handler_entry")):
            run = netcost(*words, "--start", str(far))
            assert (run.code, run.err.count("\n")) == (1, 1)
            assert f" {far:g} s" in run.err
            for option in ("--start", "--end"):
                assert netcost(*words, option, str(-far)).code == 2
        capture = open_capture(path)
        assert capture.timeline(-far, far).sums().equals(capture.timeline().sums())
        with pytest.raises(CaptureError, match=re.escape(f" {-far:g} s")):
            capture.timeline(None, -far).sums()


# cpuhp/1 ran last on CPU 1, which it takes offline: perf never sees that CPU again.
def test_a_cpu_that_went_offline_is_unknown_from_its_last_event_on(tmp_path: Path) -> None:
    hotplug = h.Task(21, "cpuhp/1")
    got = answer(
        tmp_path,
        cpu(0, h.Switch(100, IDLE), h.Switch(900, OPENSSL), task=OPENSSL),
        cpu(1, h.Switch(100, hotplug), h.IrqEntry(150, 25), h.IrqExit(160, 25), task=OPENSSL),
    )
    assert got.lane(1, 0, "context")[-1] == (160, 900, "unknown")
    assert [(row["cpu"], row["start_ns"], row["end_ns"]) for row in got.coverage] == [(1, 160, 900)]


MS = 1_000_000
TICK = [h.VectorEntry(0), h.VectorExit(0)]
ARM_TICK = [h.IrqEntry(0, 3, "arch_timer"), h.IrqExit(0, 3)]


def ticking(until_ms: int, kind: list[h.Happening]) -> list[h.Happening]:
    starts = range(4 * MS, until_ms * MS + 1, 4 * MS)
    return [replace(one, at=start + i * 1000) for start in starts for i, one in enumerate(kind)]


# A CPU that runs a task ticks: it is not recorded any more, or need not tick, or is idle.
@pytest.mark.parametrize(
    ("kind", "until_ms", "last", "tickless", "unknown_ns"),
    [
        (TICK, 600, OPENSSL, "", 1400 * MS),
        (ARM_TICK, 600, OPENSSL, "0", 1400 * MS),
        (TICK, 600, OPENSSL, "0-1,7", 0),
        (TICK, 600, IDLE, "", 0),
        (TICK, 1200, OPENSSL, "", 0),
        (TICK, 200, OPENSSL, "", 0),
    ],
)
def test_a_cpu_whose_timer_stopped_ticking_is_unknown_since(
    tmp_path: Path,
    kind: list[h.Happening],
    until_ms: int,
    last: h.Task,
    tickless: str,
    unknown_ns: int,
) -> None:
    silent = [*ticking(until_ms, kind), h.Switch(until_ms * MS + 2000, last)]
    told = [cpu(0, *ticking(2000, kind), task=UDPSINK), cpu(1, *silent, task=UDPSINK)]
    files = {"before/settings/topology": f"/sys/devices/system/cpu/nohz_full {tickless}\n"}
    capture = open_capture(bundle(tmp_path, files, *told).path)
    timeline = capture.timeline(cpus=[1])
    assert timeline.coverage["end_ns"].sub(timeline.coverage["start_ns"]).sum() == pytest.approx(
        unknown_ns, abs=10_000
    )
    sums = timeline.sums()
    assert sums.loc[sums["context"] == "unknown", "ns"].sum() == pytest.approx(unknown_ns, abs=1e4)
    # So it is in every part, and batch by batch.
    part = capture.timeline(1.0, 1.5, cpus=[1]).sums()
    assert (part["context"] == "unknown").all() == bool(unknown_ns)
    rows = pd.concat(batch[0] for batch in timeline.batches("segments", rows=50))
    assert rows.reset_index(drop=True).equals(timeline.segments)


# Of two pauses of 60 ms, that of the idle task is none.
@pytest.mark.parametrize(("tickless", "is_said"), [("", True), ("1", False)])
def test_where_a_cpu_that_ticks_was_silent_is_said(
    tmp_path: Path, tickless: str, is_said: bool
) -> None:
    told = [
        *ticking(100, TICK),
        *(replace(one, at=one.at + 160 * MS) for one in ticking(100, TICK)),
        h.Switch(261 * MS, IDLE),
        *(replace(one, at=one.at + 320 * MS) for one in ticking(100, TICK)),
    ]
    files = {"before/settings/topology": f"/sys/devices/system/cpu/nohz_full {tickless}\n"}
    timeline = open_capture(bundle(tmp_path, files, cpu(1, *told, task=OPENSSL)).path).timeline()
    said = [note for note in timeline.notes if "63 ms on CPU 1 from 0.096 s" in note]
    assert [note.split()[0] for note in said] == ["1"] * is_said

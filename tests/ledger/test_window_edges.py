# The window is the capture's, from its first event to its last: what lies at its edges, or beyond
# what the ledger walks over, changes no sum.

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from netcost_analysis import CaptureError, open_capture
from support.device_bundles import bundle
from support.drawn import happenings, ledger_of, recorded
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
    write_file,
)
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.perfdata.machine import X86_64
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL, UDPSINK


def changed(
    path: Path, told: Recording, records: list[Record], attrs: list[Attr] | None = None
) -> Answer:
    path.write_bytes(write_file(attrs or told.attrs(), told.formats, records))
    got = Answer(path)
    assert_conserved(got)
    return got


# A task's new name has a time of its own, after the last event of its CPU: the name is another, and
# the time is not counted twice.
@pytest.mark.parametrize(("last", "end"), [("", 200), (", 20_000 waking openssl", 20_000)])
def test_a_name_after_the_last_event_adds_no_time(tmp_path: Path, last: str, end: int) -> None:
    told = recorded(
        "CPU 0 openssl: 100 irq 32, 110 end irq 32, 200 waking udpsink "
        f"CPU 1: 150 waking openssl{last}"
    )
    records = told.records()
    records.insert(-1, Comm(500, 500, "renamed", Where(0, 10_200, 500, 500)))
    got = changed(tmp_path / "perf.data", told, records)
    assert got.window == (got.scan["start_ns"], got.scan["end_ns"]) == (100, end)
    assert sum(row["ns"] for row in got.sums if row["cpu"] == 0) == end - 100
    assert got.on(0)[1]["comm"] == "openssl"


# An event that the ledger does not know comes first and last: it was recorded, so the CPU was being
# recorded, and the window is from it to it.
def test_events_that_the_ledger_ignores_bound_its_window(tmp_path: Path) -> None:
    length = Field("unsigned int", "len", 4)
    received = Format("net", "netif_rx", 999, (length,), '"len=%u", REC->len')
    told = recorded("CPU 0 openssl: 1000 irq 32, 1010 end irq 32", formats=(*t.FORMATS, received))
    place = len(told.formats) - 1
    raw = received.pack({"len": 1}, Common(0, 1, 500), X86_64)
    records = told.records()
    records.insert(1, Sample(Where(0, 100, 500, 500, place), raw))
    records.insert(-1, Sample(Where(0, 5000, 500, 500, place), raw))
    got = changed(tmp_path / "perf.data", told, records)
    assert got.window == (got.scan["start_ns"], got.scan["end_ns"]) == (100, 5000)
    assert got.lane(0) == [(100, 1000, "task"), (1000, 1010, "hardirq"), (1010, 5000, "task")]


# What was lost before a CPU's first event was lost, and says so.
def test_a_loss_before_the_first_event_keeps_its_count(tmp_path: Path) -> None:
    got = ledger_of(
        tmp_path,
        "CPU 0 openssl: 500 lost 7, 1000 irq 32, 1010 end irq 32 CPU 1: 100 irq 32, 110 end irq 32",
    )
    gaps = [row for row in got.coverage if row["cpu"] == 0]
    assert sum(row["lost"] for row in gaps) == got.summary["lost_events"] == 7
    [gap] = [row for row in gaps if row["lost"]]
    assert (gap["start_ns"], gap["end_ns"]) == (100, 500)
    assert "lost" in gap["why"]
    assert got.lane(0)[:2] == [(100, 500, "unknown"), (500, 1000, "task")]


# Without sample_id_all a LOST record has no time: the loss lies before the next event.
def test_a_loss_without_a_time_ends_at_the_next_event(tmp_path: Path) -> None:
    told = recorded(
        "CPU 0 openssl: 100 irq 32, 110 end irq 32, 5000 lost 9, 10_000 switch udpsink, "
        "11_000 waking openssl"
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


# openssl's slice is from 10 to 400, whatever part of it is asked for.
@pytest.mark.parametrize(
    "window",
    [
        {},
        {"start_ns": 300, "end_ns": 500},
        {"start_ns": 105, "end_ns": 600},
        {"start_ns": 10, "end_ns": 399},
    ],
    ids=str,
)
def test_a_slice_is_whole_whatever_the_window(tmp_path: Path, window: dict[str, Any]) -> None:
    told = recorded(
        "CPU 0 openssl: 100 irq 32, 110 end irq 32, 400 switch udpsink asleep, 600 irq 32, "
        "610 end irq 32 CPU 1: 10 irq 33, 20 end irq 33"
    )
    got = Answer(told.write(tmp_path / "perf.data"), **window)
    assert_conserved(got)
    slices = [(row["in_ns"], row["out_ns"]) for row in got.on(0, "slices") if row["tid"] == 500]
    assert slices == [(10, 400)]


# Ten times a wake-up, which ends nothing, and an interrupt, which does.
@pytest.mark.parametrize("window", [{}, {"start_ns": 155, "end_ns": 755}], ids=str)
def test_episodes_are_the_segments(tmp_path: Path, window: dict[str, Any]) -> None:
    told = happenings(
        "10 waking udpsink, 50 irq 32, 55 waking udpsink, 60 end irq 32", range(0, 1000, 100)
    )
    got = Answer(recorded(cpu(0, *told, task=OPENSSL)).write(tmp_path / "perf.data"), **window)
    assert_conserved(got)
    wanted = by(got.segments, SUM_KEY, lambda row: 1)
    assert by(got.sums, SUM_KEY, lambda row: row["segments"]) == wanted


# However far a window reaches, it is the capture's: 64 bits of nanoseconds end at 9.2e9 s.
@pytest.mark.parametrize("word", ["stolen", "ledger"])
def test_a_window_far_beyond_the_capture(netcost: Netcost, tmp_path: Path, word: str) -> None:
    told = recorded("CPU 0 openssl: 100 irq 32, 110 end irq 32, 500 switch udpsink")
    path = told.write(tmp_path / "perf.data")
    whole = netcost(word, str(path), "--json").json
    for far in (1e9, 9.3e9, 1e10, 1e300):
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
    got = ledger_of(
        tmp_path,
        "CPU 0 openssl: 100 switch idle, 900 switch openssl "
        "CPU 1 openssl: 100 switch cpuhp/1=21, 150 irq 25, 160 end irq 25",
    )
    assert got.lane(1, 0, "context")[-1] == (160, 900, "unknown")
    assert [(row["cpu"], row["start_ns"], row["end_ns"]) for row in got.coverage] == [(1, 160, 900)]


MS = 1_000_000
TICK, ARM_TICK = "0 vector, 1000 end vector", "0 irq 3 arch_timer, 1000 end irq 3"


def ticking(begin_ms: int, end_ms: int, kind: str = TICK) -> list[h.Happening]:
    return happenings(kind, range((begin_ms + 4) * MS, end_ms * MS + 1, 4 * MS))


def host_files(tickless: str) -> dict[str, str]:
    return {"before/settings/topology": f"/sys/devices/system/cpu/nohz_full {tickless}\n"}


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
    tmp_path: Path, kind: str, until_ms: int, last: h.Task, tickless: str, unknown_ns: int
) -> None:
    silent = [*ticking(0, until_ms, kind), h.Switch(until_ms * MS + 2000, last)]
    told = [cpu(0, *ticking(0, 2000, kind), task=UDPSINK), cpu(1, *silent, task=UDPSINK)]
    capture = open_capture(bundle(tmp_path, host_files(tickless), *told).path)
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
    told = [*ticking(0, 100), *ticking(160, 260), h.Switch(261 * MS, IDLE), *ticking(320, 420)]
    files = host_files(tickless)
    timeline = open_capture(bundle(tmp_path, files, cpu(1, *told, task=OPENSSL)).path).timeline()
    said = [note for note in timeline.notes if "63 ms on CPU 1 from 0.096 s" in note]
    assert [note.split()[0] for note in said] == ["1"] * is_said

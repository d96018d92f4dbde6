# The ledger's tables as a stream: each row in one batch, and all batches together what one whole
# pass returns, byte for byte.

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis._native import Batches, Capture, CaptureError
from support import shared
from support.drawn import happenings
from support.host import ROOT, Fresh, examples
from support.kept import kept
from support.narrator import recordings
from support.perfdata import Cpu, Recording, cpu, recording
from support.perfdata import happenings as h
from support.subjects import ALL
from support.told import NAPI_THREAD, OPENSSL, UDPSINK

TABLES = ("segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage")
ROWS = [1, 7, 1000, 1_000_000]
Told = dict[str, pa.Table]
STARTS = range(1_000_000, 1_400_000, 20_000)


def together(batches: Iterator[dict[str, Any]], rows: int) -> Told:
    parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    sizes = []
    for batch in batches:
        tables = {name: pa.table(table) for name, table in batch.items()}
        sizes.append(sum(table.num_rows for table in tables.values()))
        for name, table in tables.items():
            parts[name].append(table)
    # Every batch but the last is full.
    assert set(sizes[:-1]) <= {rows}
    assert sizes[-1] <= rows
    return {name: by_cpu(pa.concat_tables(tables)) for name, tables in parts.items() if tables}


def by_cpu(table: pa.Table) -> pa.Table:
    table = table.combine_chunks()
    if "cpu" not in table.column_names:
        return table
    return table.take(np.argsort(table["cpu"].to_numpy(), kind="stable"))


def whole(native: Capture, tables: Sequence[str] = TABLES, **selection: Any) -> Told:
    told = native.timeline(list(tables), **selection)["tables"]
    return {name: pa.table(told[name]).combine_chunks() for name in tables}


# `reopened`: no pass over it was made, so that the stream makes its own first.
def assert_same(
    reopened: Callable[[], Capture],
    rows: Sequence[int],
    tables: Sequence[str] = TABLES,
    **selection: Any,
) -> None:
    expected = whole(reopened(), tables, **selection)
    native = reopened()
    for most in rows:
        told = together(native.batches(tables, rows=most, **selection), most)
        assert list(told) == [name for name in TABLES if name in tables]
        for name, table in expected.items():
            assert told[name].schema.equals(table.schema), name
            assert told[name].equals(table), f"{name} in batches of {most}"


# All of it, and of one CPU a third from its middle.
def selections(native: Capture) -> list[dict[str, Any]]:
    scan = native.scan()
    start, end = scan["start_ns"], scan["end_ns"]
    window = {"start_ns": start + (end - start) // 3, "end_ns": start + (end - start) * 2 // 3}
    return [{}, {**window, "cpus": scan["cpus"][-1:]}]


def opened(path: Path) -> Callable[[], Capture]:
    return lambda: Capture(str(path))


@pytest.mark.parametrize("name", ALL[::2])
def test_batches_of_a_sample_are_its_tables(name: str) -> None:
    capture = kept(name)
    host = capture.timeline().selection["host"]
    path = capture.bundle.trace if capture.bundle else Path(capture.path)
    for rows, selection in zip((1000, 1_000_000), selections(capture.native), strict=True):
        assert_same(opened(path), [rows], **selection, host=host)


def test_a_batch_may_be_a_row() -> None:
    path = ROOT / "sample-data" / "nic-stolen-time" / "trace.perf.data"
    start = Capture(str(path)).scan()["start_ns"]
    window = {"start_ns": start + 100_000_000, "end_ns": start + 110_000_000}
    assert_same(opened(path), [1, 7], **window)


STRANGERS = [one for kind in ("perf", "trace.dat", "text") for one in shared.files(kind)]


@pytest.mark.parametrize("one", STRANGERS, ids=shared.name)
def test_batches_of_strangers_captures_are_their_tables(one: dict[str, Any]) -> None:
    path = shared.path_of(one)
    try:
        Capture(str(path)).timeline([])
    except CaptureError as error:
        pytest.skip(f"no ledger: {error}")
    for selection in selections(Capture(str(path))):
        assert_same(opened(path), [100, 1_000_000], **selection)


# Whatever happens on a host, and each kind of row alone: what else is asked for changes no row.
@examples(20)
@given(recordings() | recordings(realtime=True))
def test_batches_of_any_story_are_its_tables(fresh: Fresh, told: Recording) -> None:
    path = told.write(fresh() / "perf.data")
    assert_same(opened(path), ROWS)
    for table in TABLES:
        assert_same(opened(path), [3], [table])
    start, end = (Capture(str(path)).scan()[edge] for edge in ("start_ns", "end_ns"))
    third = (end - start) // 3
    assert_same(opened(path), [1, 5], start_ns=start + third, end_ns=end - third)


# Rounds read all rings: what one has is no older than what all had read in the round before last.
def flushed(told: list[h.Happening]) -> list[h.Happening]:
    flushes = [h.Flush(now + at) for now in STARTS for at in (45, 105, 400, 5_000, 10_025, 12_000)]
    return sorted([*told, *flushes], key=lambda one: one.at)


# A thread's poll that ended on another CPU, but for every third; what ran from 10_010 on went on at
# 10_030.
def moved(*others: Cpu) -> Recording:
    told = happenings(
        "100 switch napi/eth0-8193, 200 switch openssl, 10_000 switch napi/eth0-8193, "
        "10_010 poll, 10_020 switch openssl, 10_030 switch napi/eth0-8193, 10_040 poll, "
        "10_050 switch openssl asleep",
        STARTS,
    )
    away = happenings(
        "250 migrate napi/eth0-8193 0 1, 300 switch napi/eth0-8193, 400 poll, "
        "500 switch idle asleep",
        *([start for place, start in enumerate(STARTS) if place % 3], 1),
    )
    away += happenings("11_000 irq 33, 11_001 end irq 33", STARTS)
    cpus = (cpu(0, *flushed(told), task=OPENSSL), cpu(1, *flushed(away)), *others)
    return recording(*cpus, known=(OPENSSL, UDPSINK, NAPI_THREAD))


def test_a_poll_that_moved_is_told_right_at_once(tmp_path: Path) -> None:
    path = moved().write(tmp_path / "perf.data")
    assert_same(opened(path), ROWS)
    start = Capture(str(path)).scan()["start_ns"]
    # Windows that begin and end in the middle of a poll, and of the time that its thread was away.
    for begin, end in [(150, 10_005), (5_000, 300_000), (20_150, 30_035), (350, 10_015)]:
        assert_same(opened(path), [1, 100], start_ns=start + begin, end_ns=start + end)
    for chosen in ([0], [1]):
        assert_same(opened(path), [7], cpus=chosen)


# A softirq that waits for its task, and at times a loss and the end of an interrupt alone.
def parked() -> Cpu:
    told = happenings(
        "10 raise NET_RX, 20 NET_RX, 30 poll eth0 3, 40 switch openssl preempted, 50 irq 40, "
        "60 irq 41, 70 end irq 41, 80 end irq 40, 90 TIMER, 100 end TIMER, 106 waking udpsink 2, "
        "110 switch udpsink asleep, 120 poll eth0 4, 130 end NET_RX",
        STARTS,
    )
    told += happenings("200 lost 5, 300 end irq 42", STARTS[9::10])
    return cpu(2, *flushed(told), task=UDPSINK)


def test_what_waits_with_its_task_keeps_the_order_of_its_table(tmp_path: Path) -> None:
    path = moved(parked()).write(tmp_path / "perf.data")
    assert_same(opened(path), ROWS)
    assert_same(opened(path), [7], ["softirqs", "polls"], cpus=[2])


# On a stopper's CPU, moved for an exec that comes 30 ms later, far behind the next flushes.
def test_an_exec_is_told_with_the_migration_before_it(tmp_path: Path) -> None:
    ms = 1_000_000
    told = happenings(
        "0 switch migration/0=20 asleep, 100 migrate udpsink 0 1, 200 switch openssl asleep", [ms]
    )
    other = happenings(f"{31 * ms} exec /bin/udpsink udpsink, {90 * ms} flush")
    flushes = [h.Flush(number * ms) for number in range(2, 30)]
    made = recording(
        cpu(0, *told, *flushes, h.Waking(100 * ms, UDPSINK), task=OPENSSL),
        cpu(1, *flushes, *other, h.Waking(100 * ms, OPENSSL), task=UDPSINK),
        known=(OPENSSL, UDPSINK),
    )
    path = made.write(tmp_path / "perf.data")
    assert_same(opened(path), [1, 2, 1000])
    assert whole(Capture(str(path)))["migrations"]["cause"].to_pylist() == ["stopper: exec"]


# Each file of a folder has rounds of its own, so nothing is settled before all is read.
@pytest.mark.parametrize("mode", ["directory", "pipe"])
def test_every_way_of_writing_is_read_in_batches(mode: str, tmp_path: Path) -> None:
    path = moved(parked()).write(tmp_path / "perf.data", mode)
    assert_same(opened(path), [7, 1_000_000])


STREAM = """
import hashlib, sys
import pyarrow as pa
from netcost_analysis._native import Capture
for batch in Capture(sys.argv[1]).batches(sys.argv[2].split(), rows=int(sys.argv[3])):
    for name, table in sorted(batch.items()) if sys.argv[4:] else ():
        print(name, hashlib.sha256(str(pa.table(table).to_pydict()).encode()).hexdigest())
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


# What a process of its own reads: digests of all batches' tables, and its peak in KiB.
def streamed(path: Path, rows: int, *digests: str, **environment: str) -> tuple[list[str], int]:
    command = [sys.executable, "-c", STREAM, str(path), " ".join(TABLES), str(rows), *digests]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    *told, peak = done.stdout.splitlines()
    return told, int(peak)


def test_any_number_of_threads_cuts_the_same_batches(tmp_path: Path) -> None:
    path = moved(parked()).write(tmp_path / "perf.data")
    alone, eight = (streamed(path, 25, "digests", RAYON_NUM_THREADS=threads)[0] for threads in "18")
    assert len(alone) > 7 * 10
    assert eight == alone


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


# A thread that has ended is listed for a moment longer.
def assert_gone(before: set[str]) -> None:
    until = time.monotonic() + 30
    while threads() - before and time.monotonic() < until:
        time.sleep(0.01)
    assert threads() <= before


# Those that all passes share are there already.
@pytest.fixture
def before() -> set[str]:
    kept("nic-stolen-time").native.timeline(["polls"])
    return threads()


def large(tmp_path: Path) -> Path:
    base = ROOT / "sample-data" / "nic-stolen-time" / "trace.perf.data"
    repeat(base, 4, tmp_path / "large.data")
    return tmp_path / "large.data"


def test_who_stops_early_leaves_no_thread(tmp_path: Path, before: set[str]) -> None:
    native = Capture(str(large(tmp_path)))
    for leave in (Batches.close, lambda batches: None):
        batches = native.batches(["segments"], rows=1000)
        assert next(batches)
        assert threads() - before
        leave(batches)
        del batches
        gc.collect()
        assert_gone(before)
    frames = netcost.open_capture(tmp_path / "large.data").timeline().batches("polls", rows=500)
    next(frames)
    frames.close()
    assert_gone(before)


class EnoughError(Exception):
    pass


def test_what_progress_raises_ends_it(tmp_path: Path, before: set[str]) -> None:
    seen: list[float] = []

    def tell(fraction: float) -> None:
        seen.append(fraction)
        if fraction > 0.6:
            raise EnoughError

    batches = Capture(str(large(tmp_path))).batches(["polls"], rows=1000, progress=tell)
    with pytest.raises(EnoughError):
        list(batches)
    assert seen == sorted(seen)
    assert list(batches) == []
    assert_gone(before)


@pytest.mark.parametrize("kept_share", [2, 4])
def test_a_file_that_is_cut_meanwhile_is_one_error(
    tmp_path: Path, kept_share: int, before: set[str]
) -> None:
    path = large(tmp_path)
    batches = Capture(str(path)).batches(["segments"], rows=1000)
    next(batches)
    os.truncate(path, path.stat().st_size // kept_share)
    with pytest.raises(CaptureError) as caught:
        list(batches)
    assert caught.value.kind == "changed"
    assert list(batches) == []
    assert_gone(before)


def test_what_cannot_be_asked_for_is_told_at_once() -> None:
    native = kept("nic-stolen-time").native
    for tables, rows, why in (
        (["displaced"], 10, "sums and no rows"),
        (["polls"], 0, "one row"),
        (["pols"], 10, "no table 'pols'"),
    ):
        with pytest.raises(ValueError, match=why):
            native.batches(tables, rows=rows)
    timeline = kept("nic-stolen-time").timeline()
    for tables in ((), ("displaced",), ("pols",)):
        with pytest.raises(ValueError, match="segments, softirqs"):
            timeline.batches(*tables).__next__()
    with pytest.raises(ValueError, match="one row"):
        timeline.arrow_batches("polls", rows=0)


def test_a_timeline_gives_frames_in_the_order_in_which_they_are_named() -> None:
    timeline = kept("nic-stolen-time").timeline()
    parts = list(timeline.batches("polls", "softirqs", rows=1_000))
    assert len(parts) > 3
    for place, name in enumerate(("polls", "softirqs")):
        frame = pd.concat([part[place] for part in parts])
        frame = frame.sort_values("cpu", kind="stable", ignore_index=True)
        pd.testing.assert_frame_equal(frame, getattr(timeline, name))
    [first, *_] = timeline.arrow_batches("coverage", "polls")
    assert set(first) == {"coverage", "polls"}


# 2.2 million events; their tables take some 300 MB.
@pytest.mark.slow
def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    base = ROOT / "sample-data" / "nic-stolen-time" / "trace.perf.data"
    peaks = []
    for times in (3, 12):
        path = tmp_path / f"{times}.data"
        repeat(base, times, path)
        peaks.append(streamed(path, 50_000)[1] // 1024)
        path.unlink()
    assert peaks[1] < min(peaks[0] + 30, 200)

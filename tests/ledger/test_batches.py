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
from support import corpus
from support.examples import examples
from support.host import ROOT, Fresh
from support.kept import kept
from support.narrator import recordings
from support.perfdata import Cpu, Recording, cpu, recording
from support.perfdata import happenings as h
from support.samples import ALL
from support.told import NAPI_THREAD, NET_RX, OPENSSL, TIMER, UDPSINK

TABLES = ("segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage")
ROWS = [1, 7, 1000, 1_000_000]
Told = dict[str, pa.Table]


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


@pytest.mark.parametrize("name", ALL)
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


STRANGERS = [one for kind in ("perf", "trace.dat", "text") for one in corpus.files(kind)]


@pytest.mark.parametrize("one", STRANGERS, ids=corpus.name)
def test_batches_of_strangers_captures_are_their_tables(one: dict[str, Any]) -> None:
    path = corpus.path_of(one)
    try:
        Capture(str(path)).timeline([])
    except CaptureError as error:
        pytest.skip(f"no ledger: {error}")
    for selection in selections(Capture(str(path))):
        assert_same(opened(path), [100, 1_000_000], **selection)


# Whatever happens on a host, and each kind of row alone: what else is asked for changes no row.
@examples(30)
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
    starts = (1_000_000 + 20_000 * step for step in range(20))
    flushes = [h.Flush(now + at) for now in starts for at in (45, 105, 400, 5_000, 10_025, 12_000)]
    return sorted([*told, *flushes], key=lambda one: one.at)


# CPU 0  |napi: a poll |openssl          |napi: ... poll |openssl |napi: ... poll |
#        100           200               10_000   10_010  10_020   10_030   10_040
# CPU 1         |napi: poll |task                                                   a flush each
#               300     400
# The part before 200 ended on CPU 1; what ran from 10_010 on went on at 10_030.
def moved(*others: Cpu) -> Recording:
    told: list[h.Happening] = []
    elsewhere: list[h.Happening] = []
    for step in range(20):
        now = 1_000_000 + 20_000 * step
        told += (
            h.Switch(now + 100, NAPI_THREAD),
            h.Switch(now + 200, OPENSSL, 0),
            h.Switch(now + 10_000, NAPI_THREAD, 0),
            h.NapiPoll(now + 10_010),
            h.Switch(now + 10_020, OPENSSL, 0),
            h.Switch(now + 10_030, NAPI_THREAD, 0),
            h.NapiPoll(now + 10_040),
            h.Switch(now + 10_050, OPENSSL, 1),
        )
        if step % 3:
            elsewhere += (
                h.MigrateTask(now + 250, NAPI_THREAD, 0, 1),
                h.Switch(now + 300, NAPI_THREAD),
                h.NapiPoll(now + 400),
                h.Switch(now + 500, h.idle(1), 1),
            )
        elsewhere += (h.IrqEntry(now + 11_000, 33), h.IrqExit(now + 11_001, 33))
    cpus = (cpu(0, *flushed(told), task=OPENSSL), cpu(1, *flushed(elsewhere)), *others)
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


# CPU 2  |NET_RX ..  |parked: task B |TIMER|      |back: .. exit|   LOST    |(irq exit alone)
def parked() -> Cpu:
    told: list[h.Happening] = []
    for step in range(20):
        now = 1_000_000 + 20_000 * step
        told += (
            h.SoftirqRaise(now + 10, NET_RX),
            h.SoftirqEntry(now + 20, NET_RX),
            h.NapiPoll(now + 30, "eth0", 3),
            h.Switch(now + 40, OPENSSL, 256),
            h.IrqEntry(now + 50, 40),
            h.IrqEntry(now + 60, 41),
            h.IrqExit(now + 70, 41),
            h.IrqExit(now + 80, 40),
            h.SoftirqEntry(now + 90, TIMER),
            h.SoftirqExit(now + 100, TIMER),
            h.Waking(now + 106, UDPSINK, 2),
            h.Switch(now + 110, UDPSINK, 1),
            h.NapiPoll(now + 120, "eth0", 4),
            h.SoftirqExit(now + 130, NET_RX),
        )
        if step % 10 == 9:
            told += (h.Lost(now + 200, 5), h.IrqExit(now + 300, 42))
    return cpu(2, *flushed(told), task=UDPSINK)


def test_what_waits_with_its_task_keeps_the_order_of_its_table(tmp_path: Path) -> None:
    path = moved(parked()).write(tmp_path / "perf.data")
    assert_same(opened(path), ROWS)
    assert_same(opened(path), [7], ["softirqs", "polls"], cpus=[2])


# On a stopper's CPU, moved for an exec that comes 30 ms later, far behind the next flushes.
def test_an_exec_is_told_with_the_migration_before_it(tmp_path: Path) -> None:
    stopper, ms = h.Task(20, "migration/0"), 1_000_000
    told: list[h.Happening] = [
        h.Switch(ms, stopper, 1),
        h.MigrateTask(ms + 100, UDPSINK, 0, 1),
        h.Switch(ms + 200, OPENSSL, 1),
    ]
    told += [h.Flush(number * ms) for number in range(2, 30)]
    other: list[h.Happening] = [h.Flush(number * ms) for number in range(2, 30)]
    other += [
        h.Exec(31 * ms, "/bin/udpsink", "udpsink"),
        h.Flush(90 * ms),
        h.Waking(100 * ms, OPENSSL),
    ]
    told += [h.Waking(100 * ms, UDPSINK)]
    made = recording(
        cpu(0, *told, task=OPENSSL), cpu(1, *other, task=UDPSINK), known=(OPENSSL, UDPSINK)
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
for batch in Capture(sys.argv[1]).batches(sys.argv[2].split(), rows=25):
    for name, table in sorted(batch.items()):
        print(name, hashlib.sha256(str(pa.table(table).to_pydict()).encode()).hexdigest())
"""


def test_any_number_of_threads_cuts_the_same_batches(tmp_path: Path) -> None:
    path = moved(parked()).write(tmp_path / "perf.data")

    def told(threads: int) -> list[str]:
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", STREAM, str(path), " ".join(TABLES)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    alone = told(1)
    assert len(alone) > 7 * 10
    assert told(2) == told(8) == alone


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
        (["displaced"], 10, "sums, not rows"),
        (["polls"], 0, "no batch has 0 rows"),
        (["pols"], 10, "no table 'pols'"),
    ):
        with pytest.raises(ValueError, match=why):
            native.batches(tables, rows=rows)
    timeline = kept("nic-stolen-time").timeline()
    for tables in ((), ("displaced",), ("pols",)):
        with pytest.raises(ValueError, match="segments, softirqs"):
            timeline.batches(*tables).__next__()
    with pytest.raises(ValueError, match="holds none"):
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
        peaks.append(int(peak(path)))
        path.unlink()
    assert peaks[1] < min(peaks[0] + 30, 200)


PEAK = """
import sys
from netcost_analysis._native import Capture
for batch in Capture(sys.argv[1]).batches(sys.argv[2].split(), rows=50_000):
    pass
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


# In MiB.
def peak(path: Path) -> float:
    command = [sys.executable, "-c", PEAK, str(path), " ".join(TABLES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024

# A window of a recording of which something was asked before: reading ends soon behind it, and no
# answer is another for that.

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.capture.capture import Capture
from netcost_analysis.timeline.group import Binned
from netcost_analysis.timeline.tables import TABLES
from support.bounded import put, repeated
from support.host import SAMPLES
from support.perfdata import X86_64
from support.perfdata import tracepoints as t
from support.perfdata.formats import Common
from support.tracedat import Buffer, Contents, Entry, encoded, ring

S = 1_000_000_000
PAGE, PAGES, PAIRS = 4096, 3_840, 18
STEP_NS = 20_000
# Of a whole one, what is more than a reader has ahead of what it shows.
SOME = 0.4


def perf_data(path: Path, share: float = SOME) -> None:
    repeat(SAMPLES / "nic-stolen-time" / "trace.perf.data", round(4 * share), path)


# A page of switches and softirqs many times over, each later than the one before.
def pages(count: int) -> bytes:
    entries = []
    for pair in range(PAIRS):
        at = S + pair * STEP_NS // PAIRS // 2 * 2
        idle, busy = ("swapper", 0), ("openssl", 500)
        out, into = (busy, idle) if pair % 2 else (idle, busy)
        prev = {"prev_comm": out[0], "prev_pid": out[1], "prev_prio": 120, "prev_state": 0}
        following = {"next_comm": into[0], "next_pid": into[1], "next_prio": 120}
        switch = prev | following
        vec = {"vec": 3}
        payloads = [
            t.SCHED_SWITCH.payload(switch, Common(0, 0, out[1]), X86_64),
            t.SOFTIRQ_ENTRY.payload(vec, Common(16, 0, into[1]), X86_64),
            t.SOFTIRQ_EXIT.payload(vec, Common(16, 0, into[1]), X86_64),
        ]
        entries += [Entry(at + 100 * place, one) for place, one in enumerate(payloads)]
    one = ring(entries, X86_64)
    assert len(one) == PAGE
    rows = repeated(one, count)
    put(rows, 0, S + STEP_NS * np.arange(count), "<u8")
    return rows.tobytes()


def trace_dat(path: Path, share: float = SOME) -> None:
    top = Buffer("", "mono", dict.fromkeys(range(2), pages(round(PAGES * share))))
    formats = (t.SCHED_SWITCH, t.SOFTIRQ_ENTRY, t.SOFTIRQ_EXIT)
    path.write_bytes(encoded(Contents((top,), formats), 6))


def text(path: Path, share: float = SOME) -> None:
    lines = ["# tracer: nop"]
    for number in range(round(80_000 * share)):
        at, cpu = 1 + number * 20e-6, number % 2
        out, into = ("swapper", 0), ("openssl", 500 + cpu)
        if number // 2 % 2:
            out, into = into, out
        lines += [
            f" {out[0]}-{out[1]} [00{cpu}] d.... {at:.6f}: sched_switch: prev_comm={out[0]} "
            f"prev_pid={out[1]} prev_prio=120 prev_state=R ==> next_comm={into[0]} "
            f"next_pid={into[1]} next_prio=120",
            f" {into[0]}-{into[1]} [00{cpu}] ..s.. {at + 2e-6:.6f}: softirq_entry: vec=3 "
            "[action=NET_RX]",
            f" {into[0]}-{into[1]} [00{cpu}] ..s.. {at + 5e-6:.6f}: softirq_exit: vec=3 "
            "[action=NET_RX]",
        ]
    path.write_text("\n".join(lines) + "\n")


MADE: list[Callable[..., None]] = [perf_data, trace_dat, text]


@pytest.fixture(scope="module", params=MADE, ids=lambda made: made.__name__)
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "capture"
    request.param(path)
    return path


def surveyed(path: Path) -> Capture:
    capture = netcost.open_capture(path)
    assert not capture.native.is_surveyed()
    capture.timeline().load("displaced")
    assert capture.native.is_surveyed()
    return capture


def bytes_read(asked: Callable[[], object]) -> int:
    def so_far() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    before = so_far()
    asked()
    return so_far() - before


def share_s(capture: Capture, share: float) -> float:
    return float(capture.info["duration_ns"]) / S * share


# On one thread, where nothing is read while another still has to see what was read before.
READ = """
import sys
from pathlib import Path
# What importing reads is not to be counted.
import pandas, pyarrow
import netcost_analysis as netcost

def so_far():
    return int(Path("/proc/self/io").read_text().split()[1])

fresh, capture = netcost.open_capture(sys.argv[1]), netcost.open_capture(sys.argv[1])
length_s = fresh.info["duration_ns"] / 1e9
end_s = 0.02 * length_s
end_ns = fresh.start_ns + round(end_s * 1e9)
capture.timeline().load("displaced")
ways = [
    lambda: fresh.timeline(0, end_s).summary,
    lambda: capture.timeline(0, end_s).summary,
    lambda: capture.timeline(0, end_s).read("segments", "softirqs", "slices"),
    lambda: list(capture.timeline(0, end_s).arrow_batches("segments", "slices", rows=1_000)),
    lambda: capture.events("irq:softirq_entry", end_s=end_s),
    lambda: capture.native.event_times(capture.start_ns, end_ns, capture.info["cpus"]),
]
for way in ways:
    before = so_far()
    way()
    print(so_far() - before)
"""


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_a_window_at_the_begin_reads_a_small_part(
    tmp_path: Path, made: Callable[..., None]
) -> None:
    large = tmp_path / "capture"
    made(large, 1)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(large)],
        env={**os.environ, "RAYON_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-800:]
    size = large.stat().st_size
    # What was never asked before is read whole.
    first, *others = map(int, done.stdout.split())
    assert first > 0.99 * size
    assert len(others) == 5
    assert all(0 < read < size / 3 for read in others), (size, others)


def plain(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = pa.table(table).to_pandas()
    names = [one for one in frame if isinstance(frame[one].dtype, pd.CategoricalDtype)]
    return frame.astype(dict.fromkeys(names, object))


def told(capture: Capture, tables: list[str], bin_ns: int | None, **window: Any) -> dict[str, Any]:
    selection = capture.timeline(**window).selection
    found = capture.native.timeline(tables, **selection)
    if bin_ns is not None:
        found |= capture.native.aggregates([Binned(bin_ns)], rows=20_000, **selection)[0]
    frames = {name: plain(table) for name, table in found["tables"].items()}
    for name in ("sums", "displaced", "irqs", "longest"):
        frames[name] = plain(found[name])
    return {"summary": found["summary"], **frames}


@pytest.mark.parametrize(("first", "last"), [(0, 0.02), (0.1, 0.101), (0.5, 0.98)])
def test_no_answer_is_another(large: Path, first: float, last: float) -> None:
    capture = surveyed(large)
    window: dict[str, Any] = {"start_s": share_s(capture, first), "end_s": share_s(capture, last)}
    some = capture.info["cpus"][:1]
    found: dict[str, Any] = {}
    for tables, bin_ns, cpus in (
        *((["slices"], None, some), ([], 1_000_000, None)),
        (list(TABLES), None, None),
    ):
        found = told(capture, tables, bin_ns, **window, cpus=cpus)
        whole = told(netcost.open_capture(large), tables, bin_ns, **window, cpus=cpus)
        assert found.pop("summary") == whole.pop("summary")
        assert list(found) == list(whole)
        for name, frame in whole.items():
            pd.testing.assert_frame_equal(found[name], frame, check_exact=True, obj=name)
    # Nor are its batches.
    names = [name for name in TABLES if name != "displaced"]
    parts = list(capture.timeline(**window).arrow_batches(*names, rows=20_000))
    for name in names:
        rows = pd.concat([plain(part[name]) for part in parts], ignore_index=True)
        if "cpu" in rows:
            rows = rows.sort_values("cpu", kind="stable", ignore_index=True)
        pd.testing.assert_frame_equal(rows, found[name], check_exact=True, check_dtype=False)


def test_events_of_a_window_are_those_of_all(large: Path) -> None:
    capture = netcost.open_capture(large)
    every = capture.events("softirq_entry")
    assert capture.info["events"]
    for first, last in ((0, 0.02), (0.4, 0.41), (0.9, 2)):
        start, end = share_s(capture, first), share_s(capture, last)
        at = (every["time_ns"] - capture.start_ns) / 1e9
        for cpus in (None, [0]):
            of = every["common_cpu"].isin(cpus or capture.info["cpus"])
            expected = every[(at >= start) & (at < end) & of].reset_index(drop=True)
            found = capture.events("softirq_entry", start_s=start, end_s=end, cpus=cpus)
            pd.testing.assert_frame_equal(found, expected, check_categorical=False)
            assert len(found)
    fields = ["vec", "no_such_field"]
    found = capture.events("softirq_entry", fields=fields)
    common = {"time_ns", "common_cpu", "common_pid", "common_comm"}
    assert set(map(str, found)) == {*common, fields[0]}
    pd.testing.assert_frame_equal(found, every[list(found)], check_exact=True)


def test_of_rings_those_of_other_cpus_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.dat"
    trace_dat(path)
    capture = netcost.open_capture(path)
    start, end = capture.info["start_ns"], capture.info["end_ns"]
    found: list[Any] = []
    read = bytes_read(lambda: found.append(capture.native.event_times(start, end, [1])))
    assert read < 0.6 * path.stat().st_size
    assert len(pa.table(found[0])) == capture.event_count / 2


# A line of an earlier time may come behind any window: then all lines are read.
def test_a_text_out_of_order_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    text(path)
    lines = path.read_text().splitlines()
    late = lines.pop(1_000)
    path.write_text("\n".join([*lines, late]) + "\n")
    capture = surveyed(path)
    end_s = share_s(capture, 0.02)
    assert bytes_read(lambda: capture.timeline(0, end_s).summary) > 0.9 * path.stat().st_size
    found = told(capture, ["segments"], None, start_s=0, end_s=end_s)
    whole = told(netcost.open_capture(path), ["segments"], None, start_s=0, end_s=end_s)
    pd.testing.assert_frame_equal(found["segments"], whole["segments"])

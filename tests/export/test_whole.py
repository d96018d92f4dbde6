# A dataset, and a trace for Perfetto, is there as a whole or not at all, and takes no more memory
# for a longer capture.

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.errors import AbsentError, ArgumentError
from netcost_analysis.export import dataset, folder, parquet
from netcost_analysis.export.folder import is_dataset
from netcost_analysis.export.recorded import folder_name, recorded_of
from netcost_analysis.timeline.task import ALL
from support.host import ROOT
from support.kept import kept

NIC = "nic-stolen-time"
CONVERT = (sys.executable, "-m", "netcost_analysis", "convert")
DATASET, TRACE = "out", "out.perfetto-trace"


def write(to: Path, **how: Any) -> Any:
    timeline = kept(NIC).timeline()
    if to.suffix:
        return timeline.to_perfetto(to, **how)
    return timeline.to_parquet(to, ["polls", "sums"], **how)


def contents(out: Path) -> dict[Path, bytes]:
    return {one: one.read_bytes() for one in (out, *out.rglob("*")) if one.is_file()}


@pytest.mark.parametrize("name", [DATASET, TRACE])
def test_only_its_like_is_replaced(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    write(out)
    before = contents(out)
    with pytest.raises(ArgumentError, match="--overwrite"):
        write(out)
    if name == DATASET:
        assert is_dataset(out)
        (out / "polls" / "old").touch()
    write(out, overwrite=True)
    # The same capture and versions make the same bytes.
    assert contents(out) == before
    (tmp_path / f"folder{out.suffix}").mkdir()
    (tmp_path / f"link{out.suffix}").symlink_to(tmp_path / "nowhere")
    for other in ("folder", "link"):
        with pytest.raises(ArgumentError, match=r"not a (dataset|file)"):
            write(tmp_path / f"{other}{out.suffix}", overwrite=True)
    with pytest.raises(FileNotFoundError, match="no"):
        write(tmp_path / "no" / name)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_file_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    with pytest.raises(ArgumentError, match="not a dataset"):
        write(tmp_path / "file", overwrite=True)


@pytest.mark.parametrize(("name", "make"), [(DATASET, Path.mkdir), (TRACE, Path.touch)])
def test_it_has_the_rights_of_any_new_one(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "new")
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_mode == (tmp_path / "new").stat().st_mode


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    write(tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    left = iter(range(1, step))

    def append(sink: Any) -> None:
        if next(left, None) is None:
            raise OSError(28, "No space left on device", "x")
        real(sink)

    real = parquet._Sink.append
    monkeypatch.setattr(parquet._Sink, "append", append)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "out", overwrite=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_what_cannot_take_its_place_puts_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "out")
    renamed: list[Path] = []

    def rename(source: Path, target: Path) -> Path:
        renamed.append(target)
        if len(renamed) == 2:
            raise KeyboardInterrupt
        os.rename(source, target)
        return target

    monkeypatch.setattr(folder.Path, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", overwrite=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "out"]
    assert is_dataset(tmp_path / "out")


@pytest.mark.parametrize(
    ("number", "status", "out"),
    [(signal.SIGTERM, 143, DATASET), (signal.SIGINT, 130, TRACE)],
)
def test_a_signal_leaves_nothing(
    tmp_path: Path, large: Path, number: signal.Signals, status: int, out: str
) -> None:
    command = [*CONVERT, str(large), "-o", str(tmp_path / out)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if any(one.is_file() and one.stat().st_size for one in tmp_path.rglob("*")):
            break
        time.sleep(0.002)
    process.send_signal(number)
    _, said = process.communicate()
    assert (process.returncode, said) == (status, b"")
    assert list(tmp_path.iterdir()) == []


# A trace for Perfetto ends among the events, and among the ledger's slices.
@pytest.mark.parametrize(
    ("name", "blocks", "file"),
    [(DATASET, 64, r"out\S*/segments/\S+"), (TRACE, 0.1, TRACE), (TRACE, 0.95, TRACE)],
)
def test_a_file_that_is_too_large_is_one_line(
    tmp_path: Path, large: Path, name: str, blocks: float, file: str
) -> None:
    if name == TRACE:
        made = netcost.open_capture(large).timeline().to_perfetto(tmp_path / "whole.pftrace")
        (tmp_path / "whole.pftrace").unlink()
        blocks = made.bytes * blocks // 512
    limited = f'ulimit -f {blocks:.0f}; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limited, "sh", *CONVERT, str(large), "-o", str(tmp_path / name)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert re.search(rf"{file}: {os.strerror(errno.EFBIG)}$", done.stderr)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [DATASET, TRACE])
def test_a_capture_that_is_cut_meanwhile_leaves_nothing(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(large.read_bytes())
    timeline = netcost.open_capture(path).timeline()
    assert timeline.summary["cpus"]

    def cut(*given: Any, **named: Any) -> Any:
        for number, batch in enumerate(real(*given, **named)):
            if number == 0:
                os.truncate(path, path.stat().st_size // 2)
            yield batch

    real = netcost.Timeline.arrow_batches
    monkeypatch.setattr(netcost.Timeline, "arrow_batches", cut)
    if name == TRACE:
        os.truncate(path, path.stat().st_size // 2)
    to = timeline.to_perfetto if name == TRACE else timeline.to_parquet
    with pytest.raises(netcost.CaptureError) as caught:
        to(tmp_path / name)
    assert caught.value.kind == "changed"
    assert list(tmp_path.iterdir()) == [path]


# As of a host with many CPUs, or of a long capture: row groups that are not full, several files.
def test_few_rows_in_memory_are_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_MOST_WAITING", 10_000)
    monkeypatch.setattr(dataset, "_BATCH_ROWS", 700)
    monkeypatch.setattr(parquet, "_MOST_ROW_GROUPS", 3)
    monkeypatch.setattr(parquet, "_MANY_NAMES", 2)
    timeline = kept(NIC).timeline(3.4, 4.4)
    done = timeline.to_parquet(tmp_path / "out", ["segments", "slices"])
    assert done.tables["segments"].files > 5
    read = pd.read_parquet(tmp_path / "out" / "segments")
    for name in read:
        assert read[name].astype(object).fillna(-1).tolist() == (
            timeline.segments[name].astype(object).fillna(-1).tolist()
        )


# Peak memory of its own process, MiB, read where the last page is still held.
PEAK = """
import resource, sys
import netcost_analysis as netcost
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
getattr(netcost.open_capture(sys.argv[1]).timeline(), sys.argv[2])(sys.argv[3])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak(capture: Path, form: str, out: Path) -> int:
    run = [sys.executable, "-c", PEAK, str(capture), form, str(out)]
    return int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)


# 0.8 million events.
@pytest.mark.slow
def test_memory_of_a_dataset_is_bounded(tmp_path: Path, large: Path) -> None:
    assert peak(large, "to_parquet", tmp_path / "out") < 512
    segments = pd.read_parquet(tmp_path / "out" / "segments", columns=["start_ns", "end_ns"])
    sums = pd.read_parquet(tmp_path / "out" / "sums")
    assert (segments["end_ns"] - segments["start_ns"]).sum() == sums["ns"].sum()


@pytest.mark.slow
def test_memory_of_a_trace_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    peaks = []
    for times in (2, 8):
        path, out = tmp_path / f"{times}.data", tmp_path / f"{times}.pftrace"
        repeat(ROOT / "sample-data" / NIC / "trace.perf.data", times, path)
        peaks.append(peak(path, "to_perfetto", out))
    # Four times the capture, of which the trace alone is larger than this.
    assert peaks[1] - peaks[0] < 40 < out.stat().st_size >> 20


def test_victims_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="nobody"):
        write(tmp_path / TRACE, victims=["nobody"])
    with pytest.raises(ArgumentError, match="needs one task"):
        write(tmp_path / TRACE, victims=[ALL])
    assert list(tmp_path.iterdir()) == []


def test_counters_are_of_whom_was_given_or_recorded(tmp_path: Path) -> None:
    def named(timeline: netcost.Timeline, **how: Any) -> set[str]:
        done = timeline.to_perfetto(tmp_path / TRACE, overwrite=True, **how)
        assert bool(done.counters) != any("no counters" in note for note in done.notes)
        return {name.partition(":")[0] for name in done.counters}

    bundle = kept(NIC).timeline()
    # A recording alone names nobody.
    alone = netcost.open_capture(ROOT / "sample-data" / NIC / "trace.perf.data")
    assert named(bundle) == {"openssl"}
    assert named(bundle, victims=["udp-load"]) == {"udp-load"}
    assert named(bundle, victims=[]) == named(alone.timeline()) == set()
    assert named(alone.timeline(victim="udp-load")) == {"udp-load"}


def test_names_of_strangers_are_no_paths() -> None:
    for name, safe in (
        ("napi:napi_poll", "napi.napi_poll"),
        ("../../etc/passwd", "etc_passwd"),
        ("cpu/mem-loads,ldlat=30/P", "cpu_mem-loads_ldlat_30_P"),
        ("_a", "a"),
        ("..", "event"),
        ("x" * 300, "x" * 100),
    ):
        assert folder_name(name) == safe


def test_two_events_have_two_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = kept(NIC)
    named = {"events": [{"name": name, "tracepoint": True} for name in ("a:b!", "a:b?", "a:B_")]}
    monkeypatch.setitem(capture.__dict__, "header", {**capture.header, **named})
    found = recorded_of(capture, ["a:b!", "a:b?", "a:B_", "a:b!"], ())
    assert [one.folder for one in found] == ["events/a.b_", "events/a.b_-2", "events/a.B_-3"]

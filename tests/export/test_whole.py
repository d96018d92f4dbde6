# A dataset is there as a whole or not at all, and takes no more memory for a longer capture.

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.export import dataset, folder, partition
from netcost_analysis.export.folder import is_dataset
from netcost_analysis.export.recorded import folder_name, recorded_of
from support.kept import kept

NIC = "nic-stolen-time"


def write(to: Path, **how: Any) -> netcost.Exported:
    return kept(NIC).timeline().to_parquet(to, ["polls", "sums"], **how)


def test_only_a_dataset_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out)
    (out / "polls" / "old").touch()
    with pytest.raises(ArgumentError, match="--overwrite"):
        write(out)
    write(out, overwrite=True)
    assert is_dataset(out)
    assert not (out / "polls" / "old").exists()
    for other in (tmp_path / "folder", tmp_path / "file", tmp_path / "link"):
        if other.name == "folder":
            other.mkdir()
        elif other.name == "file":
            other.write_text("{}")
        else:
            other.symlink_to(tmp_path / "nowhere")
        with pytest.raises(ArgumentError, match="is no dataset"):
            write(other, overwrite=True)
    with pytest.raises(FileNotFoundError, match="no"):
        write(tmp_path / "no" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link", "out"]


def test_a_folder_has_the_rights_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "new").stat().st_mode


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

    real = partition._Sink.append
    monkeypatch.setattr(partition._Sink, "append", append)
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


CONVERT = (sys.executable, "-m", "netcost_analysis", "convert")


# Of a dataset, and of a trace for Perfetto.
@pytest.mark.parametrize("out", ["out", "out.perfetto-trace"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
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


def test_a_file_that_is_too_large_is_one_line(tmp_path: Path, large: Path) -> None:
    limited = 'ulimit -f 64; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", limited, "sh", *CONVERT, str(large), "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert re.search(rf"out\S*/segments/\S+: {os.strerror(errno.EFBIG)}$", done.stderr)
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_capture_that_is_cut_meanwhile_leaves_nothing(
    tmp_path: Path, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(large.read_bytes())
    capture = netcost.open_capture(path)

    def cut(*given: Any, **named: Any) -> Any:
        for number, batch in enumerate(real(*given, **named)):
            if number == 0:
                os.truncate(path, path.stat().st_size // 2)
            yield batch

    real = netcost.Timeline.arrow_batches
    monkeypatch.setattr(netcost.Timeline, "arrow_batches", cut)
    with pytest.raises(netcost.CaptureError, match="became shorter"):
        capture.timeline().to_parquet(tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


# As of a host with many CPUs, or of a long capture: row groups that are not full, several files.
def test_few_rows_in_memory_are_the_same_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "_MOST_WAITING", 10_000)
    monkeypatch.setattr(dataset, "_BATCH_ROWS", 700)
    monkeypatch.setattr(partition, "_MOST_ROW_GROUPS", 3)
    monkeypatch.setattr(partition, "_MANY_NAMES", 2)
    timeline = kept(NIC).timeline()
    done = timeline.to_parquet(tmp_path / "out", ["segments", "slices"])
    assert done.tables["segments"].files > 5
    read = pd.read_parquet(tmp_path / "out" / "segments")
    for name in read:
        assert read[name].astype(object).fillna(-1).tolist() == (
            timeline.segments[name].astype(object).fillna(-1).tolist()
        )


CONVERTED = """
import resource, sys
from pathlib import Path
import netcost_analysis as netcost
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
netcost.open_capture(sys.argv[1]).timeline().to_parquet(sys.argv[2])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


# 0.8 million events.
@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path, large: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONVERTED, str(large), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) / 1024 < 512
    segments = pd.read_parquet(tmp_path / "out" / "segments", columns=["start_ns", "end_ns"])
    sums = pd.read_parquet(tmp_path / "out" / "sums")
    assert (segments["end_ns"] - segments["start_ns"]).sum() == sums["ns"].sum()


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

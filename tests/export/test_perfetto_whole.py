# A trace for Perfetto is there as a whole or not at all, and takes no more memory for a longer
# capture.

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.errors import AbsentError, ArgumentError
from netcost_analysis.timeline.task import ALL
from support.host import ROOT
from support.kept import kept

NIC = "nic-stolen-time"
CONVERT = (sys.executable, "-m", "netcost_analysis", "convert")


def write(to: Path, **how: Any) -> netcost.PerfettoTrace:
    return kept(NIC).timeline().to_perfetto(to, **how)


def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "x.pftrace"
    done = write(out)
    assert done.bytes == out.stat().st_size
    before = out.read_bytes()
    with pytest.raises(ArgumentError, match="--overwrite"):
        write(out)
    write(out, overwrite=True)
    # The same capture and versions make the same file.
    assert out.read_bytes() == before
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for other in ("folder", "link"):
        with pytest.raises(ArgumentError, match="is no file"):
            write(tmp_path / other, overwrite=True)
    with pytest.raises(FileNotFoundError, match="no/out"):
        write(tmp_path / "no" / "out.pftrace")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "x.pftrace"]


def test_a_file_has_the_rights_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "new").touch()
    write(tmp_path / "x.pftrace")
    assert (tmp_path / "x.pftrace").stat().st_mode == (tmp_path / "new").stat().st_mode


def test_victims_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="nobody"):
        write(tmp_path / "x.pftrace", victims=["nobody"])
    with pytest.raises(ArgumentError, match="of one task"):
        write(tmp_path / "x.pftrace", victims=[ALL])
    assert list(tmp_path.iterdir()) == []


def test_counters_are_of_whom_was_given_or_recorded(tmp_path: Path) -> None:
    def named(**how: Any) -> set[str]:
        done = write(tmp_path / "x.pftrace", overwrite=True, **how)
        return {name.partition(":")[0] for name in done.counters}

    assert named() == {"openssl"}
    assert named(victims=["udp-load"]) == {"udp-load"}
    assert named(victims=[]) == set()
    # A recording alone names nobody.
    capture = netcost.open_capture(ROOT / "sample-data" / NIC / "trace.perf.data")
    done = capture.timeline().to_perfetto(tmp_path / "alone.pftrace")
    assert done.counters == ()
    assert any("no counters" in note for note in done.notes)
    given = capture.timeline(victim="udp-load").to_perfetto(tmp_path / "given.pftrace")
    assert {name.partition(":")[0] for name in given.counters} == {"udp-load"}


# It ends among the events, and among the ledger's slices.
@pytest.mark.parametrize("share", [0.1, 0.95])
def test_a_full_disk_is_one_line(tmp_path: Path, large: Path, share: float) -> None:
    (tmp_path / "a").mkdir()
    whole = netcost.open_capture(large).timeline().to_perfetto(tmp_path / "a" / "whole.pftrace")
    blocks = int(whole.bytes * share) // 512
    out = tmp_path / "b" / "out.perfetto-trace"
    out.parent.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'ulimit -f {blocks}; exec "$@"', "sh", *CONVERT, str(large), "-o", str(out)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.endswith(f"/b/out.perfetto-trace: {os.strerror(errno.EFBIG)}\n")
    assert done.stderr.count("\n") == 1
    assert list(out.parent.iterdir()) == []


def test_a_capture_that_is_cut_meanwhile_leaves_nothing(tmp_path: Path, large: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(large.read_bytes())
    timeline = netcost.open_capture(path).timeline()
    assert timeline.summary["cpus"]
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(netcost.CaptureError) as caught:
        timeline.to_perfetto(tmp_path / "out.perfetto-trace")
    assert caught.value.kind == "changed"
    assert list(tmp_path.iterdir()) == [path]


# Peak memory of its own process, MiB, read where the last page is still held.
PEAK = """
import resource, sys
import netcost_analysis as netcost
netcost.open_capture(sys.argv[1]).timeline().to_perfetto(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    peaks = []
    for times in (2, 8):
        path = tmp_path / f"{times}.data"
        repeat(ROOT / "sample-data" / NIC / "trace.perf.data", times, path)
        run = [sys.executable, "-c", PEAK, str(path), str(tmp_path / f"{times}.pftrace")]
        peaks.append(int(subprocess.run(run, capture_output=True, text=True, check=True).stdout))
        size = (tmp_path / f"{times}.pftrace").stat().st_size >> 20
    # Four times the capture, of which the trace alone is larger than this.
    assert peaks[1] - peaks[0] < 40 < size

# A disk too small for the recording: it ends in time, and what is recorded is a bundle.

import subprocess
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import missing
from support.kit.record import (
    MARK,
    RECORD,
    ended,
    manifest_of,
    nothing_left,
    require_recorder,
)

# A load has to fill it.
pytestmark = pytest.mark.measures

# Some ten thousand switches a second each, in two shells that do nothing else: one took half of the
# time that there is.
BUSY = f"for _ in 1 2; do while :; do /bin/true; done & done; wait; : {MARK}"


SLOW = [pytest.param(tool, 12, marks=pytest.mark.slow) for tool in ("perf", "trace-cmd")]


@pytest.mark.parametrize(("tool", "mib"), [("tracefs", 6), *SLOW])
def test_a_small_disk_ends_the_recording_in_time(tool: str, mib: int, tmp_path: Path) -> None:
    require_recorder(tool)
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "small", disk]).returncode:
        missing("cannot mount a small disk here")
    try:
        options = ["--min-free", "2", "--duration", "20", "--sidecars", "none", "--load", BUSY]
        # What a victim takes is not known before: without one so little room is refused.
        options += ["--victim", "sleep 20"]
        with nothing_left(tmp_path, tool) as environment:
            done = ended([RECORD, "-o", disk / "b", "--tool", tool, *options], env=environment)
        assert done.returncode == 3, done.stderr
        manifest = manifest_of(disk / "b")
        assert manifest["cut_short"] is True
        assert manifest["duration_s"] < 19
        assert sum(open_capture(disk / "b").info["events"].values()) > 1000
        assert not (disk / "b" / "reserved").exists()
    finally:
        subprocess.run(["umount", disk], check=True)

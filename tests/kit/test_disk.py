# A disk too small for the recording: it ends in time, and what is recorded is a bundle.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.record import MARK, Recorder, manifest_of, small_disk

# A load has to fill it.
pytestmark = pytest.mark.measures

# Some ten thousand switches a second each, in two shells that do nothing else: one took half of the
# time that there is.
BUSY = f"for _ in 1 2; do while :; do /bin/true; done & done; wait; : {MARK}"


SLOW = [pytest.param(tool, 12, marks=pytest.mark.slow) for tool in ("perf", "trace-cmd")]


@pytest.mark.parametrize(("tool", "mib"), [("tracefs", 6), *SLOW])
def test_a_small_disk_ends_the_recording_in_time(
    tool: str, mib: int, tmp_path: Path, recorder: Recorder
) -> None:
    options = ["--min-free", "2", "--duration", "20", "--sidecars", "none", "--load", BUSY]
    # What a victim takes is not known before: without one so little room is refused.
    options += ["--victim", "sleep 20", "--tool", tool]
    with small_disk(tmp_path, f"{mib}m") as disk:
        recorder(*options, name=disk / "b", status=3)
        manifest = manifest_of(disk / "b")
        assert manifest["cut_short"] is True
        assert manifest["duration_s"] < 19
        assert open_capture(disk / "b").event_count > 1000
        assert not (disk / "b" / "reserved").exists()

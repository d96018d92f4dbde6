# What the sample recordings missed without a word.

from pathlib import Path

import pytest

import netcost_analysis as netcost
from support.asked import completeness
from support.counted_beside import named, row
from support.host import SAMPLES


# Of each experiment some four: its recordings are of one host and recorder.
def counted_samples() -> list[Path]:
    found = [SAMPLES / "veth-stolen-time", *sorted(SAMPLES.glob("*.netcost.tar.zst"))]
    for folder in sorted({path.parent for path in SAMPLES.glob("*/*.netcost.tar.zst")}):
        paths = sorted(folder.glob("*.netcost.tar.zst"))
        found += paths[:: max(1, len(paths) // 4)]
    # Of that step nearly nothing was counted.
    return [path for path in found if path.name != "0-pps-1.netcost.tar.zst"]


# More events between the readings than the counters grew by would be events that did not happen.
@pytest.mark.parametrize("sample", counted_samples(), ids=lambda path: path.name)
def test_no_sample_has_more_than_was_counted(sample: Path) -> None:
    capture = netcost.open_capture(sample)
    found = completeness(capture)
    rows = found.rows[found.rows["what"] != "packets"]
    assert (rows["recorded_inside"] <= rows["counted"]).all()
    assert (rows["recorded_inside"] <= rows["recorded"]).all()
    assert (rows["missing_least"] <= rows["missing_most"]).all()
    assert len(rows) >= 10 or found.state == "unknown"
    # The kernel's own buffers have every softirq, interrupt and vector; switches they may not.
    own = rows[rows["what"] != "switches"]
    if capture.info["format"] == "tracefs":
        assert not own["missing_least"].any()


# CPU 1 lacks 3,122 switches of the host's: there 3,201 times a task is switched out that was never
# switched in.
def test_switches_that_the_counter_has_are_missing_in_the_chain() -> None:
    capture = netcost.open_capture(SAMPLES / "quiet-interface.netcost.tar.zst")
    found = completeness(capture)
    assert named(found.why) == [("4.6", "switches", "")]
    broken = 0
    for _, rows in capture.events("sched:sched_switch").groupby("common_cpu"):
        rows = rows.sort_values("time_ns", kind="stable")
        left, came = rows["prev_pid"].to_numpy()[1:], rows["next_pid"].to_numpy()[:-1]
        broken += int((left != came).sum())
    assert row(found, "ctxt")["missing_least"] <= broken

# A table that would not fit says so before it takes the memory.

import subprocess
import sys
from pathlib import Path

import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.timeline import memory
from netcost_analysis.timeline.tables import STREAMED
from support.host import ROOT
from support.kept import kept
from support.subjects import ALL

SAMPLE = ROOT / "sample-data" / "nic-stolen-time"


@pytest.mark.parametrize("name", [*ALL[2:5], *ALL[-2:]])
def test_rows_are_known_before(name: str) -> None:
    timeline = kept(name).timeline()
    for table in STREAMED:
        rows = len(getattr(timeline, table))
        most = 2 * rows + 2 * len(timeline.coverage) + 9
        assert 0.99 * rows <= memory.rows_of(timeline, table) <= most, table
    assert memory.rows_of(timeline, "segments") == len(timeline.segments)


def test_a_table_says_its_size_and_the_ways_on(monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = netcost.open_capture(SAMPLE).timeline()
    rows = len(kept("nic-stolen-time").timeline().segments)
    monkeypatch.setattr(memory, "available", lambda: 2 * 70 * rows - 2)
    with pytest.raises(netcost.CaptureError) as caught:
        _ = timeline.segments
    said = str(caught.value)
    assert "\n" not in said
    for part in (f"segments has {rows:,} rows", "GiB", "start_s=", "netcost convert", "-o DIR"):
        assert part in said
    # A window, and what is smaller, fit; of what was asked for alone no more is computed.
    assert len(netcost.open_capture(SAMPLE).timeline(0.2, 0.3).segments)
    assert len(timeline.polls)
    assert timeline.ask.stolen_time.stolen().refusal is None
    assert len(timeline.load("segments", allow_large=True).segments) == rows


def test_nothing_is_said_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: None)
    assert len(netcost.open_capture(SAMPLE).timeline().segments)


LIMITED = """
import resource, sys
import netcost_analysis as netcost
import pandas, pyarrow
timeline = netcost.open_capture(sys.argv[1]).timeline()
timeline.sums()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20),) * 2)
try:
    timeline.segments
except netcost.CaptureError as error:
    print(error)
"""


def test_a_limit_of_address_space_counts(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    repeat(SAMPLE / "trace.perf.data", 4, path)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("segments has 516,305")
    assert done.stdout.count("0.0 GiB") == 2

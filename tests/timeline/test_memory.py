# A table that would not fit says so before it takes the memory.

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import netcost_analysis as netcost
from benchmarks.repeat import repeat
from netcost_analysis.capture import recording
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


# Of a large capture what one pass found is there for whoever asks for the same.


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    # The tables of each pass of a capture that is a large one.
    found: list[set[str]] = []
    made = netcost.Timeline._pass

    def noted(of: netcost.Timeline, tables: list[str], for_lives: bool = False) -> object:
        found.append(set(tables))
        return made(of, tables, for_lives)

    monkeypatch.setattr(recording, "SMALL", 1)
    monkeypatch.setattr(netcost.Timeline, "_pass", noted)
    return found


def test_who_asks_for_the_same_reads_nothing(passes: list[set[str]]) -> None:
    capture = netcost.open_capture(SAMPLE)
    one = capture.timeline()
    sums = one.sums()
    assert len(passes) == 1
    other = capture.timeline()
    pd.testing.assert_frame_equal(other.sums(), sums)
    assert other.summary == one.summary
    assert len(passes) == 1
    # Another window, other CPUs: figures of their own.
    assert capture.timeline(0.1, 0.2).sums()["ns"].sum() < sums["ns"].sum()
    assert set(capture.timeline(cpus=[1]).sums()["cpu"]) == {1}
    assert len(passes) == 3


# Of two that were asked before, one alone has followed waits.
@pytest.mark.parametrize("waits_first", [True, False])
def test_who_comes_last_knows_what_any_has_found(passes: list[set[str]], waits_first: bool) -> None:
    capture = netcost.open_capture(SAMPLE)
    one, other = capture.timeline(), capture.timeline()
    for asked, tables in ((one, ["displaced"]), (other, []))[:: 1 if waits_first else -1]:
        asked.read(*tables)
    last = capture.timeline()
    assert len(last.columns("displaced")["ns"]) > 0
    assert last.missing["clocks"] == ""


def test_what_nobody_holds_any_more_is_read_again(passes: list[set[str]]) -> None:
    capture = netcost.open_capture(SAMPLE)
    assert len(capture.timeline().sums())
    assert len(capture.timeline().sums())
    assert len(passes) == 2


def test_waits_come_with_the_first_pass_of_what_was_counted(passes: list[set[str]]) -> None:
    capture = netcost.open_capture(SAMPLE)
    assert capture.event_count > 1
    capture.timeline().load()
    assert passes == [{"displaced"}]


def test_who_has_not_counted_events_reads_nothing_besides(passes: list[set[str]]) -> None:
    netcost.open_capture(SAMPLE).timeline().load()
    assert passes == [set()]


def test_bins_and_tables_of_rows_that_are_kept_take_no_pass(
    passes: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "SMALL", 1_000_000)
    run = netcost.open_capture(SAMPLE).timeline()
    for width in (100_000_000, 50_000_000):
        assert run.sums(width)["ns"].sum() == run.sums()["ns"].sum()
    assert len(run.polls) == len(run.group("polls", by=["cpu", "end_ns"]).frame)
    assert passes == [{"displaced"}]


@pytest.mark.parametrize("cpus", [None, [1]])
def test_tables_of_kept_rows_are_those_of_a_pass(cpus: list[int] | None) -> None:
    capture = netcost.open_capture(SAMPLE)
    selection = capture.timeline(0.2, 0.9, cpus=cpus).selection
    passed = capture.native.timeline(STREAMED, **selection)["tables"]
    assert capture.native.kept(STREAMED, **selection) is None
    capture.native.timeline(["displaced"], keep=True, **selection)
    found = capture.native.kept(STREAMED, **selection)
    assert found is not None
    assert sorted(found) == sorted(passed)
    for name, table in found.items():
        assert pa.table(table).equals(pa.table(passed[name])), name
    assert capture.native.kept(STREAMED, **capture.whole.selection) is None

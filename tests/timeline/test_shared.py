# Of a large capture what one pass found is there for whoever asks for the same.

import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis.capture import recording
from support.host import ROOT

SAMPLE = ROOT / "sample-data" / "nic-stolen-time"


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    # The tables of each pass of a capture that is a large one.
    found: list[set[str]] = []
    made = netcost.Timeline._pass

    def noted(
        of: netcost.Timeline, tables: list[str], bin_ns: int | None = None, for_lives: bool = False
    ) -> object:
        found.append(set(tables))
        return made(of, tables, bin_ns, for_lives)

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


def test_bins_of_one_width_are_summed_once(passes: list[set[str]]) -> None:
    run = netcost.open_capture(SAMPLE).timeline()
    frame = run.sums(100_000_000)
    assert run.sums(100_000_000).equals(frame)
    assert len(passes) == 1
    assert run.sums(50_000_000)["ns"].sum() == frame["ns"].sum()
    assert len(passes) == 2

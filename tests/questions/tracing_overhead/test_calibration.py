# Costs of an event from the runs of a calibration: bundles written here, and those of a sample.

from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis.display.templates import as_text
from netcost_analysis.questions.tracing_overhead.event_cost import judged
from netcost_analysis.timeline.task import ALL
from support.asked import corrected_stolen, event_cost, tracing_cost
from support.calibrated import RUNS, SPARSE, calibrated, counted
from support.host import SAMPLES
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL, UDPSINK


def test_a_calibration_of_one_block_size(tmp_path: Path) -> None:
    capture = calibrated(tmp_path / "b", **(RUNS | {"idle_traced": {1024: 985_000}}))
    load, idle, published = (row for _, row in event_cost(capture).iterrows())
    # 5 % of a CPU, give or take the idle pair's 1.5, for 7 events in 90 us.
    each = 90_000 / 7
    assert (load["source"], load["measured_events"]) == ("calibration, load", 7)
    assert load["event_ns"] == round(0.05 * each)
    # The readings take half a millisecond each: so much the rates may differ by, of 40 %.
    slack = 0.4 * 0.001
    assert load["event_low_ns"] == pytest.approx((0.035 - slack) * each, abs=1)
    assert load["event_high_ns"] == pytest.approx((0.065 + slack) * each, abs=1)
    assert (load["usable"], load["cpu"]) == (True, 0)
    assert "loads" not in load["why"]
    assert (idle["source"], idle["usable"]) == ("calibration, idle", False)
    assert published["usable"]
    assert tracing_cost(capture.timeline())["source"].tolist() == ["calibration, load"]


def test_a_calibration_that_shows_nothing_is_not_used(tmp_path: Path) -> None:
    faster = {"idle_traced": {1024: 1_010_000}, "load_traced": {1024: 605_000}}
    capture = calibrated(tmp_path / "b", **(RUNS | faster))
    costs = event_cost(capture)
    assert costs["usable"].tolist() == [False, False, True]
    assert "distinguished from zero" in costs["why"].iloc[0]
    assert tracing_cost(capture.timeline())["source"].tolist() == ["published"]


@pytest.mark.parametrize(
    ("loads", "facts"),
    [
        ((617_540, 318_278), ("differ", "617,540 packets/s untraced", "318,278 traced")),
        (None, ("runs are unknown",)),
    ],
)
def test_other_or_unknown_loads_are_no_calibration(
    tmp_path: Path, loads: tuple[int, int] | None, facts: tuple[str, ...]
) -> None:
    capture = calibrated(tmp_path / "b", loads=loads, **RUNS)
    row = event_cost(capture).iloc[0]
    assert not row["usable"]
    assert not [fact for fact in facts if fact not in row["why"]]
    answer = capture.timeline().ask.tracing_overhead.tracing_cost()
    assert answer.frame["source"].tolist() == ["published"]
    assert as_text(row["why"]) in as_text(answer.words)


# The load takes 40 % of the CPU. With a tenth less of it while traced the victim should have lost
# 4 % less: tracing took between the 5 % that are seen and those 9 %.
@pytest.mark.parametrize(
    ("traced", "low", "high", "usable"),
    [(90_000, 0.04, 0.10, True), (100_000, 0.04, 0.06, True), (110_000, 0.0, 0.06, False)],
)
def test_loads_a_little_apart_widen_it(
    tmp_path: Path, traced: int, low: float, high: float, usable: bool
) -> None:
    row = event_cost(calibrated(tmp_path / "b", (100_000, traced), **RUNS)).iloc[0]
    each, slack = 90_000 / 7, 0.001
    assert row["event_ns"] == round(0.05 * each)
    assert row["event_low_ns"] == pytest.approx(low * each, abs=slack * each)
    assert row["event_high_ns"] == pytest.approx(high * each, abs=slack * each)
    assert row["usable"] == usable
    assert ("(100,000 packets/s" in row["why"]) == (traced != 100_000)


def test_the_same_packets_in_other_batches_widen_it(tmp_path: Path) -> None:
    capture = calibrated(tmp_path / "b", **RUNS)
    counted(tmp_path / "b", 100_000, net_rx=95_000)
    row = event_cost(netcost.open_capture(capture.path)).iloc[0]
    assert row["event_high_ns"] == pytest.approx((0.06 + 0.02) * 90_000 / 7, rel=0.02)
    assert "95,000 traced" in row["why"]


def test_a_price_that_no_event_can_have_is_refused() -> None:
    one = np.array([0.05])
    # 5 us an event, though the interval reaches down to 3.5.
    dear = judged("load", one, 10_000, 1.0, noise=0.015)
    assert (dear.event_ns, dear.event_low_ns, dear.usable) == (5_000, pytest.approx(3_500), False)
    assert "more than an" in dear.why
    cheap = judged("load", one, 1_000_000, 1.0, noise=0.01)
    assert (cheap.event_ns, cheap.event_high_ns, cheap.usable) == (50, pytest.approx(60), False)
    assert "less than an" in cheap.why


def test_a_price_for_another_cpu_is_an_extrapolation(tmp_path: Path) -> None:
    there = cpu(1, h.Waking(0, OPENSSL), h.IrqEntry(1_000, 33), h.IrqExit(1_500, 33), task=UDPSINK)
    capture = calibrated(tmp_path / "b", cpus=(SPARSE, there), **RUNS)
    line = capture.timeline()
    here, elsewhere = "calibration, load", "calibration, load of CPU 0, extrapolated"
    answer = line.ask.tracing_overhead.tracing_cost()
    assert answer.frame["source"].to_dict() == {0: here, 1: elsewhere}
    assert "extrapolated to CPU 1" in as_text(answer.words)
    figures = corrected_stolen(line, victim=ALL).groupby("comm")["source"].unique()
    assert (figures["openssl"].tolist(), figures["udpsink"].tolist()) == ([here], [elsewhere])


def test_an_interval_of_several_sizes() -> None:
    lost = np.array([0.02, 0.03, 0.04])
    got = judged("load", lost, 10_000, 1.0, noise=None)
    # 0.03 give or take t(2) 4.303 times 0.01 / sqrt(3), 100 us of wall time an event.
    assert got.event_ns == pytest.approx(3_000)
    assert (got.event_low_ns, got.event_high_ns) == pytest.approx((516, 5_484), abs=1)
    assert got.usable
    # More than an event can cost: not an event's cost.
    assert not judged("load", lost, 100, 1.0, noise=None).usable


def test_calibrations_of_a_sample_agree_with_what_was_measured_there() -> None:
    # 214 to 323 ns an event by three runs of netcost-record --check --tool tracefs on that machine
    # (docs/capture.md); one pair of runs each, so they scatter.
    found = []
    for path in sorted((SAMPLES / "hidden-cost").glob("[24]0000-pps-*")):
        row = event_cost(netcost.open_capture(path)).iloc[0]
        assert row["source"] == "calibration, load"
        found.append(row["event_ns"])
    assert len(found) >= 6
    assert 100 < np.median(found) < 500

# Windows by name: while a victim or a load ran, or a task was there, else all of a trace.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.timeline.window import Named
from support.asked import network_cost
from support.doctored import doctored
from support.perfdata import cpu, recording
from support.perfdata import happenings as h
from support.run_cli import Netcost
from support.told import IDLE, OPENSSL, UDPSINK

VICTIM = {"command": "openssl speed", "cpu": 0, "pid": 500, "output": "victim.txt"}
RAN = VICTIM | {"start_ns": 301_000, "end_ns": 801_000}
LOAD = {"command": "iperf3", "start_ns": 201_000, "end_ns": 1_001_000}
ASKED = {"start_ns": 301_000, "end_ns": 801_000}
# From the trace's first event on, which is at 1 us.
OF_VICTIM, OF_LOAD, OF_TRACE = (300_000, 800_000), (200_000, 1_000_000), (0, 1_160_000)


def opened(folder: Path, **manifest: Any) -> netcost.Capture:
    return netcost.open_capture(doctored(folder / "b", **manifest))


def ends(line: netcost.Timeline) -> tuple[int, int]:
    return line.offset_ns, line.offset_ns + line.duration_ns


BOTH = {"victim": RAN, "load": LOAD}


@pytest.mark.parametrize(
    ("manifest", "name", "of", "between"),
    [
        (BOTH, "victim", "victim", OF_VICTIM),
        (BOTH, "load", "load", OF_LOAD),
        (BOTH, "trace", "trace", OF_TRACE),
        (BOTH, "auto", "victim", OF_VICTIM),
        ({"victim": None, "load": LOAD}, "auto", "load", OF_LOAD),
        ({"victim": None, "load": LOAD | {"end_ns": None}}, "auto", "trace", OF_TRACE),
        # What was recorded while it did not run is of nobody's run.
        ({"victim": RAN | {"start_ns": 10**9, "end_ns": 10**10}}, "auto", "trace", OF_TRACE),
        ({"victim": RAN | {"end_ns": 5}, "load": LOAD}, "auto", "load", OF_LOAD),
        # Without what reads the counters, and of the load that part.
        ({"victim": None, "load": None, "asked": ASKED}, "auto", "duration", OF_VICTIM),
        ({"victim": None, "load": None, "asked": ASKED}, "duration", "duration", OF_VICTIM),
        ({"victim": None, "load": LOAD, "asked": ASKED}, "auto", "load", OF_VICTIM),
        ({"victim": None, "load": None}, "auto", "trace", OF_TRACE),
        # A part of it was recorded.
        ({"victim": RAN, "window": {"start_ns": 501_000}}, "auto", "victim", (500_000, 800_000)),
        ({"victim": RAN, "window": {"end_ns": 501_000}}, "auto", "victim", (300_000, 500_000)),
        # Its only task is there all the time.
        ({"victim": VICTIM, "load": LOAD}, "auto", "victim", OF_TRACE),
        ({"victim": VICTIM | {"command": "other", "pid": 7}}, "auto", "trace", OF_TRACE),
    ],
)
def test_a_window_by_name(
    tmp_path: Path, manifest: dict[str, Any], name: Named, of: str, between: tuple[int, int]
) -> None:
    line = opened(tmp_path, **manifest).timeline(window=name)
    assert (line.window.of, ends(line)) == (of, between)
    assert bool(line.window.during) == (of != "trace")


# openssl (500) on CPU 0 from 2 to 6 us, then on CPU 1 until 9 us, of a trace of 20.
def test_a_task_is_there_from_its_first_stay_to_its_last(tmp_path: Path) -> None:
    path = recording(
        cpu(0, h.Switch(2_000, OPENSSL), h.Switch(6_000, IDLE), h.Switch(20_000, UDPSINK)),
        cpu(1, h.Switch(1_000, UDPSINK), h.Switch(7_000, OPENSSL), h.Switch(9_000, UDPSINK)),
        known=(OPENSSL, UDPSINK),
    ).write(tmp_path / "perf.data")
    capture = netcost.open_capture(path)
    for victim in ("openssl", 500):
        line = capture.timeline(victim=victim, window="victim")
        assert (line.window.of, ends(line)) == ("task", (1_000, 8_000))
        assert "openssl" in line.window.during
    assert capture.timeline(window="auto").is_whole


def test_the_run_and_what_is_around_it_are_the_trace(tmp_path: Path) -> None:
    capture = opened(tmp_path, victim=RAN)
    run = capture.timeline(window="victim")
    around = (capture.timeline(end_s=run.start_s), capture.timeline(start_s=run.end_s))
    ns = [network_cost(one).network_cpu_ns for one in (run, *around)]
    assert sum(ns) == network_cost(capture.timeline()).network_cpu_ns
    # Five rounds of 14.5 us.
    assert ns[0] == 5 * 14_500


@pytest.mark.parametrize(
    ("manifest", "name", "words"),
    [
        ({"load": None}, "load", "load ran"),
        ({"load": LOAD | {"end_ns": 7}}, "load", "load ended"),
        ({"victim": RAN | {"start_ns": 10**9, "end_ns": 10**10}}, "victim", "victim did not"),
    ],
)
def test_a_run_that_is_not_known_is_refused(
    tmp_path: Path, manifest: dict[str, Any], name: Named, words: str
) -> None:
    with pytest.raises(CaptureError, match=words):
        opened(tmp_path, **manifest).timeline(window=name)


def test_a_window_is_named_or_given(tmp_path: Path, netcost: Netcost) -> None:
    path = str(doctored(tmp_path / "b", victim=RAN))
    assert netcost("stolen", path, "--window", "victim", "--start", "0").code == 2
    assert netcost("stolen", path, "--start", "0", "--json").json["window"] == "trace"
    told = netcost("stolen", path, "--json").json
    assert (told["window"], told["end_ns"] - told["start_ns"]) == ("victim", 500_000)
    # What hands rows on leaves none out unless it is told to.
    rows = netcost("events", path, "irq:softirq_entry", "--json").json
    some = netcost("events", path, "irq:softirq_entry", "--json", "--window", "victim").json
    assert (len(rows), len(some)) == (12, 5)

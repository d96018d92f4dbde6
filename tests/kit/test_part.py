# netcost-record --trace-for: a part of the run is traced, the rest is of the whole run.

from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.kit.record import (
    MARK,
    SHORT,
    Recorder,
    by_tool,
    lasting_processes,
    manifest_of,
    path_without,
    preferred,
    stub,
)

pytestmark = pytest.mark.live

QUIET = ("--profile", "light", "--sidecars", "none", "--interval", "0")
LOAD = f"while :; do sleep 0.02; done; : {MARK}"
BUSY = "sh -c 'while :; do :; done'"


@pytest.mark.measures
@by_tool("perf", "tracefs")
def test_a_part_of_the_victims_run_is_traced(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    bundle = tmp_path / "b"
    victim = f"timeout 3 {BUSY}; true"
    part = ["--trace-after", "0.7", "--trace-for", "0.4", "--load", LOAD, "--victim", victim]
    recorder(*QUIET, "--tool", tool, *part, name=bundle)
    manifest = manifest_of(bundle)
    window, run = manifest["window"], manifest["victim"]
    assert run["start_ns"] + 0.6e9 < window["start_ns"] < window["end_ns"] < run["end_ns"]
    assert manifest["duration_s"] == pytest.approx(
        (window["end_ns"] - window["start_ns"]) / 1e9, abs=1e-6
    )
    assert manifest["duration_s"] >= 0.4
    assert run["wall_s"] > manifest["duration_s"] + 0.7
    capture = open_capture(bundle)
    # Switching on takes a moment, on every CPU.
    assert capture.info["duration_ns"] / 1e9 == pytest.approx(manifest["duration_s"], abs=0.3)
    timeline = capture.victim_timeline()
    assert run["start_ns"] <= timeline.summary["start_ns"]
    assert timeline.duration_ns <= window["end_ns"] - window["start_ns"] + 1000
    # The counters were read around it, so that it is known whether it is complete.
    compared = [row for row in manifest["completeness"]["rows"] if row["what"] == "softirq"]
    assert compared
    assert all(row["counted"] > 0 for row in compared)
    for side in ("before", "after"):
        stamps = (bundle / side / "stamp").read_text().splitlines()
        (softirqs,) = (line.split() for line in stamps if line.startswith("softirqs "))
        assert window["start_ns"] <= int(softirqs[1]) <= int(softirqs[2]) <= window["end_ns"]
        assert {"stat", "net_dev"} <= {line.split()[0] for line in stamps}
    assert lasting_processes(MARK) == []


def test_without_a_victim_a_load_that_is_over_ends_it(tmp_path: Path, recorder: Recorder) -> None:
    part = ["--trace-after", "0.1", "--trace-for", "0.2", "--duration", "30"]
    load = "sleep 2; echo over"
    recorder(*SHORT, *part, "--load", load)
    manifest = manifest_of(tmp_path / "b")
    assert 0.2 <= manifest["duration_s"] < 29
    assert (tmp_path / "b" / "load.txt").read_text() == "over\n"
    ran = manifest["load"]
    assert ran["start_ns"] < manifest["window"]["start_ns"]
    assert ran["end_ns"] - ran["start_ns"] >= 2 * 10**9


def test_a_run_that_is_over_first_is_none(tmp_path: Path, recorder: Recorder) -> None:
    part = ["--trace-after", "20", "--trace-for", "1", "--victim", "sleep 0.2"]
    done = recorder(*SHORT, *part, status=1)
    assert "--trace-after 20" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_a_trace_that_outlasts_the_run_ends_with_it(tmp_path: Path, recorder: Recorder) -> None:
    part = ["--trace-for", "30", "--duration", "40", "--victim", "sleep 2"]
    recorder(*SHORT, *part)
    manifest = manifest_of(tmp_path / "b")
    assert any("30 s" in note for note in manifest["notes"])
    assert manifest["duration_s"] < 29


def test_a_perf_that_cannot_begin_later_is_not_taken(tmp_path: Path, recorder: Recorder) -> None:
    without = path_without(tmp_path / "bin", "perf", "trace-cmd")
    path = stub(tmp_path / "stub", "perf", "exit 1").partition(":")[0] + f":{without}"
    options = ["--trace-for", "0.1", "--duration", "3"]
    recorder(*QUIET, *options, path=path, env=preferred("perf", tmp_path / "root"))
    manifest = manifest_of(tmp_path / "b")
    assert manifest["tool"] == "tracefs"
    assert "this perf" in " ".join(manifest["notes"])

# netcost-record --repeat: an experiment of recordings, with and without the load in turns. And
# --trace-for: a part of the run is traced.

import os
import signal
import time
from pathlib import Path

import pytest

from netcost_analysis import compare, open_capture, open_experiment
from support.kit.record import (
    MARK,
    SHORT,
    Recorder,
    by_tool,
    commands_with,
    lasting_processes,
    manifest_of,
    path_without,
    preferred,
    recording,
    stub,
)
from support.outputs import OUTPUTS

pytestmark = pytest.mark.live


TEXTS = {path.stem: path.read_text() for path in OUTPUTS}

LOAD = f"echo it\\'s $LC_ALL; while :; do sleep 0.02; done; : {MARK}"


def test_base_and_load_take_turns(tmp_path: Path, recorder: Recorder) -> None:
    victim = "sleep 0.2; echo 'a  \"b\"' $LC_ALL"
    options = ["--repeat", "2", "--alternate", "--victim", victim, "--load", LOAD, "--note", "o'k"]
    recorder(*SHORT, *options, name="an experiment", env={"LC_ALL": "C.UTF-8"}, cwd=tmp_path)
    series = open_experiment(tmp_path / "an experiment")
    assert series.experiment.experiment == "repeat"
    assert "--repeat 2 --alternate" in (series.experiment.command or "")
    steps = series.steps
    # In the second repeat the load comes first: what drifts meets both alike.
    assert list(steps["bundle"]) == ["base-1", "load-1", "load-2", "base-2"]
    assert list(steps["load"]) == ["no", "yes", "yes", "no"]
    assert list(steps["repeat"]) == [1, 1, 2, 2]
    for folder, load in zip(steps["bundle"], steps["load"], strict=True):
        manifest = manifest_of(series.path / folder)
        assert (manifest["load"] is not None) == (load == "yes")
        assert manifest["victim"]["command"] == victim
        assert manifest["notes"][:2] == ["o'k", f"repeat {folder[-1]} of 2"]
        assert (series.path / folder / "victim.txt").read_text() == 'a  "b" C.UTF-8\n'
        assert series.capture(folder).event_count > 0
    assert (series.path / "load-1" / "load.txt").read_text().splitlines()[0] == "it's C.UTF-8"
    assert lasting_processes(MARK) == []


def test_without_a_load_it_is_the_same_again(tmp_path: Path, recorder: Recorder) -> None:
    recorder(*SHORT, "--repeat", "2", "--duration", "0.2", name="e")
    assert list(open_experiment(tmp_path / "e").steps["bundle"]) == ["run-1", "run-2"]


def test_one_that_fails_leaves_those_before(tmp_path: Path, recorder: Recorder) -> None:
    victim = f"[ ! -e '{tmp_path}/once' ] || exit 5; : >'{tmp_path}/once'; sleep 0.2"
    options = (*SHORT, "--repeat", "3", "--victim", victim)
    assert "exit status 5" in recorder(*options, name="e", status=1).stderr
    series = open_experiment(tmp_path / "e")
    assert list(series.steps["bundle"]) == ["run-1"]
    assert len(series.experiment.notes) == 1
    assert "repeat 2" in series.experiment.notes[0]
    assert not (tmp_path / "e" / "run-2").exists()
    recorder(*options, name="none", status=1)
    assert not list(tmp_path.glob("none*"))
    (tmp_path / "once").unlink()


# Killed, its trace instance has no owner until it is removed: others who record would see it.
@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, pytest.param(signal.SIGKILL, marks=(pytest.mark.alone, pytest.mark.slow))],
)
def test_a_signal_keeps_what_is_recorded(
    number: signal.Signals, tmp_path: Path, recorder: Recorder
) -> None:
    victim = f"sleep 0.2; [ ! -e '{tmp_path}/e.partial/run-1' ] || sleep 60; : {MARK}"
    process = recorder.begun(*SHORT, "--repeat", "3", "--victim", victim, name="e")
    recording(process)
    time.sleep(0.5)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == (128 + number if number != signal.SIGKILL else -number)
    deadline = time.monotonic() + 40
    folder = Path(recorder.environment["TMPDIR"])
    while (commands_with(str(tmp_path)) or any(folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert lasting_processes(MARK) == []
    if number == signal.SIGKILL:
        assert manifest_of(tmp_path / "e.partial" / "run-1")["tool"] == "tracefs"
        assert not (tmp_path / "e.partial" / "run-2").exists()
    else:
        assert list(open_experiment(tmp_path / "e").steps["bundle"]) == ["run-1"]


def test_two_commands_take_turns(tmp_path: Path, recorder: Recorder) -> None:
    # A bare number of its own, and a blank in each.
    sides = ("sleep 0.2; echo 'a  1'", "sleep 0.2; echo b 2; : --load x")
    options = ["--repeat", "2", "--note", "--alternate", "--alternate", *sides, "--no-count"]
    recorder(*SHORT, *options, "--baseline", name="e")
    series = open_experiment(tmp_path / "e")
    steps = series.steps
    assert list(steps["bundle"]) == ["a-1", "b-1", "b-2", "a-2"]
    assert list(steps["side"]) == ["a", "b", "b", "a"]
    assert "load" not in steps
    for folder, side in zip(steps["bundle"], steps["side"], strict=True):
        manifest = manifest_of(series.path / folder)
        assert manifest["victim"]["command"] == sides["ab".index(side)]
        assert (manifest["load"], manifest["baseline"]) == (None, "baseline/")
        assert manifest["notes"][:2] == ["--alternate", f"repeat {folder[-1]} of 2"]
        assert (series.path / folder / "victim.txt").read_text()[0] == side
    # As it is, without a word of which side is which.
    compared = compare(series.path)
    assert [runs.labels["side"] for runs in compared.sides.values()] == [("a",), ("b",)]
    found = compared.ask.comparison.comparability().frame["code"]
    assert not {"order", "order_unknown", "drift"} & set(found)


def test_what_a_victim_did_is_asked_before_and_after(tmp_path: Path, recorder: Recorder) -> None:
    done = tmp_path / "done"
    victim = f"echo 40 >'{done}'; sleep 0.2; echo 7 >\"$NETCOST_FILES/more\""
    # What the victim has left counts as well.
    work = (
        f"cat '{done}' \"$NETCOST_FILES/more\" 2>/dev/null | awk '{{ n += $1 }} END {{ print n }}'"
    )
    done.write_text("30\n")
    recorder(*SHORT, "--victim", victim, "--work", work, "--baseline", name="b")
    capture = open_capture(tmp_path / "b")
    assert (capture.bundle.text("before/work"), capture.bundle.text("after/work")) == (
        "40\n",
        "47\n",
    )
    assert (capture.bundle.baseline and capture.bundle.baseline.text("after/work")) == "47\n"
    assert manifest_of(tmp_path / "b")["victim"]["work"] == work
    assert capture.bundle.work_rates["work", 0] > 0
    told = TEXTS["wrk"].replace("'", "'\\''")
    recorder(*SHORT, "--victim", "sleep 0.2", "--work", f"printf '%s\n' '{told}'", name="c")
    bundle = open_capture(tmp_path / "c").bundle
    [wrk] = bundle.program_work
    assert wrk.figures["requests_per_s"] == 965.99
    assert bundle.work_rates == {}
    recorder(*SHORT, "--victim", "sleep 0.2", "--work", "false", name="d")
    assert "--work printed" in " ".join(manifest_of(tmp_path / "d")["notes"])


# netcost-record --trace-for: a part of the run is traced, the rest is of the whole run.


QUIET = ("--profile", "light", "--sidecars", "none", "--interval", "0")
ENDLESS = f"while :; do sleep 0.02; done; : {MARK}"
BUSY = "sh -c 'while :; do :; done'"


@pytest.mark.measures
@by_tool("perf", "tracefs")
def test_a_part_of_the_victims_run_is_traced(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    bundle = tmp_path / "b"
    victim = f"timeout 3 {BUSY}; true"
    part = ["--trace-after", "0.7", "--trace-for", "0.4", "--load", ENDLESS, "--victim", victim]
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

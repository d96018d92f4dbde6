# netcost-record --until: a rolling recording, kept when the condition holds, at a signal, or at
# the end.

import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from netcost_analysis import Capture, open_capture
from netcost_analysis.questions.completeness.completeness import computed
from support.host import ROOT
from support.kit.record import (
    MARK,
    SHORT,
    Recorder,
    by_tool,
    lasting_processes,
    manifest_of,
)
from support.kit.service import service
from support.native_tables import Answer, assert_conserved

CPU = 1
# Some 100,000 softirqs a second on one CPU, for longer than any of these recordings.
LOAD = f"python3 {ROOT / 'benchmarks' / 'flood.py'} 60 {CPU}"
LIGHT = ("--profile", "light")
UNTIL = {"condition", "command", "held", "ended_by", "at_ns", "value", "cpu", "after_s"}
UNTIL |= {"overwritten_events", "begins"}

pytestmark = pytest.mark.live


def until_of(bundle: Path) -> dict[str, Any]:
    found = manifest_of(bundle)["until"]
    assert isinstance(found, dict)
    assert set(found) == UNTIL
    return found


def assert_rolled(bundle: Path) -> Capture:
    """A CPU whose ring was full: the time before is unknown, and that is no loss."""
    assert_conserved(Answer(next(bundle.glob("trace.*"))))
    capture, manifest = open_capture(bundle), manifest_of(bundle)
    begins = {row["cpu"]: row["start_ns"] for row in manifest["until"]["begins"]}
    (gap,) = (row for row in capture.info["coverage"] if row["cpu"] == CPU)
    assert gap["why"] == "overwritten"
    frame = capture.timeline().coverage
    # A ring may begin within a softirq.
    whys = set(frame["why"][frame["cpu"] == CPU])
    assert "overwritten" in whys
    assert not any("lost" in why for why in whys)
    assert (capture.info["lost_events"], capture.info["lost_unknown"]) == (0, 0)
    if manifest["tool"] == "tracefs":
        [lost] = (one["overrun"] for one in manifest["losses"] if one["cpu"] == CPU)
        # The kernel writes the number into the page where that has room for it.
        assert gap["lost"] in (0, lost)
        # Without the manifest nobody knows that it was meant.
        bare = open_capture(bundle / manifest["trace"]).info
        assert bare["lost_events"] == sum(row["lost"] for row in capture.info["coverage"])
        assert bare["lost_events"] > 0 or bare["lost_unknown"] > 0
        assert {row["why"] for row in bare["coverage"]} == {"events were lost"}
    assert gap["start_ns"] == capture.start_ns < gap["end_ns"] <= begins[CPU]
    assert begins[CPU] - gap["end_ns"] < 50_000_000
    assert manifest["lost_events"] == 0
    assert "different times" in manifest["notes"][-1]
    for verdict in (manifest["completeness"]["verdict"], computed(capture).verdict.verdict):
        assert "lost" not in verdict
    return capture


@pytest.mark.measures
@by_tool("perf", "tracefs")
def test_what_was_there_when_a_command_succeeds_is_kept(
    tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    bundle, flag = tmp_path / "b", tmp_path / "flag"
    condition = f"test -e {flag} || {{ touch {flag}; false; }}"
    options = ["--tool", tool, "--buffer", "1024", "--load", LOAD, "--after", "0.2"]
    done = recorder(*LIGHT, *options, "--until", condition, name=bundle)
    found, window = until_of(bundle), manifest_of(bundle)["window"]
    assert (found["condition"], found["command"]) == (None, condition)
    assert (found["held"], found["ended_by"]) == (True, "condition")
    assert (found["value"], found["cpu"], found["after_s"]) == (None, None, 0.2)
    assert found["at_ns"] <= window["start_ns"] < window["end_ns"] - 100_000_000
    capture = assert_rolled(bundle)
    assert capture.info["end_ns"] >= window["end_ns"] - 100_000_000
    assert (found["overwritten_events"] or 0) > 100_000 or tool == "perf"
    assert "status 0" in done.stderr
    assert "verdict: " in done.stdout
    said = (bundle / "summary.txt").read_text()
    assert re.search("^until .*status 0$", said, re.MULTILINE)
    assert len(said.splitlines()) <= 25
    # How far the trace reaches back, and over what the counters are, are two times.
    # A busy ring may begin behind the end of the counters.
    back = [max(window["end_ns"] - row["start_ns"], 0) / 1e9 for row in found["begins"]]
    ends = [min(back), max(back)] if len(back) > 1 else back
    [reach] = re.findall(r"^recorded .*; the rings reach back (.*)$", said, re.MULTILINE)
    told = [float(one) for one in re.findall(r"([\d.]+) s", reach)]
    assert told == pytest.approx(ends, abs=0.006)
    [counters] = re.findall(r"^counters   of the last ([\d.]+) s$", said, re.MULTILINE)
    assert float(counters) == pytest.approx((window["end_ns"] - window["start_ns"]) / 1e9, abs=1e-5)
    # Of less than the counters' time nothing can be compared, and what can is compared.
    compared = {row["cpu"] for row in manifest_of(bundle)["completeness"]["rows"]}
    begins = {row["cpu"]: row["start_ns"] for row in found["begins"]}
    assert compared <= {cpu for cpu in begins if begins[cpu] <= window["start_ns"] + 100_000_000}


@pytest.mark.measures
@by_tool("tracefs", "perf")
def test_rings_that_reach_back_are_compared_with_the_counters(
    tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    bundle = tmp_path / "b"
    options = ["--tool", tool, "--load", LOAD, "--after", "0", "--until", "softirq>3%"]
    done = recorder(*LIGHT, *options, name=bundle)
    found = until_of(bundle)
    assert found["held"] is True
    assert found["cpu"] == CPU
    assert 3 < found["value"] <= 100
    assert f"{found['value']} % of CPU {CPU}" in done.stderr
    verdict = manifest_of(bundle)["completeness"]
    rows = {(row["name"], row["cpu"]): row for row in verdict["rows"]}
    assert rows["NET_RX", CPU]["counted"] > 100
    ours = {(row.counter, row.cpu): row for row in computed(open_capture(bundle)).rows}
    for key, row in rows.items():
        assert (row["counted"], row["recorded"]) == ours[key][3:5]
    if tool == "tracefs":
        assert verdict["state"] == "complete"


@pytest.mark.measures
def test_one_that_never_holds_ends_with_the_duration(tmp_path: Path, recorder: Recorder) -> None:
    options = ["--duration", "1.2", "--after", "0", "--until", "squeezed>4000000000"]
    recorder(*SHORT, *options)
    found, manifest = until_of(tmp_path / "b"), manifest_of(tmp_path / "b")
    assert found["condition"] == "squeezed>4000000000"
    assert (found["held"], found["ended_by"], found["value"]) == (False, "duration", None)
    assert "1.2 s" in manifest["notes"][0]
    assert "lost" not in manifest["completeness"]["verdict"]
    # What is ended behind it does not lengthen it.
    assert manifest["duration_s"] < 1
    assert open_capture(tmp_path / "b").info["duration_ns"] > 1.1e9


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGUSR1])
def test_a_signal_keeps_what_is_there(
    sent: signal.Signals, tmp_path: Path, recorder: Recorder
) -> None:
    bundle = tmp_path / "b"
    options = ("--until", f"false {MARK}", "--after", "0.1")
    process = recorder.begun(*SHORT, *options, said="rolling until")
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found = until_of(bundle)
    assert (found["held"], found["ended_by"]) == (False, "signal")
    assert "signal" in manifest_of(bundle)["notes"][0]
    assert "verdict: " in out
    assert open_capture(bundle).event_count > 0
    assert lasting_processes(MARK) == []


@pytest.mark.measures
def test_a_service_that_runs_already(tmp_path: Path, recorder: Recorder) -> None:
    bundle = tmp_path / "b"
    with service(tmp_path, CPU) as one:
        # Once it has done more than it had when the recording began.
        condition = f"test $({one.work}) -gt {one.done()}"
        options = ["--attach", one.pid, "--after", "0.5", "--until", condition]
        recorder(*SHORT, *options, name=bundle)
        assert one.process.poll() is None
    found, manifest = until_of(bundle), manifest_of(bundle)
    assert (found["held"], found["ended_by"]) == (True, "condition")
    window, victim = manifest["window"], manifest["victim"]
    assert (victim["pid"], victim["attached"]["ended"]) == (one.pid, False)
    assert window["start_ns"] <= victim["start_ns"] < victim["end_ns"] <= window["end_ns"]
    # Its account is of the window, its ledger of all that the rings have.
    capture = open_capture(bundle)
    assert 0 < victim["user_s"] + victim["system_s"] < 2 * victim["wall_s"] + 0.1
    [_] = {row["why"] for row in capture.info["coverage"]} or {"nothing was overwritten"}
    assert capture.info["start_ns"] < window["start_ns"]
    on_cpu = capture.timeline(victim=f"process:{one.pid}").owned_by("tid")
    assert sum(row.ns for row in on_cpu if row.of_task and row.comm.startswith("svc")) > 1e8


def test_a_service_that_ends_is_an_incident(tmp_path: Path, recorder: Recorder) -> None:
    bundle = tmp_path / "b"
    with service(tmp_path, CPU) as one:
        options = ("--attach", one.pid, "--until", "squeezed>4000000000")
        process = recorder.begun(*SHORT, *options, said="rolling until")
        children = one.children()
        one.process.kill()
        one.process.wait()
        subprocess.run(["kill", "-KILL", *map(str, children)], check=True)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    found, manifest = until_of(bundle), manifest_of(bundle)
    assert (found["held"], found["ended_by"]) == (False, "service")
    assert manifest["victim"]["attached"]["ended"] is True
    assert len(manifest["notes"]) >= 2
    # What it did before it ended is in the rings.
    owners = open_capture(bundle).timeline().owned_by("tid")
    assert any(row.of_task and row.comm.startswith("svc") and row.ns > 0 for row in owners)


def test_it_looks_at_ksoftirqd(tmp_path: Path, recorder: Recorder) -> None:
    options = ["--duration", "1.5", "--after", "0", "--until", "ksoftirqd>99.9%"]
    recorder(*SHORT, *options)
    assert until_of(tmp_path / "b")["ended_by"] == "duration"


@pytest.mark.measures
def test_the_highest_is_said_where_the_condition_never_held(
    tmp_path: Path, recorder: Recorder
) -> None:
    options = ["--until", "softirq>99%", "--duration", "3", "--load", LOAD, "--buffer", "512"]
    done = recorder(*SHORT, *options)
    [said] = (line for line in done.stderr.splitlines() if "never held" in line)
    [share] = re.findall(rf"the highest was softirq ([\d.]+) % of CPU {CPU}$", said)
    assert 5 < float(share) < 99

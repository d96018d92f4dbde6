# netcost-record before it records, while the disk fills, and when it measures its own cost: the
# verdict, what it refuses, locks that name their owner, and --calibrate.

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from netcost_analysis import open_capture
from support.host import require_tool
from support.kit.record import (
    MARK,
    RECORD,
    TRACING,
    Recorder,
    await_free_buffer,
    ended,
    manifest_of,
    small_disk,
    stub,
    verdict,
    with_trace_cmd,
)

SPIN = "python3 -c 'import time\nwhile time.process_time() < 0.4: pass'"


@pytest.mark.measures
def test_a_verdict_without_recording(tmp_path: Path, recorder: Recorder) -> None:
    done = ended([RECORD, "--check"], env=recorder.environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    table, go, run = done.stdout.partition("verdict: go\n")
    assert go
    assert run == f"to record: {RECORD} -o {os.uname()[1]}.netcost\n"
    said = verdict(table)
    assert set(said) == {
        *("permissions", "tool", "tracepoints", "clock", "events", "buffer", "cost", "disk")
    }
    assert all(state in ("ok", "warn") for state, _ in said.values())
    assert "profile stolen" in said["tracepoints"][1]
    assert re.search(r"\d+/s", said["events"][1])
    assert re.search(r"\d+ ns an event", said["cost"][1])
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.measures
def test_the_rate_that_is_expected(tmp_path: Path, recorder: Recorder) -> None:
    # A load that runs already: some thousand switches a second, which no event hides.
    script = "import time\nwhile True: time.sleep(0.0002)"
    with subprocess.Popen(["python3", "-c", script]) as busy:
        try:
            time.sleep(0.3)
            done = recorder("--tool", "tracefs", "--duration", "1", "--sidecars", "none")
        finally:
            busy.kill()
    manifest = manifest_of(tmp_path / "b")
    recorded = open_capture(tmp_path / "b").event_count / manifest["duration_s"]
    # What was asked for lies within what was recorded, and is the window by default.
    begin, end = (manifest["asked"][name] for name in ("start_ns", "end_ns"))
    window = manifest["window"]
    assert window["start_ns"] < begin <= end - 10**9 < window["end_ns"]
    assert open_capture(tmp_path / "b").timeline(window="auto").duration_ns == end - begin
    assert re.search(r"\d+ events/s", done.stderr)
    # An estimate from counters of the moment before; other programs come and go meanwhile.
    assert recorded / 6 < manifest["expected_events_per_s"] < recorded * 6
    said = verdict((tmp_path / "b" / "preflight.txt").read_text())
    assert f"about {manifest['expected_events_per_s']}/s" in said["events"][1]


@pytest.mark.live
def test_a_disk_without_room_is_refused(tmp_path: Path, recorder: Recorder) -> None:
    with small_disk(tmp_path, "16m") as disk:
        for options in ((), ("--check", "--tool", "tracefs")):
            done = recorder(*options, name=disk / "b", status=1)
            assert "256 MiB" in done.stderr + done.stdout
            assert list(disk.iterdir()) == []
        assert done.stdout.endswith("verdict: no\n")
        done = recorder("--min-free", "12345678", name=disk / "b", status=1, lines=1)
        assert "12345678 MiB" in done.stderr
        # A long recording does not fit, whatever is to stay free.
        long = ("--duration", "900000", "--min-free", "1")
        recorder(*long, name=disk / "b", status=1, lines=1)


@pytest.mark.live
def test_a_full_temporary_folder_is_named(tmp_path: Path, recorder: Recorder) -> None:
    with small_disk(tmp_path, "1m") as disk:
        fill = f"dd if=/dev/zero of={disk}/full bs=64k"
        assert subprocess.run(fill.split(), capture_output=True).returncode == 1
        done = recorder("--cpus", "0", status=1, lines=1, env={"TMPDIR": str(disk)})
        assert f"cannot write to {disk}/netcost-record." in done.stderr
        assert "TMPDIR" in done.stderr
        assert [path.name for path in disk.iterdir()] == ["full"]
    done = recorder("--cpus", "0", status=1, lines=1, env={"TMPDIR": f"{disk}/none"})
    assert f"{disk}/none" in done.stderr
    assert not (tmp_path / "b").exists()


@pytest.mark.live
@pytest.mark.parametrize("victim", [True, False])
def test_a_disk_that_fills_ends_the_recording(
    victim: bool, tmp_path: Path, recorder: Recorder
) -> None:
    # The room has to suffice at the rate of the whole host, whatever else runs on it.
    with small_disk(tmp_path, "600m") as disk:
        options = ["--tool", "tracefs", "--profile", "light", "--min-free", "300"]
        options += ["--sidecars", "none", "--interval", "0", "--duration", "20"]
        # What fills it is the load, and not the recording.
        fill = f'dd if=/dev/zero of="$NETCOST_FILES/big" bs=1M count=330; sleep 60; : {MARK}'
        options += ["--victim", f"sleep 60; : {MARK}"] if victim else []
        recorder(*options, "--load", fill, name=disk / "b", status=3)
        manifest = manifest_of(disk / "b")
        assert manifest["cut_short"] is True
        assert manifest["duration_s"] < 19
        assert open_capture(disk / "b").event_count > 0


@pytest.mark.measures
def test_what_speaks_against_it_is_said(tmp_path: Path, recorder: Recorder) -> None:
    options = ["--tool", "tracefs", "--buffer", "4", "--duration", "0.3", "--sidecars", "none"]
    done = recorder(*options, "--load", "while :; do /bin/true; done")
    said = verdict((tmp_path / "b" / "preflight.txt").read_text())
    assert ("netcost-record: buffer: " in done.stderr) == (said["buffer"][0] == "warn")
    assert "before the load" in said["events"][1]


@pytest.mark.live
def test_a_lock_names_its_owner(tmp_path: Path, recorder: Recorder) -> None:
    options = ("--tool", "tracefs", "--duration", "20")
    first = recorder.begun(*options)
    try:
        second = recorder(*options, status=1, lines=1)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        assert f"exists: {user}" in second.stderr
        assert f"process {first.pid}, since 2" in second.stderr
    finally:
        first.terminate()
        first.communicate(timeout=60)
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.live
@with_trace_cmd
def test_the_kernels_buffer_has_one_owner(recorder: Recorder) -> None:
    lock = Path("/run/netcost-trace-buffer.lock")
    began = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]
    options = ("--tool", "trace-cmd", "--duration", "0.3", "--sidecars", "none")
    lock.mkdir()
    try:
        (lock / "owner").write_text(f"{os.getpid()}\t{began}\tgreg\tnoon\ta test\n")
        done = recorder(*options, status=1)
        assert f"(greg, process {os.getpid()}," in done.stderr
        # Its owner is gone, and another process has the number.
        (lock / "owner").write_text(f"{os.getpid()}\t1\tgreg\tnoon\ta test\n")
        await_free_buffer()
        recorder(*options)
    finally:
        subprocess.run(["rm", "-rf", lock], check=True)
    assert "nop" in (TRACING / "current_tracer").read_text()


@pytest.mark.live
def test_calibration_is_four_runs(tmp_path: Path, recorder: Recorder) -> None:
    load = f"echo load {MARK}; while :; do sleep 0.01; done"
    options = ["--tool", "tracefs", "--profile", "light", "--sidecars", "none", "--interval", "0.2"]
    options += ["--calibrate", "--victim", SPIN, "--victim-cpu", "0", "--load", load]
    recorder(*options)
    bundle = tmp_path / "b"
    manifest = manifest_of(bundle)
    runs = manifest["calibration"]
    assert set(runs) == {"idle", "idle_traced", "load", "load_traced"}
    for name, folder in runs.items():
        one = manifest_of(bundle / folder)
        assert one["victim"]["command"] == SPIN
        # Only what is traced has a trace, and only what is loaded has the load.
        traced = (bundle / folder / "trace.tracefs").is_dir()
        assert traced == ("traced" in name) == ("trace" in one)
        loaded = (bundle / folder / "load.txt").exists()
        assert loaded == name.startswith("load") == (one["load"] is not None)
        assert traced == ("completeness" in one)
        assert not traced or one["completeness"]["rows"]
        assert (bundle / folder / "samples" / "stat").is_file()
        assert (bundle / folder / "before" / "stamp").is_file()
    order = [manifest_of(bundle / runs[name])["victim"]["start_ns"] for name in runs]
    assert order == sorted(order)
    assert manifest["baseline"] == runs["idle"] == "baseline/"
    for name in ("idle_traced", "load_traced"):
        assert open_capture(bundle / runs[name]).event_count > 0


@pytest.mark.live
def test_a_failure_in_calibration_leaves_nothing(tmp_path: Path, recorder: Recorder) -> None:
    # The third run of the victim fails: no bundle that lacks it.
    count = tmp_path / "tmp" / "count"
    victim = f'echo x >>{count}; [ "$(wc -l <{count})" -lt 3 ]'
    options = ["--tool", "tracefs", "--profile", "light", "--sidecars", "none", "--interval", "0"]
    options += ["--calibrate", "--victim", victim, "--load", f"sleep 60; : {MARK}"]
    done = recorder(*options, status=1)
    assert "exit status 1" in done.stderr
    assert count.read_text() == "x\n" * 3
    count.unlink()
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@pytest.mark.live
def test_who_is_not_root_is_told(tmp_path: Path, recorder: Recorder) -> None:
    script = f'case "$*" in -u) echo 1000 ;; *) exec {require_tool("id")} "$@" ;; esac'
    path = stub(tmp_path / "bin", "id", script)
    done = recorder(status=1, lines=1, path=path)
    assert "user 1000" in done.stderr
    assert "recording takes root" in done.stderr
    assert not (tmp_path / "b.partial").exists()


# A disk too small for the recording: it ends in time, and what is recorded is a bundle.


# A load has to fill it.

# Some ten thousand switches a second each, in two shells that do nothing else: one took half of the
# time that there is.
BUSY = f"for _ in 1 2; do while :; do /bin/true; done & done; wait; : {MARK}"


SLOW = [pytest.param(tool, 12, marks=pytest.mark.slow) for tool in ("perf", "trace-cmd")]


@pytest.mark.measures
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

# netcost-record --check: a trial with the very tool, a tool that fails, hangs, or misses, tracefs
# that cannot be written, and a user who is not root.

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.host import missing, require_tool
from support.kit.record import (
    RECORD,
    TRACING,
    Recorder,
    by_tool,
    ended,
    require_recorder,
    started,
    stub,
    verdict,
)
from support.tracedat.live import load

pytestmark = pytest.mark.live


def checked(
    recorder: Recorder, *options: object, status: int = 0, **env: str
) -> dict[str, tuple[str, str]]:
    done = ended([RECORD, "--check", *options], env=recorder.environment | env)
    assert (done.returncode, done.stderr) == (status, "")
    table, _, run = done.stdout.partition(f"verdict: {'go' if status == 0 else 'no'}\n")
    assert run.startswith(f"to record: {RECORD} -o ") == (status == 0)
    assert (run == "") == (status != 0)
    return verdict(table)


# A trial has 20 s to end, on a busy host, too.
@pytest.mark.measures
@by_tool("tracefs", "perf")
def test_the_tool_that_is_named_is_tried_alone(tool: str, recorder: Recorder) -> None:
    state, said = checked(recorder, "--tool", tool)["tool"]
    assert state in ("ok", "warn")
    assert said.startswith(f"{tool} ")
    assert "0.2 s" in said
    others = {"perf", "trace-cmd", "tracefs"} - {tool}
    assert not any(other in said for other in others)


@pytest.mark.measures
def test_the_options_of_the_recording_are_the_trials(tmp_path: Path, recorder: Recorder) -> None:
    require_recorder("perf")
    script = f'echo "$*" >>{tmp_path}/calls\nexec {require_tool("perf")} "$@"'
    path = stub(tmp_path / "bin", "perf", script)
    options = ["--tool", "perf", "--cpus", "0", "--buffer", "512", "--profile", "light"]
    checked(recorder, *options, PATH=path)
    calls = (tmp_path / "calls").read_text().splitlines()
    trial = [call for call in calls if "record -C 0 " in call and "napi:napi_poll" in call]
    assert len(trial) == 1
    assert " -m 512K " in trial[0]
    assert "sched_waking" not in trial[0]


@pytest.mark.measures
def test_a_perf_that_always_fails(tmp_path: Path, recorder: Recorder) -> None:
    path = stub(tmp_path / "bin", "perf", 'echo "no perf for this kernel" >&2; exit 2')
    state, said = checked(recorder, "--tool", "perf", status=1, PATH=path)["tool"]
    assert state == "no"
    assert "no perf" in said


# The next recording takes what was found, where no tool was named.
@pytest.mark.measures
def test_what_misses_least_is_kept(tmp_path: Path, recorder: Recorder) -> None:
    require_recorder("perf")
    (tmp_path / "root" / "run").mkdir(parents=True)
    root = str(tmp_path / "root")
    kept = tmp_path / "root" / "run" / "netcost-record.tool"
    checked(recorder, "--tool", "perf", NETCOST_ROOT=root)
    assert not kept.exists()
    _, said = checked(recorder, NETCOST_ROOT=root)["tool"]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert kept.read_text() == f"{boot} {said.split()[0].rstrip(':')}\n"


# No load on any CPU, for it may be isolated: what the host does by itself is compared.
def test_a_check_starts_nothing_but_the_recorder(tmp_path: Path, recorder: Recorder) -> None:
    pinned = tmp_path / "pinned"
    script = f'echo "$*" >>{pinned}\nexec {require_tool("taskset")} "$@"'
    path = stub(tmp_path / "bin", "taskset", script)
    done = ended(
        [RECORD, "--check", "--tool", "tracefs"], env=recorder.environment | {"PATH": path}
    )
    # 1: a busy host's recorder misses events.
    assert (done.returncode in {0, 1}, done.stderr) == (True, "")
    # What CPUs there are is asked with it.
    assert all(" sed " in line for line in pinned.read_text().splitlines())


# Does nothing, and does not mind being told to end; and one that lets go when it is told.
@pytest.mark.parametrize("deaf", ["trap '' TERM; ", pytest.param("", marks=pytest.mark.slow)])
def test_a_perf_that_hangs(deaf: str, tmp_path: Path, recorder: Recorder) -> None:
    path = stub(tmp_path / "bin", "perf", f"{deaf}while :; do sleep 1; done; : {tmp_path}")
    state, said = checked(recorder, "--tool", "perf", status=1, PATH=path)["tool"]
    assert state == "no"
    assert "20 s" in said


@pytest.mark.slow
@pytest.mark.measures
def test_a_perf_that_misses_is_warned_of(tmp_path: Path, recorder: Recorder) -> None:
    require_recorder("perf")
    # As perf is where it sees nothing of what a CPU does.
    script = (
        f'case "$1" in script) {require_tool("perf")} "$@" | grep -v softirq_entry; exit ;; esac'
    )
    path = stub(tmp_path / "bin", "perf", f'{script}\nexec {require_tool("perf")} "$@"')
    # Of the network's softirqs, which come first of what is named, wherever else there is more.
    with subprocess.Popen(load(300)) as datagrams:
        try:
            state, said = checked(recorder, "--tool", "perf", PATH=path)["tool"]
            assert state == "warn"
            assert "100 % of" in said
        finally:
            datagrams.kill()


# Twenty seconds without a word look like a hang. In a log they would be noise.
@pytest.mark.measures
def test_who_watches_is_told_what_it_is_at(recorder: Recorder) -> None:
    ours, its = os.openpty()
    command = [RECORD, "--check", "--tool", "tracefs"]
    pipes = {"stdout": subprocess.PIPE, "stderr": its}
    with subprocess.Popen(command, env=recorder.environment, **pipes) as process:
        os.close(its)
        assert b"verdict: go" in process.stdout.read()
    said = os.read(ours, 4096).decode()
    os.close(ours)
    assert "trying tracefs for 0.2 s" in said


def test_tracefs_that_cannot_be_written(tmp_path: Path, recorder: Recorder) -> None:
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        missing("needs a mount namespace of its own")
    script = (
        f"mount -o bind {TRACING} {TRACING} && mount -o remount,bind,ro {TRACING} || exit 9\n"
        f'exec "{RECORD}" --check --tool tracefs\n'
    )
    (tmp_path / "script").write_text(script)
    done = ended(["unshare", "-m", "sh", tmp_path / "script"], env=recorder.environment)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.endswith("verdict: no\n")
    state, said = verdict(done.stdout)["tool"]
    assert state == "no"
    assert "Read-only file system" in said


def test_an_ordinary_user_gets_the_table_and_the_commands(recorder: Recorder) -> None:
    setpriv = require_tool("setpriv")
    root = {"permissions", "tool", "tracepoints", "clock", "events", "buffer", "cost", "disk"}
    # Other users do not get into the tests' own folders.
    with TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        kit = place / "capture"
        subprocess.run(["cp", "-r", RECORD.parent, kit], check=True)
        (place / "tmp").mkdir()
        (place / "tmp").chmod(0o777)
        for options in ([], ["--profile", "functions"], ["--profile", "stolen,counters"]):
            user = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]
            command = [*user, kit / "netcost-record", "--check", *options]
            env = {**recorder.environment, "TMPDIR": str(place / "tmp")}
            done = ended(command, env=env, cwd=place)
            assert (done.returncode, done.stderr) == (1, "")
            table, _, takes = done.stdout.partition("it takes root:")
            said = verdict(table)
            assert said["permissions"][0] == "no"
            assert "user 65534" in said["permissions"][1]
            assert "functions" in options or set(said) == root
            assert f"sudo {kit}/netcost-record" in takes
            assert "kernel.perf_event_paranoid=-1" in takes
            assert "remount,gid=65534,mode=750 /sys/kernel/tracing" in takes
            assert "CAP_PERFMON" in takes
            assert takes.endswith("verdict: no\n")
            assert list((place / "tmp").iterdir()) == []


def test_a_trial_that_is_interrupted_leaves_nothing(tmp_path: Path, recorder: Recorder) -> None:
    script = f": >{tmp_path}/began; sleep 60; : {tmp_path}"
    path = stub(tmp_path / "bin", "perf", script)
    command = [RECORD, "--check", "--tool", "perf"]
    process = started(command, env={**recorder.environment, "PATH": path})
    while not (tmp_path / "began").exists():
        assert process.poll() is None
    process.terminate()
    assert process.wait(timeout=60) == 143

# netcost-record ends in a whole bundle or in none, and nothing of it stays on the host, whichever
# tool records and whatever goes wrong. That it is killed: test_killed.py.

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.host import of_processes, require_tool
from support.kit.record import (
    MARK,
    RECORD,
    SHORT,
    TOOLS,
    TRACING,
    Recorder,
    commands_with,
    interrupted_mktemp,
    lasting_processes,
    manifest_of,
    small_disk,
    started,
    stub,
    with_trace_cmd,
)

pytestmark = pytest.mark.live


each_tool = pytest.mark.parametrize("tool", TOOLS)


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path, recorder: Recorder) -> None:
    (tmp_path / "b.partial").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("mine")
    for output in (tmp_path / "b", tmp_path / "no" / "b", tmp_path / "kept"):
        assert str(output) in recorder(*SHORT, name=output, status=1, lines=1).stderr
    assert (tmp_path / "b.partial").exists()
    assert (tmp_path / "kept" / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (["--victim", "echo out of luck; exit 3"], 3, "out of luck"),
        (["--victim", f"sleep 60.{MARK}", "--load", "exit 4"], 4, "the load"),
    ],
)
def test_a_failure_leaves_no_bundle(
    options: list[str], status: int, said: str, tmp_path: Path, recorder: Recorder
) -> None:
    done = recorder(*SHORT, *options, status=1)
    assert said in done.stderr
    assert f"exit status {status}" in done.stderr.splitlines()[-1]
    assert "is there room" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}
    assert lasting_processes(MARK) == []


@each_tool
def test_a_signal_while_it_records_undoes_everything(
    tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    victim = f"sleep 60 & sleep 60; : {MARK}"
    options = ("--tool", tool, "--profile", "light", "--victim", victim, "--load", victim)
    process = recorder.begun(*options)
    # Ctrl-C goes to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}
    assert lasting_processes(MARK) == []


def test_a_signal_as_the_first_folder_is_made_leaves_none(
    tmp_path: Path, recorder: Recorder
) -> None:
    path = stub(tmp_path / "bin", "mktemp", interrupted_mktemp())
    recorder("--check", status=128 + signal.SIGINT, path=path)
    assert not (tmp_path / "b").exists()


def test_a_closed_pipe_undoes_everything(tmp_path: Path, recorder: Recorder) -> None:
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--victim", f"sleep 60; : {MARK}"]
    process = started(
        command, env=recorder.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 128 + signal.SIGPIPE
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


@each_tool
def test_a_full_disk_leaves_no_bundle(tool: str, tmp_path: Path, recorder: Recorder) -> None:
    # The tracing files' descriptions alone take that much.
    size = {"perf": "400k", "trace-cmd": "6m", "tracefs": "1m"}[tool]
    with small_disk(tmp_path, size) as disk:
        busy = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); /bin/true; done"
        options = ("--tool", tool, "--victim", busy, "--min-free", "0")
        done = recorder(*options, name=disk / "b", status=1)
        assert "is there room" in done.stderr or "No space" in done.stderr
        assert all(line.startswith("netcost-record: ") for line in done.stderr.splitlines())
        assert list(disk.iterdir()) == []


def test_a_victim_that_does_not_end_is_ended(tmp_path: Path, recorder: Recorder) -> None:
    victim = f"echo begun; sleep 60 & sleep 60; : {MARK}"
    recorder(*SHORT, "--duration", "0.5", "--cpus", "0", "--victim", victim)
    manifest = manifest_of(tmp_path / "b")
    assert any("by the recorder" in note for note in manifest["notes"])
    assert 0.4 < manifest["victim"]["wall_s"] < 50
    assert (tmp_path / "b" / "victim.txt").read_text() == "begun\n"
    assert (manifest["cpus"], manifest["victim"]["cpu"]) == ("0", 0)
    assert lasting_processes(MARK) == []


# As on a busy host: the time is over before the victim has begun.
def test_a_victim_that_begins_late_is_ended(tmp_path: Path, recorder: Recorder) -> None:
    late = 'case "$*" in *run-victim.sh*) sleep 3 ;; esac'
    path = stub(tmp_path / "bin", "setsid", f'{late}\nexec {require_tool("setsid")} "$@"')
    victim = f"echo begun; sleep 60; : {MARK}"
    recorder(*SHORT, "--duration", "0.2", "--victim", victim, path=path)
    manifest = manifest_of(tmp_path / "b")
    assert any("by the recorder" in note for note in manifest["notes"])
    assert manifest["victim"]["wall_s"] < 50
    assert lasting_processes(MARK) == []


@with_trace_cmd
def test_a_buffer_that_another_took_over_is_no_recording(
    tmp_path: Path, recorder: Recorder
) -> None:
    options = ("--tool", "trace-cmd", "--profile", "light", "--duration", "1")
    process = recorder.begun(*options)
    (TRACING / "events" / "napi" / "napi_poll" / "enable").write_text("0")
    assert "another program" in process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


# Until it is undone there is a trace instance without an owner, which others who record would see.
@pytest.mark.alone
@each_tool
def test_a_sigkill_while_it_records_undoes_everything(
    tool: str, tmp_path: Path, recorder: Recorder
) -> None:
    # Children that leave the session, too, and those that take no SIGTERM.
    stubborn = f"trap '' TERM; setsid sleep 60 & sleep 60 & : {MARK}; sleep 60; sleep 60"
    options = ("--tool", tool, "--duration", "30", "--victim", stubborn, "--load", stubborn)
    with recorder.begun(*options) as process:
        time.sleep(0.6)
        process.kill()
    folder = Path(recorder.environment["TMPDIR"])
    deadline = time.monotonic() + 40
    while (commands_with(str(tmp_path)) or any(folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}
    assert environments_with(str(tmp_path)) == []


def environments_with(word: str) -> list[str]:
    commands = of_processes("cmdline")
    return [
        commands.get(pid, b"").decode(errors="replace")
        for pid, environment in of_processes("environ").items()
        if word.encode() in environment
    ]


def test_what_a_victim_leaves_running_is_ended(tmp_path: Path, recorder: Recorder) -> None:
    left = f"sleep 60 & setsid sleep 60 & : {MARK}; sleep 0.3"
    recorder(*SHORT, "--victim", left, "--load", f"{left}; exit 0")
    assert environments_with(str(tmp_path)) == []

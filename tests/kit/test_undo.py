# netcost-record ends in a whole bundle or in none, and nothing of it stays on the host, whichever
# tool records and whatever goes wrong. That it is killed: test_killed.py.

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.host import missing, of_processes, require_tool
from support.kit.record import (
    MARK,
    RECORD,
    SHORT,
    TOOLS,
    TRACING,
    ended,
    interrupted_mktemp,
    manifest_of,
    nothing_left,
    processes_with,
    recording,
    require_recorder,
    started,
    stub,
)

pytestmark = pytest.mark.live


@pytest.fixture(params=TOOLS)
def tool(request: pytest.FixtureRequest) -> str:
    require_recorder(request.param)
    return str(request.param)


@pytest.fixture
def temporary(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    named = "tool" in request.fixturenames
    tool = request.getfixturevalue("tool") if named else "tracefs"
    require_recorder(tool)
    with nothing_left(tmp_path, tool) as environment:
        yield environment


def test_where_nothing_can_be_written_nothing_is(tmp_path: Path, temporary: dict[str, str]) -> None:
    (tmp_path / "b.partial").mkdir()
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("mine")
    for output in (tmp_path / "b", tmp_path / "no" / "b", tmp_path / "kept"):
        done = ended([RECORD, "-o", output, *SHORT], env=temporary)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert str(output) in done.stderr
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
    options: list[str], status: int, said: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    done = ended([RECORD, "-o", tmp_path / "b", *SHORT, *options], env=temporary)
    assert done.returncode == 1
    assert said in done.stderr
    assert f"exit status {status}" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}
    assert processes_with(MARK) == []


def test_a_signal_while_it_records_undoes_everything(
    tool: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    victim = f"sleep 60 & sleep 60; : {MARK}"
    command = [RECORD, "-o", tmp_path / "b", "--tool", tool, "--profile", "light"]
    process = started(
        [*command, "--victim", victim, "--load", victim], env=temporary, stderr=subprocess.PIPE
    )
    recording(process)
    # Ctrl-C goes to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 128 + signal.SIGINT
    assert process.stderr is not None
    process.stderr.close()
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}
    assert processes_with(MARK) == []


def test_a_signal_as_the_first_folder_is_made_leaves_none(
    tmp_path: Path, temporary: dict[str, str]
) -> None:
    path = stub(tmp_path / "bin", "mktemp", interrupted_mktemp())
    done = ended([RECORD, "-o", tmp_path / "b", "--check"], env={**temporary, "PATH": path})
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert not (tmp_path / "b").exists()


def test_a_closed_pipe_undoes_everything(tmp_path: Path, temporary: dict[str, str]) -> None:
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--victim", f"sleep 60; : {MARK}"]
    process = started(command, env=temporary, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 128 + signal.SIGPIPE
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


def test_a_full_disk_leaves_no_bundle(tool: str, tmp_path: Path, temporary: dict[str, str]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    # The tracing files' descriptions alone take that much.
    size = {"perf": "400k", "trace-cmd": "6m", "tracefs": "1m"}[tool]
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "full", disk]).returncode != 0:
        missing("cannot mount a small disk here")
    try:
        busy = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); /bin/true; done"
        command = [RECORD, "-o", disk / "b", "--tool", tool, "--victim", busy]
        done = ended([*command, "--min-free", "0"], env=temporary)
        assert done.returncode == 1
        assert "is there room" in done.stderr or "No space" in done.stderr
        assert all(line.startswith("netcost-record: ") for line in done.stderr.splitlines())
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_victim_that_does_not_end_is_ended(tmp_path: Path, temporary: dict[str, str]) -> None:
    victim = f"echo begun; sleep 60 & sleep 60; : {MARK}"
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--duration", "0.5", "--cpus", "0"]
    done = ended([*command, "--victim", victim], env=temporary)
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    assert any("by the recorder" in note for note in manifest["notes"])
    assert 0.4 < manifest["victim"]["wall_s"] < 50
    assert (tmp_path / "b" / "victim.txt").read_text() == "begun\n"
    assert (manifest["cpus"], manifest["victim"]["cpu"]) == ("0", 0)
    assert processes_with(MARK) == []


# As on a busy host: the time is over before the victim has begun.
def test_a_victim_that_begins_late_is_ended(tmp_path: Path, temporary: dict[str, str]) -> None:
    late = 'case "$*" in *run-victim.sh*) sleep 3 ;; esac'
    path = stub(tmp_path / "bin", "setsid", f'{late}\nexec {require_tool("setsid")} "$@"')
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--duration", "0.2"]
    command += ["--victim", f"echo begun; sleep 60; : {MARK}"]
    done = ended(command, env={**temporary, "PATH": path})
    assert done.returncode == 0, done.stderr
    manifest = manifest_of(tmp_path / "b")
    assert any("by the recorder" in note for note in manifest["notes"])
    assert manifest["victim"]["wall_s"] < 50
    assert processes_with(MARK) == []


@pytest.mark.alone
def test_a_buffer_that_another_took_over_is_no_recording(tmp_path: Path) -> None:
    require_recorder("trace-cmd")
    with nothing_left(tmp_path, "trace-cmd") as environment:
        command = [RECORD, "-o", tmp_path / "b", "--tool", "trace-cmd", "--profile", "light"]
        process = started([*command, "--duration", "1"], env=environment, stderr=subprocess.PIPE)
        recording(process)
        (TRACING / "events" / "napi" / "napi_poll" / "enable").write_text("0")
        assert process.wait(timeout=60) == 1
        assert process.stderr is not None
        assert "somebody else" in process.stderr.read()
        process.stderr.close()
    assert {path.name for path in tmp_path.iterdir()} == {"tmp"}


# Until it is undone there is a trace instance without an owner, which others who record would see.
@pytest.mark.alone
def test_a_sigkill_while_it_records_undoes_everything(
    tool: str, tmp_path: Path, temporary: dict[str, str]
) -> None:
    # Children that leave the session, too, and those that take no SIGTERM.
    stubborn = f"trap '' TERM; setsid sleep 60 & sleep 60 & : {MARK}; sleep 60; sleep 60"
    process = started(
        [
            *(RECORD, "-o", tmp_path / "b", "--tool", tool, "--duration", "30"),
            *("--victim", stubborn, "--load", stubborn),
        ],
        env=temporary,
        stderr=subprocess.PIPE,
    )
    recording(process)
    time.sleep(0.6)
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    folder = Path(temporary["TMPDIR"])
    deadline = time.monotonic() + 40
    while (processes_with(str(tmp_path)) or any(folder.iterdir())) and time.monotonic() < deadline:
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


def test_what_a_victim_leaves_running_is_ended(tmp_path: Path, temporary: dict[str, str]) -> None:
    left = f"sleep 60 & setsid sleep 60 & : {MARK}; sleep 0.3"
    command = [RECORD, "-o", tmp_path / "b", *SHORT, "--victim", left, "--load", f"{left}; exit 0"]
    done = ended(command, env=temporary)
    assert done.returncode == 0, done.stderr
    assert environments_with(str(tmp_path)) == []

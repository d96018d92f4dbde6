# Running the capture kit from tests: as a user would, in a session of its own and with a TMPDIR of
# its own, so that whatever it leaves behind is found.

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.host import (
    ROOT,
    missing,
    of_processes,
    require_alone,
    require_live,
    require_root_tracing,
    require_tool,
)
from support.kit.host_snapshot import lasting_differences, snapshot

Made = TypeVar("Made")
RECORD = ROOT / "capture" / "netcost-record"

# trace-cmd records into the kernel's own buffer.
TRACE_CMD = pytest.param("trace-cmd", marks=pytest.mark.alone)
TOOLS = ("perf", TRACE_CMD, "tracefs")
with_trace_cmd = pytest.mark.parametrize("tool", [TRACE_CMD])
TRACING = Path("/sys/kernel/tracing")
# The least that records, for what is not about the recording.
SHORT = ("--tool", "tracefs", "--profile", "light", "--sidecars", "none", "--interval", "0")

# A word in the command line of everything a test starts: nobody else's process can hold it.
MARK = f"mark-{os.getpid()}-"


def started(command: Sequence[object], **options: Any) -> subprocess.Popen[str]:
    # A test run in the background ignores SIGINT, and what it starts would inherit that for good; a
    # handler is not inherited. preexec_fn would take a fork, in a large process 20 ms of it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        words = [str(word) for word in command]
        return subprocess.Popen(words, start_new_session=True, text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def ended(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    for _ in range(4):
        done = ended_once(command, **options)
        # Said by a recorder that found it out: no matter of the test's.
        if "another program used the kernel's top trace buffer" not in done.stderr:
            break
        await_free_buffer()
    return done


def ended_once(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    process = started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    try:
        out, err = process.communicate(timeout=240)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def recording(process: "subprocess.Popen[str]", said: str = "recording") -> None:
    """Returns once the recorder has said that it records."""
    while said not in process.stderr.readline():
        assert process.poll() is None


def made_again(make: Callable[[Path], Made], holds: Callable[[Made], bool], folder: Path) -> Made:
    """A recording that holds what a test is about: made anew, at most five times."""
    for turn in range(5):
        (folder / f"turn {turn}").mkdir()
        made = make(folder / f"turn {turn}")
        if holds(made):
            return made
    pytest.fail("made five times, it never held what the test is about")


# netcost-record as a user starts it, with a TMPDIR of its own.
class Recorder:
    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment

    # Into the bundle of that name in the folder; as it is typed, where it runs in another. before:
    # words of the command. It has to end with the status, and to say so many lines on stderr.
    def __call__(
        self,
        *options: object,
        name: str | Path = "b",
        status: int = 0,
        lines: int | None = None,
        before: Sequence[object] = (),
        **more: Any,
    ) -> subprocess.CompletedProcess[str]:
        output = name if "cwd" in more else self.folder / name
        command = [*before, RECORD, "-o", output, *options]
        done = ended(command, **self._with_environment(more))
        assert done.returncode == status, done.stderr
        assert lines in (None, len(done.stderr.splitlines())), done.stderr
        return done

    # Once it has said that it records.
    def begun(
        self, *options: object, name: str | Path = "b", said: str = "recording", **more: Any
    ) -> "subprocess.Popen[str]":
        more = self._with_environment(more)
        pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        process = started([RECORD, "-o", self.folder / name, *options], **pipes, **more)
        recording(process, said)
        return process

    # path: its PATH. env: what else it is to find in its environment.
    def _with_environment(self, more: dict[str, Any]) -> dict[str, Any]:
        path, env = more.pop("path", None), more.pop("env", {})
        return {**more, "env": self.environment | ({"PATH": path} if path else {}) | env}


def commands_with(word: str) -> dict[int, str]:
    """The processes with the word in their command line, by pid; they come and go meanwhile."""
    lines = {
        pid: line.replace(b"\0", b" ").decode(errors="replace")
        for pid, line in of_processes("cmdline").items()
    }
    return {pid: line for pid, line in lines.items() if word in line and pid != os.getpid()}


def lasting_processes(word: str) -> list[str]:
    """Commands that still run after three seconds: a killed process takes a moment to vanish."""
    deadline = time.monotonic() + 3
    while (found := commands_with(word)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return list(found.values())


def manifest_of(bundle: Path) -> dict[str, Any]:
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="ascii"))
    assert isinstance(manifest, dict)
    return manifest


def require_recorder(tool: str) -> None:
    """What netcost-record takes to record with the tool; skips the test where it is not here."""
    require_live()
    for name in ("taskset", "setsid"):
        require_tool(name)
    if tool == "perf":
        require_root_tracing()
    elif os.geteuid() != 0 or not (TRACING / "instances").is_dir():
        missing("needs root and tracefs mounted on /sys/kernel/tracing")
    if tool == "trace-cmd":
        require_tool("trace-cmd")
        await_free_buffer()


def await_free_buffer() -> None:
    """trace-cmd records into the kernel's own buffer, which somebody else may be using."""
    require_alone()
    deadline = time.monotonic() + 60
    while buffer_is_used():
        if time.monotonic() > deadline:
            missing("somebody else on this host traces into the kernel's own buffer")
        time.sleep(0.5)


def buffer_is_used() -> bool:
    left = any(int(path.read_text().split()[1]) > 0 for path in TRACING.glob("per_cpu/cpu*/stats"))
    tracer = (TRACING / "current_tracer").read_text().strip()
    return left or tracer != "nop" or (TRACING / "set_event").read_text().strip() != ""


@contextmanager
def nothing_left(folder: Path, tool: str | None = None) -> Iterator[dict[str, str]]:
    """An environment whose TMPDIR must be empty again at the end, as must the host's tracing."""
    temporary = folder / "tmp"
    temporary.mkdir()
    before = snapshot(buffer=tool == "trace-cmd") if tool else {}
    # What a --check of this host has found is not known there.
    yield {**os.environ, "TMPDIR": str(temporary), "NETCOST_ROOT": str(folder / "none")}
    assert list(temporary.rglob("*")) == []
    assert lasting_processes(str(folder)) == []
    assert not tool or lasting_differences(before, buffer=tool == "trace-cmd") == []


@contextmanager
def recorder_in(folder: Path, tool: str = "tracefs") -> Iterator[Recorder]:
    for name in ("tracefs", tool):
        require_recorder(name)
    with nothing_left(folder, tool) as environment:
        yield Recorder(folder, environment)


# With one tool in the ordinary lanes, with the others in the slow one.
def preferred(tool: str, folder: Path, boot: str = "") -> dict[str, str]:
    """The environment of a recording before which --check has found that this tool is the best."""
    (folder / "run").mkdir(parents=True)
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (folder / "run" / "netcost-record.tool").write_text(f"{boot} {tool}\n")
    return {"NETCOST_ROOT": str(folder)}


def by_tool(first: str, *others: Any) -> pytest.MarkDecorator:
    slow = []
    for other in others:
        # One that is to be alone is a parameter already.
        name, marks = (other, ()) if isinstance(other, str) else (other.values[0], other.marks)
        slow.append(pytest.param(name, marks=[*marks, pytest.mark.slow]))
    return pytest.mark.parametrize("tool", [first, *slow])


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "small", disk]
    if subprocess.run(mount, capture_output=True).returncode:
        missing("cannot mount a small disk here")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def path_without(folder: Path, *names: str) -> str:
    """A PATH on which everything is but these: as on a host where they are not installed."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def stub(folder: Path, name: str, script: str) -> str:
    """A PATH on which the program is this shell script."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def interrupted_mktemp() -> str:
    """A script in mktemp's place: Ctrl-C comes when it has made what it is to name.

    It works for workspace.sh, whose last words but one are who asks for it.
    """
    made = f'made=$({require_tool("mktemp")} "$@") || exit'
    asks = "tr '\\0' '\\n' </proc/$PPID/cmdline | tail -n 2 | head -n 1"
    return f'{made}\nkill -INT "$({asks})"\nsleep 0.2\necho "$made"'


# A victim that runs for a second and a half, and says nothing.
VICTIM = "python3 -c 'import time\nwhile time.process_time() < 1.2: pass'"


# What --check says, taken apart: of each of its checks the state, and why.
def verdict(text: str) -> dict[str, tuple[str, str]]:
    lines = [line.split(maxsplit=2) for line in text.splitlines() if not line.startswith("verdict")]
    return {what: (state, why) for what, state, why in lines}


def samples(bundle: Path, name: str) -> list[tuple[int, int, int, list[str]]]:
    """Number, begin and end of each, and its lines."""
    found: list[tuple[int, int, int, list[str]]] = []
    for line in (bundle / "samples" / name).read_text().splitlines():
        if head := re.fullmatch(r"@ (\d+) (\d+) (\d+)", line):
            found.append((int(head[1]), int(head[2]), int(head[3]), []))
        else:
            found[-1][3].append(line)
    assert found
    return found


# A PATH of busybox's shell, awk, dd, tar and what else it has, and nothing else.
def busybox_alone(folder: Path) -> Path:
    found, programs = require_tool("busybox"), folder / "bin"
    programs.mkdir()
    for name in subprocess.run([found, "--list"], capture_output=True, text=True).stdout.split():
        (programs / name).symlink_to(found)
    return programs

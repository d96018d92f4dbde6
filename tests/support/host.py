# What the tests need from the machine, and how they say that it is not there.

import atexit
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample-data"
SHARED = ROOT.parent / "shared"
REQUIRED = os.environ.get("NETCOST_REQUIRE_TOOLS") == "1"
TRACING = "/sys/kernel/tracing/"
# A new folder.
Fresh = Callable[[], Path]
running: pytest.Item | None = None


def runs(item: pytest.Item) -> None:
    global running
    running = item


# A mark that is forgotten is found out here, and not by a test that fails now and then.
def require_live() -> None:
    require_mark("live", "records or changes this host")


def require_alone() -> None:
    require_mark("alone", "takes what this host has once")


def require_mark(name: str, reason: str) -> None:
    if running is not None and running.get_closest_marker(name) is None:
        pytest.fail(f"it {reason}: mark it {name} (docs/development.md)")


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def changes_host(command: Sequence[Any]) -> bool:
    paths = [Path(os.fsdecode(word)) for word in command]
    names = {path.name for path in paths}
    capture = ROOT / "capture"
    if {"trace-cmd", "record"} <= names:
        require_alone()
    if {"perf", "record"} <= names or {"ip", "add"} <= names:
        return True
    # Checked by shellcheck they are but text, and asked for help they only print.
    return not names & {"shellcheck", "--help"} and any(
        path == capture / "netcost-record" or path.parent == capture / "lab" for path in paths[:2]
    )


# Not every test asks one of the helpers first.
def audit(event: str, given: tuple[Any, ...]) -> None:
    match event, given:
        case "subprocess.Popen", (_, list() | tuple() as command, *_):
            if changes_host(command):
                require_live()
        case "open", (str() as path, _, int() as flags):
            if path.startswith(TRACING) and flags & (os.O_WRONLY | os.O_RDWR):
                require_live()


def missing(reason: str) -> None:
    if REQUIRED:
        pytest.fail(f"{reason} (and NETCOST_REQUIRE_TOOLS=1 asks for it)")
    pytest.skip(reason)


_kept = ExitStack()
atexit.register(_kept.close)


# For what is asked by many tests of a process.
def kept_folder() -> Path:
    return Path(_kept.enter_context(TemporaryDirectory()))


def require_tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing(f"needs {name}, which is not installed")
    return found or ""


def require_root_tracing() -> str:
    require_live()
    perf = require_tool("perf")
    if refusal := refused_to_perf(perf):
        missing(f"needs root and tracefs to record tracepoints: {refusal[:200]}")
    return perf


# With records of BPF programs perf takes a second to end.
@cache
def refused_to_perf(perf: str) -> str:
    probe = [perf, "record", "-q", "-a", "--no-bpf-event", "-o", os.devnull]
    done = subprocess.run(
        [*probe, "-e", "sched:sched_switch", "--", "true"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stderr.strip() or "it fails" if done.returncode else ""


def require_shared(folder: str) -> Path:
    path = SHARED / folder
    # Material of the people who work on the project, never in a clone: absent is no failure, even
    # in CI.
    if not path.is_dir():
        pytest.skip(f"needs ../shared/{folder} beside the repository")
    return path


def of_processes(name: str) -> dict[int, bytes]:
    """The file of that name in /proc of each process that is still there, by pid."""
    found = {}
    # A pattern of two parts asks for the second of those that have ended, and fails.
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found[int(path.name)] = (path / name).read_bytes()
        except OSError:
            continue
    return found


# How many examples hypothesis draws for a test that says so: these in the gate, ten times as many
# where the environment asks for a search.
def examples(count: int) -> settings:
    times = 10 if os.environ.get("NETCOST_HYPOTHESIS") == "search" else 1
    return settings(max_examples=count * times)


TICKS = os.sysconf("SC_CLK_TCK")
# In a line of /proc/stat: idle, iowait, steal.
IDLE, WAITING, STOLEN = 3, 4, 7
SHOWN = 5


class Reading(NamedTuple):
    # cpus: the ticks of all; spent: those of each process, with its name.
    at: float
    cpus: list[int]
    spent: dict[int, tuple[str, int]]


def reading() -> Reading:
    cpus = Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    spent = {}
    for pid, line in of_processes("stat").items():
        head, _, rest = line.decode(errors="replace").rpartition(") ")
        words = rest.split()
        spent[pid] = (head.partition("(")[2], int(words[11]) + int(words[12]))
    return Reading(time.monotonic(), [int(word) for word in cpus], spent)


# What else the machine did while a test ran: for a failure where a load, a scheduler or a clock
# decides.
def evidence(since: Reading) -> str:
    now = reading()
    seconds = max(now.at - since.at, 1 / TICKS)
    grown = [new - old for new, old in zip(now.cpus, since.cpus, strict=True)]
    whole = max(sum(grown[: STOLEN + 1]), 1)
    busy = whole - grown[IDLE] - grown[WAITING]
    try:
        pressure = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
    except OSError:
        pressure = "this kernel tells no pressure"
    used = sorted(
        (
            (ticks - since.spent.get(pid, (name, 0))[1], pid, name)
            for pid, (name, ticks) in now.spent.items()
        ),
        reverse=True,
    )
    others = ", ".join(
        f"{name} ({pid}) {100 * ticks / TICKS / seconds:.0f} %"
        for ticks, pid, name in used[:SHOWN]
        if ticks > 0
    )
    return (
        f"in {seconds:.1f} s the CPUs were {100 * busy / whole:.0f} % busy, "
        f"{100 * grown[STOLEN] / whole:.1f} % stolen; pressure: {pressure}; ran: {others}"
    )

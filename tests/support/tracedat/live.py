# Recording this machine with trace-cmd. Where policy allows tracepoints but forbids the function
# tracer's controls, trace-cmd gives up over them: it runs with empty files mounted over these, in a
# mount namespace of its own, and nothing outside it changes.

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.host import missing, require_alone, require_tool

TRACING = Path("/sys/kernel/tracing")
MASKED = """
set -eu
masks=$(mktemp -d)
trap 'rm -rf "$masks"' EXIT
echo 1 >"$masks/ftrace_enabled"
mount --bind "$masks/ftrace_enabled" /proc/sys/kernel/ftrace_enabled
controls="set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid set_event_pid"
for place in $PLACES; do
    for control in $controls; do
        [ -e "$place/$control" ] || continue
        mask=$(mktemp -p "$masks")
        mount --bind "$mask" "$place/$control" 2>/dev/null || true
    done
done
trace-cmd "$@"
"""


def require_recording() -> None:
    require_alone()
    require_tool("trace-cmd")
    unshare = require_tool("unshare")
    probe = subprocess.run([unshare, "--mount", "true"], capture_output=True)
    if os.geteuid() != 0 or probe.returncode != 0 or not (TRACING / "events").is_dir():
        missing("needs root and tracefs to record with trace-cmd")


def always(_: Path) -> bool:
    return True


# That it holds more than a hundred of each.
def holds(*names: str) -> Callable[[Path], bool]:
    def enough(path: Path) -> bool:
        counts = Capture(str(path)).scan()["events"]
        return all(counts.get(name, 0) > 100 for name in names)

    return enough


# The top buffer is everybody's: whoever else uses it just then changes or ends a recording, which
# is then worth nothing, as one without what a test is about. It is made again, five times at most.
def trace_cmd_record(
    path: Path,
    *options: str,
    load: Sequence[str],
    instances: Sequence[str] = (),
    worth: Callable[[Path], bool] = always,
) -> Path:
    require_recording()
    for _ in range(5):
        once(path, options, load, instances)
        if worth(path):
            return path
    pytest.fail(f"recorded five times, {path.name} never held what the test is about")


# Instances are there before trace-cmd is, so that their controls can be masked too.
def once(path: Path, options: Sequence[str], load: Sequence[str], instances: Sequence[str]) -> None:
    places = [TRACING, *(TRACING / "instances" / name for name in instances)]
    try:
        for place in places[1:]:
            place.mkdir(exist_ok=True)
        command = ["unshare", "--mount", "sh", "-c", MASKED, "trace-cmd", "record"]
        done = subprocess.run(
            [*command, "-o", str(path), *options, *load],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PLACES": " ".join(map(str, places))},
        )
    finally:
        for place in places[1:]:
            if place.is_dir():
                place.rmdir()
    assert done.returncode == 0, f"trace-cmd record: {done.stderr[-500:]}"
    assert path.is_file(), done.stderr[-500:]


# Records what happens inside, in an instance of its own beside whoever else records.
@contextmanager
def instance(names: Sequence[str], clock: str = "mono", kilobytes: int = 32768) -> Iterator[Path]:
    require_recording()
    place = TRACING / "instances" / f"netcost_test_{os.getpid()}"
    place.mkdir()
    try:
        tell(place / "tracing_on", "0")
        tell(place / "trace_clock", clock)
        tell(place / "buffer_size_kb", str(kilobytes))
        for name in names:
            tell(place / "events" / name.replace(":", "/") / "enable", "1")
        tell(place / "tracing_on", "1")
        yield place
    finally:
        # Somebody may just be reading it.
        for _ in range(20):
            try:
                place.rmdir()
                break
            except OSError:
                time.sleep(0.1)


# Leaves copies of the files, too.
@contextmanager
def tracefs_folder(folder: Path, names: Sequence[str]) -> Iterator[None]:
    with instance(names) as place:
        yield
        tell(place / "tracing_on", "0")
        copy(place, folder, names)


def tell(path: Path, what: str) -> None:
    path.write_text(what + "\n")


def copy(place: Path, folder: Path, names: Sequence[str]) -> None:
    formats = [f"events/{name.replace(':', '/')}/format" for name in names]
    for name in ("events/header_page", "events/header_event", "saved_cmdlines", *formats):
        target = folder / (name.removeprefix("events/") if "header" in name else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((TRACING / name).read_bytes())
    (folder / "trace_clock").write_bytes((place / "trace_clock").read_bytes())
    for cpu in place.glob("per_cpu/cpu*"):
        target = folder / "per_cpu" / cpu.name
        target.mkdir(parents=True)
        (target / "stats").write_bytes((cpu / "stats").read_bytes())
        (target / "raw").write_bytes(b"".join(pages(cpu / "trace_pipe_raw")))


# What is there, without waiting for more.
def pages(path: Path) -> Iterator[bytes]:
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while page := os.read(file, os.sysconf("SC_PAGE_SIZE")):
            yield page
    except BlockingIOError:
        pass
    finally:
        os.close(file)


def events(names: Sequence[str]) -> list[str]:
    return [word for name in names for word in ("-e", name)]


def load(seconds: float) -> list[str]:
    python = shutil.which("python3") or "python3"
    return [python, str(Path(__file__).parent.parent / "live_load.py"), str(seconds)]

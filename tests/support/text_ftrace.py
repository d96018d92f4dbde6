# ftrace's own text: an instance of its own, recorded and stopped, then printed in every format that
# its options allow, and at last copied out in pages.

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.host import missing

TRACING = Path("/sys/kernel/tracing")
# One that was killed leaves its instance: it is in nobody's way.
NAME = f"netcost_text_{os.getpid()}"


class Instance:
    def __init__(self, path: Path) -> None:
        self.path = path

    def set(self, name: str, value: object) -> None:
        (self.path / name).write_text(f"{value}\n")

    def options(self, **options: bool) -> None:
        for name, on in options.items():
            self.set(f"options/{name.replace('_', '-')}", int(on))

    def trace(self) -> str:
        return (self.path / "trace").read_text(errors="surrogateescape")

    # What trace_pipe prints is gone from the buffer.
    def pipe(self, seconds: float = 1.0) -> str:
        command = ["timeout", str(seconds), "cat", str(self.path / "trace_pipe")]
        return subprocess.run(command, capture_output=True, text=True).stdout

    # The folder that netcost-record leaves where it has only tracefs.
    def pages(self, folder: Path, events: Sequence[str]) -> Path:
        for name in ("header_page", "header_event"):
            copy(TRACING / "events" / name, folder / name)
        copy(TRACING / "saved_cmdlines", folder / "saved_cmdlines")
        copy(self.path / "trace_clock", folder / "trace_clock")
        for event in events:
            place = Path("events") / event.replace(":", "/") / "format"
            copy(TRACING / place, folder / place)
        for cpu in self.path.glob("per_cpu/cpu*"):
            target = folder / "per_cpu" / cpu.name
            target.mkdir(parents=True)
            raw = ["timeout", "1", "cat", str(cpu / "trace_pipe_raw")]
            (target / "raw").write_bytes(subprocess.run(raw, capture_output=True).stdout)
            copy(cpu / "stats", target / "stats")
        return folder


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())


@contextmanager
def recorded(
    events: Sequence[str], load: Sequence[str], kilobytes: int = 4096, clock: str = "mono"
) -> Iterator[Instance]:
    path = TRACING / "instances" / NAME
    try:
        path.mkdir()
    except OSError as error:
        missing(f"needs root and tracefs for an instance of its own: {error}")
    try:
        instance = Instance(path)
        instance.set("trace_clock", clock)
        instance.set("buffer_size_kb", kilobytes)
        if (path / "options" / "hash-ptr").exists():
            instance.options(hash_ptr=False)
        for event in events:
            instance.set(f"events/{event.replace(':', '/')}/enable", 1)
        subprocess.run(load, check=True, timeout=60)
        instance.set("tracing_on", 0)
        for event in events:
            instance.set(f"events/{event.replace(':', '/')}/enable", 0)
        yield instance
    finally:
        # Somebody may just be reading it.
        for _ in range(20):
            try:
                path.rmdir()
                break
            except OSError:
                time.sleep(0.1)

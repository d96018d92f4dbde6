# A service that runs already, for netcost-record --attach: a process with a thread and a child of
# other names, which count what they do.

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from support.host import missing
from support.kit.record import commands_with, lasting_processes, started

_SCRIPT = """
import hashlib, mmap, os, sys, threading
name = sys.argv[2]
with open(sys.argv[1], "r+b") as file:
    shared = mmap.mmap(file.fileno(), 64)
def rename(what):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write(what)
def work(place):
    done = 0
    while True:
        for _ in range(200):
            hashlib.sha256(bytes(512)).digest()
        done += 200
        shared[16 * place:16 * place + 16] = b"%15d\\n" % done
def thread():
    rename(name + "-thread")
    work(1)
os.sched_setaffinity(0, {int(sys.argv[3])})
rename(name)
if os.fork() == 0:
    rename(name + "-child")
    work(2)
threading.Thread(target=thread, daemon=True).start()
work(0)
"""


class Service(NamedTuple):
    # name: its first thread's; the others have "-thread" and "-child" behind it. work: the command
    # that prints what it did.
    pid: int
    name: str
    work: str
    process: "subprocess.Popen[str]"

    def tids(self) -> set[int]:
        """Its threads' and its children's."""
        pids = [self.pid, *self.children()]
        return {int(path.name) for pid in pids for path in Path(f"/proc/{pid}/task").iterdir()}

    def children(self) -> list[int]:
        """Its children."""
        return [int(one) for one in _read(self.pid, f"task/{self.pid}/children").split()]

    def done(self) -> int:
        """How much it has done by now."""
        said = subprocess.run(["sh", "-c", self.work], capture_output=True, text=True).stdout
        return int(said)


def _read(pid: int, name: str) -> str:
    return Path(f"/proc/{pid}/{name}").read_text()


@contextmanager
def service(
    folder: Path, cpu: int, name: str = "svc", within: Sequence[str] = ()
) -> Iterator[Service]:
    # within: a command that runs another in its own place, such as `ip netns exec NAME`.
    script, count = folder / "service.py", folder / "count"
    script.write_text(_SCRIPT)
    count.write_bytes(b"%15d\n" % 0 * 3 + bytes(16))
    process = started([*within, sys.executable, script, count, name, cpu])
    work = f"head -n 3 '{count}' | awk '{{ n += $1 }} END {{ print n }}'"
    found = Service(process.pid, name, work, process)
    try:
        deadline = time.monotonic() + 20
        while count.read_bytes().count(b" 0\n") and time.monotonic() < deadline:
            time.sleep(0.05)
        yield found
    finally:
        process.kill()
        process.wait()
        # Its child, which may have outlived it already.
        for pid in commands_with(str(script)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert lasting_processes(str(script)) == []


@contextmanager
def cgroup(name: str, *pids: int) -> Iterator[Path]:
    # One with these processes, which are in the root again at the end.
    roots = [Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/cpuacct")]
    root = next((one for one in roots if (one / "cgroup.procs").exists()), None)
    if root is None or not os.access(root, os.W_OK):
        missing("needs a cgroup file system that may be written")
    (root / name).mkdir()
    try:
        for pid in pids:
            (root / name / "cgroup.procs").write_text(str(pid))
        yield root / name
    finally:
        for line in (root / name / "cgroup.procs").read_text().split():
            (root / "cgroup.procs").write_text(line)
        (root / name).rmdir()

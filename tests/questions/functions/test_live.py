# What perf report says of the same samples, and what the rules leave over of a recording that they
# never saw.

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from netcost_analysis import Capture, open_capture
from support.host import require_root_tracing, require_tool
from support.live import LIVE_LOAD

pytestmark = pytest.mark.live

# Beside datagrams: streams, files, memory and processes.
LOAD = f"""
stream() {{ {sys.executable} -c '
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
def drain():
    while other.recv(1 << 16):
        pass
reader = threading.Thread(target=drain)
reader.start()
for _ in range(100000):
    client.sendall(b"x" * 4096)
client.close()
reader.join()
'; }}
stream &
{sys.executable} {LIVE_LOAD} 1 &
find /usr/lib -type f 2>/dev/null | head -n 20000 | xargs cat 2>/dev/null |
    head -c 100000000 >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
wait
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    perf = require_root_tracing()
    made = tmp_path_factory.mktemp("functions") / "functions.perf.data"
    (made / "kcore_dir").mkdir(parents=True)
    options = ["-a", "-e", "cpu-clock", "-F", "997", "-g", "-B", "-N", "--no-bpf-event"]
    command = [perf, "record", "-q", *options, "-o", str(made / "data")]
    subprocess.run([*command, "--", "sh", "-c", LOAD], check=True, timeout=120)
    # As netcost-record does it: /proc/kcore, which --kcore copies, is not everywhere.
    (made / "kcore_dir" / "kallsyms").write_bytes(Path("/proc/kallsyms").read_bytes())
    return made


@pytest.fixture(scope="module")
def capture(folder: Path) -> Capture:
    return open_capture(folder)


class Names:
    # Several names of one address are one, and several functions of one name: perf may show another
    # than we do.
    def __init__(self, kallsyms: Path) -> None:
        self._parent: dict[str, str] = {}
        at: dict[str, str] = {}
        for line in kallsyms.read_text().splitlines():
            address, _, name = line.split()[:3]
            self._join(name, at.setdefault(address, name))

    def _join(self, name: str, other: str) -> None:
        self._parent[self.one(name)] = self.one(other)

    def one(self, name: str) -> str:
        while self._parent.setdefault(name, name) != name:
            name = self._parent[name]
        return name


def of_perf(folder: Path, names: Names) -> Counter[str]:
    words = ["report", "--no-children", "--stdio", "-g", "none", "-n", "--ignore-vmlinux"]
    words += ["--sort", "sym", "-F", "sample,sym", "-i", str(folder / "data")]
    words += ["--kallsyms", str(folder / "kcore_dir" / "kallsyms")]
    done = subprocess.run(
        [require_tool("perf"), *words], capture_output=True, text=True, check=True, timeout=120
    )
    found: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        if match := re.match(r"\s*(\d+)\s+\[k\]\s+(\S+)", line):
            name = "?" if match[2].startswith("0x") else names.one(match[2])
            found[name] += int(match[1])
    return found


# With names as they are in the kernel: functions() folds what a compiler made of one.
def test_a_functions_samples_are_those_of_perf_report(folder: Path, capture: Capture) -> None:
    from netcost_analysis.questions.functions.profile import profile_of

    names = Names(folder / "kcore_dir" / "kallsyms")
    one = profile_of(capture, "cpu-clock")
    symbols = one.frames["symbol"].astype(object)
    ours: Counter[str] = Counter()
    for leaf, samples, inside in zip(one.leaves, one.weights, one.in_kernel, strict=True):
        if inside:
            symbol = symbols.iloc[leaf]
            ours[names.one(symbol) if isinstance(symbol, str) else "?"] += int(samples)
    theirs = of_perf(folder, names)
    assert sum(ours.values()) > 200
    assert ours == theirs
    rows = capture.ask.functions.functions().frame
    inside = rows[rows["function"] != "(user mode)"]
    assert inside["samples"].sum() == sum(theirs.values())


@pytest.mark.measures
def test_the_rules_name_nearly_all_of_a_recording_that_they_never_saw(capture: Capture) -> None:
    found = capture.ask.functions.components()
    assert found["kernel_samples"] > 200
    left = capture.ask.functions.unclassified()["unclassified"]
    assert found["unclassified_share"] < 0.05, left.to_string()
    assert {"TCP", "copy", "file system", "UDP"} <= set(found["components"]["component"])
    assert found["is_timed"]
    assert "interrupts off" in set(found["components"]["component"])

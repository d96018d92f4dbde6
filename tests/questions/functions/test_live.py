# What perf report says of the same samples, of the kernel and of a program of ours; and what the
# rules leave over of a recording that they never saw.

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis import Capture, open_capture
from netcost_analysis._native import folded
from netcost_analysis.questions.functions.profile import profile_of
from support.host import require_root_tracing, require_tool
from support.live import LIVE_LOAD
from support.programs import compiled

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
# They mark the mappings of all who record beside them, and their perf dies.
OF_MAPPINGS = "build ids of mappings"
WAYS = {
    OF_MAPPINGS: ("-B", "--buildid-mmap"),
    "build ids of the header": (),
    "no build ids": ("-B",),
}


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


# Several names of one address are one, and several functions of one name: perf may show another
# than we do.
class Names:
    def __init__(self, kallsyms: Path) -> None:
        self._parent: dict[str, str] = {}
        at: dict[str, str] = {}
        for line in kallsyms.read_text().splitlines():
            address, _, name = line.split()[:3]
            self._parent[self.one(name)] = self.one(at.setdefault(address, name))

    def one(self, name: str) -> str:
        while self._parent.setdefault(name, name) != name:
            name = self._parent[name]
        return name


# Of perf report's rows the number of samples and the columns behind it.
def reported(data: Path, row: str, *words: str) -> list[tuple[str, ...]]:
    command = [require_tool("perf"), "report", "--no-children", "--stdio", "-g", "none", "-n"]
    done = subprocess.run(
        [*command, *words, "-i", str(data)], capture_output=True, text=True, check=True, timeout=120
    )
    return re.findall(rf"(?m)^ +(\d+) +{row}", done.stdout)


# With names as they are in the kernel: functions() folds what a compiler made of one.
def test_a_functions_samples_are_those_of_perf_report(folder: Path, capture: Capture) -> None:
    kallsyms = folder / "kcore_dir" / "kallsyms"
    names, theirs, ours = Names(kallsyms), Counter[str](), Counter[str]()
    words = ("--ignore-vmlinux", "--sort", "sym", "-F", "sample,sym", "--kallsyms", str(kallsyms))
    for count, symbol in reported(folder / "data", r"\[k\] +(\S+)", *words):
        theirs["?" if symbol.startswith("0x") else names.one(symbol)] += int(count)
    one = profile_of(capture, "cpu-clock")
    symbols = one.frames["symbol"].astype(object)
    for leaf, samples, inside in zip(one.leaves, one.weights, one.in_kernel, strict=True):
        if inside:
            symbol = symbols.iloc[leaf]
            ours[names.one(symbol) if isinstance(symbol, str) else "?"] += int(samples)
    assert sum(ours.values()) > 200
    assert ours == theirs
    rows = capture.ask.functions.functions().frame
    inside = rows[rows["function"] != "(user mode)"]
    assert inside["samples"].sum() == sum(theirs.values())


@pytest.mark.parametrize(
    "way", [pytest.param(OF_MAPPINGS, marks=pytest.mark.alone), *list(WAYS)[1:]]
)
def test_functions_of_programs_are_those_of_perf_report(tmp_path: Path, way: str) -> None:
    perf, data = require_root_tracing(), tmp_path / "perf.data"
    program = compiled(tmp_path)
    command = [perf, "record", "-q", "-e", "cpu-clock", "-F", "4999", "-g", "-N", *WAYS[way]]
    command += ["-o", str(data), "--", str(program.path), "100000"]
    subprocess.run(command, check=True, timeout=60)
    capture = open_capture(data, kallsyms="/proc/kallsyms")
    frame = capture.ask.functions.functions(user=True).frame
    theirs, ours = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in frame[frame["component"] == "application"].fillna("").to_dict("records"):
        ours[row["dso"].rpartition("/")[2] or "[unknown]", row["function"]] += row["samples"]
    words = ("-w", "200,200", "--sort", "dso,sym", "-F", "sample,dso,sym")
    for count, dso, symbol in reported(data, r"(\S+) +\[\.\] +(\S+)", *words):
        # Entries of the PLT have a file here, and no name.
        nameless = symbol.startswith("0x") or symbol.endswith("@plt")
        theirs[dso, "" if nameless else folded(symbol)] += int(count)
    assert ours[program.path.name, "outer"] > 20
    assert ours == theirs
    if way != "no build ids":
        found = capture.native.stacks("cpu-clock", None, True, True, None)
        frames = pa.table(found["frames"]).to_pandas()
        ids = frames.loc[frames["dso"] == str(program.path), "build_id"]
        assert set(ids) == {program.build_id.hex()}


@pytest.mark.measures
def test_the_rules_name_nearly_all_of_a_recording_that_they_never_saw(capture: Capture) -> None:
    answer = capture.ask.functions.components()
    assert answer["kernel_samples"] > 200
    left = capture.ask.functions.unclassified().frame
    assert answer["unclassified_share"] < 0.05, left.to_string()
    components = {"TCP", "copy", "file system", "UDP", "interrupts off"}
    assert components <= set(answer.frame["component"])
    assert answer["is_timed"]

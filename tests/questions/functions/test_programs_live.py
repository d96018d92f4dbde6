# Functions of programs against perf report, on recordings of a program of ours.

import re
import subprocess
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis import open_capture
from netcost_analysis._native import folded
from support.host import require_root_tracing, require_tool
from support.programs import compiled

pytestmark = pytest.mark.live

# They mark the mappings of all who record beside them, and their perf dies.
OF_MAPPINGS = "build ids of mappings"
WAYS = {
    OF_MAPPINGS: ("-B", "--buildid-mmap"),
    "build ids of the header": (),
    "no build ids": ("-B",),
}


def of_perf(data: Path) -> Counter[tuple[str, str]]:
    words = ["report", "--no-children", "--stdio", "-g", "none", "-n", "-w", "200,200"]
    words += ["--sort", "dso,sym", "-F", "sample,dso,sym", "-i", str(data)]
    done = subprocess.run(
        [require_tool("perf"), *words], capture_output=True, text=True, check=True, timeout=120
    )
    rows = re.findall(r"(?m)^ +(\d+) +(\S+) +\[\.\] +(\S+)", done.stdout)
    found: Counter[tuple[str, str]] = Counter()
    for count, dso, symbol in rows:
        # Entries of the PLT have a file here, and no name.
        nameless = symbol.startswith("0x") or symbol.endswith("@plt")
        found[dso, "" if nameless else folded(symbol)] += int(count)
    return found


@pytest.mark.parametrize(
    "way", [pytest.param(OF_MAPPINGS, marks=pytest.mark.alone), *list(WAYS)[1:]]
)
def test_functions_are_those_of_perf_report(tmp_path: Path, way: str) -> None:
    perf, data = require_root_tracing(), tmp_path / "perf.data"
    program = compiled(tmp_path)
    command = [perf, "record", "-q", "-e", "cpu-clock", "-F", "4999", "-g", "-N", *WAYS[way]]
    command += ["-o", str(data), "--", str(program.path), "100000"]
    subprocess.run(command, check=True, timeout=60)
    capture = open_capture(data, kallsyms="/proc/kallsyms")
    frame = capture.ask.functions.functions(user=True).frame
    ours: Counter[tuple[str, str]] = Counter()
    for row in frame[frame["component"] == "application"].fillna("").to_dict("records"):
        ours[row["dso"].rpartition("/")[2] or "[unknown]", row["function"]] += row["samples"]
    assert ours[program.path.name, "outer"] > 20
    assert ours == of_perf(data)
    if way != "no build ids":
        found = capture.native.stacks("cpu-clock", None, True, True, None)
        frames = pa.table(found["frames"]).to_pandas()
        own = frames[frames["dso"] == str(program.path)]
        assert set(own["build_id"]) == {program.build_id.hex()}

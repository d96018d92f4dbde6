# What a reader waits for the first answer: whole processes on two bundles of sample-data, beside
# `perf kwork report` of the same trace; and for a report of the smaller one.

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Figure, Way, compare
from benchmarks.repeat import plain
from netcost_analysis.capture.bundle import Bundle

SAMPLES = Path(__file__).resolve().parent.parent / "sample-data"
# Seconds that are wanted at most.
_WANTED = {"nic-stolen-time": 0.2, "stolen-time-tcp.netcost.tar.zst": 0.35}
_COMMANDS = ("ledger", "stolen")
_REPORTED, _REPORT_WANTED = "nic-stolen-time", 5.0
_KWORK = "perf kwork report"


def measure(repeats: int) -> dict[str, list[Figure]]:
    """By bundle the figures of perf, of each command, and where it is asked for of a report."""
    netcost = str(Path(sys.executable).with_name("netcost"))
    found = {}
    with TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        for name in _WANTED:
            # Unpacked for perf alone, for as long as the bundle is kept. Compressed records end
            # perf kwork 6.1 by SIGSEGV.
            bundle = Bundle(SAMPLES / name)
            trace = Path(folder) / f"{name}.data"
            with plain(bundle.trace) as file, trace.open("wb") as out:
                shutil.copyfileobj(file, out)
            perf = Way(_KWORK, ("perf", "kwork", "-f", "report", "-i", str(trace)))
            asked = [Way(one, (netcost, one, str(SAMPLES / name))) for one in _COMMANDS]
            if name == _REPORTED:
                asked.append(Way("report", (netcost, "report", str(SAMPLES / name), "-o", page)))
            found[name] = compare([perf, *asked], repeats)
    return found


def table(found: dict[str, list[Figure]]) -> str:
    lines = [
        "| bundle | command | time (s) | spread | CPU (s) | of kwork | peak (MiB) | wanted (s) | |",
        "|---" * 9 + "|",
    ]
    for name, (perf, *asked) in found.items():
        for one in (perf, *asked):
            most = _REPORT_WANTED if one.way.name == "report" else _WANTED[name]
            wanted = [f"{most}", "met" if one.seconds <= most else "**missed**"]
            cells = [
                *(name, one.way.name, f"{one.seconds:.3f}", f"{one.spread:.3f}"),
                *(f"{one.cpu_seconds:.3f}", f"{one.seconds / perf.seconds:.2f}"),
                *(f"{one.peak_mib:.0f}", *(["", ""] if one is perf else wanted)),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def section(found: dict[str, list[Figure]]) -> str:
    return f"""
## First answer

`netcost ledger` and `netcost stolen` of two bundles of sample-data, from start to exit; the second
is packed, and is unpacked within the time. `perf kwork report` has its trace unpacked already.
`netcost report` writes the page of the first notebook.

{table(found)}
"""

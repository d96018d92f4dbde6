# Samples with call graphs: `perf report --no-children` beside netcost functions, on one recording.

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import rates
from benchmarks.measure import Figure, Way, compare
from benchmarks.recording import ROOT, samples

REPORT, FUNCTIONS = "perf report --no-children", "netcost functions (process)"
SAMPLES = 1_000_000
# As often as most kernels let a timer sample; beyond that they throttle.
_HERTZ = 20_000


@dataclass(frozen=True)
class Measured:
    figures: list[Figure]
    samples: int
    bytes: int


def record(folder: Path, wanted: int) -> Path | None:
    """Sample the flood, as `perf record --kcore` keeps it; None where perf cannot."""
    perf = shutil.which("perf")
    if perf is None:
        return None
    made = folder / "functions.perf.data"
    symbols = made / "kcore_dir"
    symbols.mkdir(parents=True)
    shutil.copy("/proc/kallsyms", symbols / "kallsyms")
    # Two CPUs are busy: a flood on each.
    seconds = wanted / _HERTZ / 2
    flood = [sys.executable, str(ROOT / "benchmarks" / "flood.py"), f"{seconds:g}", "0", "1"]
    options = ["-a", "-g", "-k", "CLOCK_MONOTONIC", "-e", "cpu-clock", "-F", str(_HERTZ)]
    options += ["-m", "16M", "-B", "-N", "-q", "-o", str(made / "data")]
    done = subprocess.run(
        [perf, "record", *options, "--", *flood], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        print(f"cannot sample with perf: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return made


def measure(folder: Path, repeats: int, wanted: int = SAMPLES) -> Measured | None:
    """Figures of one recording, or None where this host cannot make it."""
    made = record(folder, wanted)
    if made is None:
        return None
    netcost = str(Path(sys.executable).with_name("netcost"))
    report = ("perf", "report", "-f", "--no-children", "--stdio", "-g", "none")
    known = ("--kallsyms", str(made / "kcore_dir" / "kallsyms"), "-i", str(made / "data"))
    ways = [Way(REPORT, (*report, *known)), Way(FUNCTIONS, (netcost, "functions", str(made)))]
    data = made / "data"
    return Measured(compare(ways, repeats), samples(made), data.stat().st_size)


def table(measured: Measured) -> str:
    against = {one.way.name: REPORT for one in measured.figures}
    return rates.table(measured.figures, measured.samples, "samples", against, "report")


def targets(measured: Measured) -> str:
    of = {one.way.name: one for one in measured.figures}
    times = of[REPORT].seconds / of[FUNCTIONS].seconds
    return rates.targets([("times as fast as perf report", 10, times)])


def section(measured: Measured) -> str:
    return f"""
## Functions

The flood on both CPUs, sampled with call graphs: {measured.samples:,} samples of the timer,
{measured.bytes / 2**20:.0f} MiB.

{table(measured)}

{targets(measured)}

- **perf report**: `--no-children --stdio -g none`, the whole process, output thrown away: a sum
  per command, object and symbol.
- **netcost functions**: the command from start to exit: components by call path, and functions.
"""

# The same for trace.dat: `trace-cmd report` beside netcost, on a file without compression and on
# the same one with zstd.

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import rates
from benchmarks.measure import Figure, Way, compare
from benchmarks.recording import ROOT, samples

REPORT, REPORT_ZSTD = "trace-cmd report", "trace-cmd report, zstd"
DECODE, DECODE_ZSTD = "netcost: decode, one core", "netcost: decode, zstd"


@dataclass(frozen=True)
class Measured:
    figures: list[Figure]
    events: int
    plain_bytes: int
    zstd_bytes: int


def record(folder: Path, seconds: float) -> Path | None:
    """Record the flood with netcost-record; None where trace-cmd cannot."""
    if os.geteuid() != 0 or shutil.which("trace-cmd") is None:
        return None
    bundle = folder / "bundle"
    flood = shlex.join([sys.executable, str(ROOT / "benchmarks" / "flood.py"), str(seconds)])
    command = [str(ROOT / "capture" / "netcost-record"), "-o", str(bundle), "--tool", "trace-cmd"]
    command += ["--duration", f"{seconds:g}", "--buffer", "65536", "--load", flood]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"cannot record with trace-cmd: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return next(iter(sorted(bundle.glob("*.dat"))), None)


def packed(plain: Path, target: Path) -> Path | None:
    command = ["trace-cmd", "convert", "-i", str(plain), "-o", str(target), "--compression", "zstd"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not target.is_file():
        print(f"trace-cmd cannot compress with zstd: {done.stderr.strip()[-200:]}", file=sys.stderr)
        return None
    return target


def measure(folder: Path, repeats: int, seconds: float = 2.0) -> Measured | None:
    """Figures of one recording, or None where this host cannot make it."""
    plain = record(folder, seconds)
    zstd = packed(plain, folder / "zstd.dat") if plain else None
    if plain is None or zstd is None:
        return None
    inside = (sys.executable, "-m", "benchmarks.in_process", "decode")
    ways = [
        Way(REPORT, ("trace-cmd", "report", "-i", str(plain))),
        Way(DECODE, (*inside, str(plain), "0"), True),
        Way(REPORT_ZSTD, ("trace-cmd", "report", "-i", str(zstd))),
        Way(DECODE_ZSTD, (*inside, str(zstd)), True),
    ]
    sizes = plain.stat().st_size, zstd.stat().st_size
    return Measured(compare(ways, repeats), samples(plain), *sizes)


def table(measured: Measured) -> str:
    against = {one.way.name: REPORT for one in measured.figures}
    against |= {REPORT_ZSTD: REPORT_ZSTD, DECODE_ZSTD: REPORT_ZSTD}
    return rates.table(measured.figures, measured.events, "events", against, "report")


def targets(measured: Measured) -> str:
    of = {one.way.name: one for one in measured.figures}
    rate = measured.events / rates.best(of[DECODE]) / 1e6
    times = of[REPORT_ZSTD].seconds / rates.best(of[DECODE_ZSTD])
    return rates.targets(
        [("decode, M events/s per core", 20, rate), ("zstd, times trace-cmd report", 10, times)]
    )


def section(measured: Measured) -> str:
    return f"""
## trace.dat

The same load recorded by `capture/netcost-record --tool trace-cmd`: {measured.events:,} events,
{measured.plain_bytes / 2**20:.0f} MiB as recorded, {measured.zstd_bytes / 2**20:.0f} MiB after
`trace-cmd convert --compression zstd`. Rates and ratios are of `again` where there is one.

{table(measured)}

{targets(measured)}

- **trace-cmd report**: the whole process, output thrown away.
- **netcost: decode**: every event to typed Arrow columns in the order of time, imports not counted;
  "one core" is pinned to one CPU.
"""

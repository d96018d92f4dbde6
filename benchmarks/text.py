# The same for text: what `perf script` prints of the capture, through a regular expression into
# pandas, and through netcost into typed tables.

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import rates
from benchmarks.measure import Figure, Way, compare

REGEX = "regex into pandas"
DECODE, TIMELINE = "netcost: decode, one core", "netcost: timeline, one core"


@dataclass(frozen=True)
class Measured:
    figures: list[Figure]
    lines: int
    bytes: int


def printed(capture: Path, target: Path) -> int | None:
    """Print the capture with `perf script`; how many lines that are, or None without perf."""
    try:
        with target.open("wb") as out:
            command = ["perf", "script", "-f", "--ns", "-i", str(capture)]
            subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no text to measure on: {error}", file=sys.stderr)
        return None
    with target.open("rb") as text:
        return sum(block.count(b"\n") for block in iter(lambda: text.read(1 << 20), b""))


def measure(capture: Path, folder: Path, repeats: int) -> Measured | None:
    """Figures of the capture's text, or None where there is no perf to print it."""
    path = folder / "script.txt"
    lines = printed(capture, path)
    if lines is None:
        return None
    inside = (sys.executable, "-m", "benchmarks.in_process")
    ways = [
        Way(REGEX, (*inside, "text_regex", str(path), "0"), True),
        Way(DECODE, (*inside, "decode", str(path), "0"), True),
        Way(TIMELINE, (*inside, "timeline", str(path), "0"), True),
    ]
    return Measured(compare(ways, repeats), lines, path.stat().st_size)


def table(measured: Measured) -> str:
    against = dict.fromkeys((one.way.name for one in measured.figures), REGEX)
    return rates.table(measured.figures, measured.lines, "lines", against, "regex")


def targets(measured: Measured) -> str:
    decode = next(one for one in measured.figures if one.way.name == DECODE)
    rate = measured.lines / rates.best(decode) / 1e6
    return rates.targets([("decode, M lines/s per core", 1, rate)])


def section(measured: Measured) -> str:
    return f"""
## Text

What `perf script --ns` prints of the capture: {measured.lines:,} lines,
{measured.bytes / 2**20:.0f} MiB. Rates and ratios are of `again` where there is one; printing is in
none of them.

{table(measured)}

{targets(measured)}

- **regex into pandas**: the text through a regular expression into a DataFrame of task, CPU, time,
  event and the rest of the line, imports not counted.
- **netcost: decode**: every line to typed Arrow columns, imports not counted; it reads the file
  twice, for the first pass tells which columns there are. "one core" is pinned to one CPU.
- **netcost: timeline**: decode, the ledger, and segments, softirqs and polls as DataFrames.
"""

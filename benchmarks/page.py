# The figures as a markdown table, and as docs/benchmarks.md.

import os
import platform
import subprocess
from pathlib import Path

from benchmarks.measure import Figure


# The kind of machine, without its name.
def machine() -> str:
    model = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    virtual = "hypervisor" in Path("/proc/cpuinfo").read_text()
    perf = subprocess.run(
        ["perf", "version"], capture_output=True, text=True, check=False
    ).stdout.split()
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    where = " (virtual machine)" if virtual else ""
    version = ".".join(perf[-1].split(".")[:2]) if perf else "absent"
    return f"{model}, {os.cpu_count()} CPUs{where}, Linux {release}, perf {version}"


def table(figures: list[Figure], events: int) -> str:
    seconds = {one.way.name: one.seconds for one in figures}
    script, kwork = seconds["perf script"], seconds["perf kwork report"]
    lines = [
        "| way | time (s) | spread | CPU (s) | M events/s | of script | of kwork | peak (MiB) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in figures:
        cells = [
            one.way.name,
            f"{one.seconds:.3f}",
            f"{one.spread:.3f}",
            f"{one.cpu_seconds:.3f}",
            f"{events / one.seconds / 1e6:.1f}",
            f"{one.seconds / script:.3f}",
            f"{one.seconds / kwork:.2f}",
            f"{one.peak_mib:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def targets(figures: list[Figure], events: int) -> str:
    seconds = {one.way.name: one.seconds for one in figures}
    rate = events / seconds["netcost: decode, one core"] / 1e6
    share = seconds["netcost: timeline"] / seconds["perf kwork report"]
    process = seconds["netcost ledger (process)"] / seconds["perf script"]

    def verdict(met: bool) -> str:
        return "met" if met else "**missed**"

    rows = [
        ("decode, per core", "25 M events/s", f"{rate:.1f} M events/s", rate >= 25),
        ("timeline, of perf kwork report", "0.75 (goal 0.5)", f"{share:.2f}", share <= 0.75),
        ("netcost ledger, of perf script", "0.5", f"{process:.3f}", process <= 0.5),
    ]
    lines = [f"| {' | '.join((*row[:3], verdict(row[3])))} |" for row in rows]
    return "\n".join(("| target | wanted | measured | |", "|---|---|---|---|", *lines))


def page(figures: list[Figure], events: int, size: int, made: str, repeats: int) -> str:
    return f"""# Benchmarks

Side by side on one capture, in one run, by this command, which also writes this page:

```
make bench BENCH_ARGS=--write
```

Machine: {machine()}. Capture: {events:,} events, {size / 2**20:.0f} MiB, {made}.
Median of {repeats} rounds after one to warm up, every way once a round; spread is the slowest
minus the fastest. "of script" and "of kwork" are times over those of `perf script` and `perf kwork
report`. CPU is user and system time of the same. The capture is in
the page cache. Peak is the largest resident set of the
process or of one of its children.

{table(figures, events)}

## Targets

{targets(figures, events)}

## What each way does

- **perf script**, **perf kwork report**: the whole process, output thrown away. `perf kwork` gives
  a sum per softirq vector and irq, without task or device.
- **perf script + regex into pandas**: its text through a regular expression into a DataFrame,
  imports not counted.
- **netcost: decode**: every event to typed Arrow columns, imports not counted; "one core" is
  pinned to one CPU.
- **netcost: timeline**: decode, the ledger, and segments, softirqs and polls as DataFrames,
  imports not counted.
- **netcost ledger (process)**: the command from start to exit, imports and all.
"""

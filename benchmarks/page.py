# The figures as a markdown table, and as docs/benchmarks.md.

import os
import platform
import subprocess
from pathlib import Path

from benchmarks.measure import Figure
from benchmarks.rates import best, seconds_of


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


COLUMNS = (
    "way",
    "time (s)",
    "spread",
    "CPU (s)",
    "again (s)",
    "M events/s",
    "of script",
    "of kwork",
)


def table(figures: list[Figure], events: int) -> str:
    seconds = {one.way.name: one.seconds for one in figures}
    script, kwork = seconds["perf script"], seconds["perf kwork report"]
    lines = [f"| {' | '.join(COLUMNS)} | peak (MiB) |", "|---" * (len(COLUMNS) + 1) + "|"]
    for one in figures:
        cells = [
            *seconds_of(one),
            f"{events / best(one) / 1e6:.1f}",
            f"{best(one) / script:.3f}",
            f"{best(one) / kwork:.2f}",
            f"{one.peak_mib:.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def targets(figures: list[Figure], events: int) -> str:
    of = {one.way.name: one for one in figures}
    kwork, script = of["perf kwork report"].seconds, of["perf script"].seconds
    decode, timeline = of["netcost: decode, one core"], of["netcost: timeline"]
    rates = [events / at / 1e6 for at in (best(decode), decode.seconds)]
    shares = [at / kwork for at in (best(timeline), timeline.seconds)]
    processes = {name: of[f"netcost {name} (process)"].seconds for name in ("ledger", "stolen")}
    ledger = processes["ledger"] / script

    def verdict(met: bool) -> str:
        return "met" if met else "**missed**"

    rows = [
        ("decode, M events/s per core", "25", *(f"{one:.1f}" for one in rates), rates[0] >= 25),
        (
            "timeline, of perf kwork report",
            "two thirds",
            *(f"{one:.2f}" for one in shares),
            shares[0] <= 2 / 3,
        ),
        ("netcost ledger, of perf script", "0.5", "", f"{ledger:.3f}", ledger <= 0.5),
        *(
            (f"netcost {name}, of perf kwork report", "1", "", f"{at / kwork:.2f}", at <= kwork)
            for name, at in processes.items()
        ),
    ]
    lines = [f"| {' | '.join((*row[:4], verdict(bool(row[4]))))} |" for row in rows]
    head = "| target | wanted | measured | first call of a process | |"
    return "\n".join((head, "|---|---|---|---|---|", *lines))


def page(
    figures: list[Figure], events: int, size: int, made: str, arguments: str, repeats: int
) -> str:
    return f"""# Benchmarks

Side by side on one capture, in one run, by this command, which also writes this page:

<!-- not run: minutes, and perf -->
```sh
make bench BENCH_ARGS="{arguments}"
```

Machine: {machine()}.
Capture: {events:,} events, {size / 2**20:.0f} MiB, {made}.

Median of {repeats} rounds after one to warm up, every way once a round; spread is the slowest minus
the fastest. CPU is user and system time of the same. The capture is in the page cache. Peak is the
largest resident set of the process or of one of its children.

What runs in process is timed twice: `time` is the first call of a fresh process, which also pays
the kernel for every page it touches, and `again` the median of five more calls in that process, as
in a notebook. Rates and ratios are of `again` where there is one: `of script` and `of kwork` are
over the times of `perf script` and `perf kwork report`.

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
- **netcost ledger (process)**, **netcost stolen (process)**: the command from start to exit,
  imports and all.
"""

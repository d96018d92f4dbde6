# Recording samples of this machine with perf, in every way that a machine without hardware counters
# allows.

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.host import missing, require_tool

LOAD = [sys.executable, str(Path(__file__).parent / "sample_load.py"), "0.15"]
CLOCK = ("-e", "cpu-clock", "-F", "997")
FAULTS = ("-e", "page-faults", "-c", "1")
GROUP = ("-e", "{cpu-clock,page-faults}:S", "-F", "997")

# Each records what the others do not; the machine may refuse some.
WAYS: dict[str, tuple[str, ...]] = {
    "callchains": (*CLOCK, "-g"),
    "period": ("-e", "cpu-clock", "-c", "1000000"),
    "two events": ("-e", "cpu-clock:u,page-faults", "-F", "997", "-g", "--sample-identifier"),
    "default event": ("-F", "997"),
    "host": (*CLOCK, "-g", "-a", "-C", "0", "-k", "CLOCK_MONOTONIC"),
    "switches": (*CLOCK, "--switch-events", "--sample-cpu"),
    "namespaces": (*CLOCK, "--namespaces"),
    "counts": (*CLOCK, "-s"),
    "per thread": (*CLOCK, "--per-thread", "-T"),
    "addresses": (*FAULTS, "-d"),
    "physical addresses": (*FAULTS, "--phys-data"),
    "page sizes": (*FAULTS, "--data-page-size", "--code-page-size"),
    "weights": (*CLOCK, "-W"),
    "transactions": (*CLOCK, "--transaction"),
    "registers": (*CLOCK, "--user-regs=ip,sp", "--intr-regs=ip,sp", "-g"),
    "stacks": (*CLOCK, "--call-graph", "dwarf,1024"),
    "group": GROUP,
    "group with times": (*GROUP, "--running-time", "-g"),
    "compressed": (*CLOCK, "-z", "-g"),
    "build ids": (*CLOCK, "--buildid-mmap"),
    # It names no task itself: what a switch says of names given on other CPUs perf does not know.
    "tracepoint": ("-e", "irq:softirq_entry", "-c", "1", "-g", "-a", "-C", "0"),
    "overwritten": (*CLOCK, "-a", "-C", "0", "--overwrite"),
    "everything": (*FAULTS, *("-g", "-d", "-W", "--phys-data", "--data-page-size", "--sample-cpu")),
}


# A path that ends in .pipe is written as a pipe's stream. bpf: with records of BPF programs, for
# which perf has a thread that takes a second to end.
def perf_record(path: Path, *options: str, load: list[str] = LOAD, bpf: bool = False) -> Path:
    perf, taskset = require_tool("perf"), require_tool("taskset")
    target = "-" if path.suffix == ".pipe" else str(path)
    command = [perf, "record", "-q", "-N", "-B", "-o", target, *options]
    command += [] if bpf else ["--no-bpf-event"]
    with (path if target == "-" else Path(os.devnull)).open("wb") as out:
        done = subprocess.run(
            [*command, "--", taskset, "-c", "0", *load],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    if done.returncode != 0:
        # What perf can record depends on the machine; that it records at all does not.
        refusal = f"this machine refuses {' '.join(options)}: {done.stderr.strip()[-200:]}"
        (missing if {*options} <= {*CLOCK, "-g"} else pytest.skip)(refusal)
    return path

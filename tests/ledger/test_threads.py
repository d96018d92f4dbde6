# The machines of the CPUs run on as many threads as there are; what they say does not depend on it.

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from netcost_analysis._native import Capture
from support.drawn import happenings
from support.perfdata import Cpu, Recording, cpu, recording
from support.perfdata import happenings as h
from support.texts import write_text
from support.told import NAPI_THREAD
from support.tracedat import write_trace_dat

CPUS, STEPS, STEP = 16, 200, 1000
TASKS = [h.Task(500 + number, f"worker-{number}") for number in range(2 * CPUS)]
# Prints a digest of every table of each capture, of the bytes that Arrow has of it.
DIGESTS = """
import hashlib, sys
import pyarrow as pa
from netcost_analysis._native import Capture
from netcost_analysis.timeline.group import Binned

tables = "segments softirqs hardirqs polls slices migrations displaced".split()
for path in sys.argv[1:]:
    print("capture")
    for wanted, aggregates in ((tables, []), ([], [Binned(7_000_000)])):
        capture = Capture(path)
        got = capture.timeline(wanted)
        for one in capture.aggregates(aggregates, rows=10_000):
            got |= one
        shown = {"sums": got["sums"], "displaced": got["displaced"], "irqs": got["irqs"]}
        for name, table in {**got["tables"], **shown, "longest": got["longest"]}.items():
            sink = pa.BufferOutputStream()
            read = pa.table(table)
            with pa.ipc.new_stream(sink, read.schema) as stream:
                stream.write_table(read)
            print(name, read.num_rows, hashlib.sha256(sink.getvalue()).hexdigest())
        print(sorted(got["summary"].items()))
"""


# One CPU of a busy host: softirqs and their polls on top of tasks that wake each other, are moved
# and come back, a NAPI thread that is everywhere in turn, timers, and now and then a loss.
def busy(number: int) -> Cpu:
    pick = random.Random(number)
    told: list[h.Happening] = []
    for step in range(STEPS):
        task, other = (f"{one.comm}={one.tid}" for one in (pick.choice(TASKS), pick.choice(TASKS)))
        vec = pick.choice(("NET_RX", "NET_RX", "TIMER"))
        device, polls = f"eth{number % 3}", vec == "NET_RX" and pick.random() < 0.9
        poll = f"90 poll {device} {pick.randrange(64)} 64 {4096 * (1 + number)}, " if polls else ""
        steps = (
            f"0 waking {task} {pick.randrange(CPUS)}, 20 irq {32 + number} {device}-{number}, "
            f"30 raise NET_RX, 40 end irq {32 + number}, 50 {vec}, {poll} 100 end {vec}, "
            f"150 migrate {other} {pick.randrange(CPUS)} {number}, "
            f"200 switch {other} {pick.choice(('', '', 'asleep'))}, "
        )
        if step % CPUS == number:
            steps += "250 switch napi/eth0-8193, 300 poll eth9 3, "
            steps += f"350 switch {other} {pick.choice(('', 'asleep'))}, "
        if pick.random() < 0.01:
            steps += f"500 lost {1 + pick.randrange(9)}, "
        if step % 50 == 49:
            steps += "600 flush"
        told += happenings(steps, [1_000_000 + STEP * step + pick.randrange(5)])
    return cpu(number, *told, task=TASKS[number])


WRITTEN: dict[str, Callable[[Recording, Path], Path]] = {
    "file": lambda told, folder: told.write(folder / "perf.data"),
    "compressed pipe": lambda told, folder: told.write(folder / "perf.data", "pipe", compressed=2),
    "directory": lambda told, folder: told.write(folder / "perf.data", "directory"),
    "trace.dat": lambda told, folder: write_trace_dat(told, folder / "trace.dat"),
    "text": lambda told, folder: write_text(told, folder / "trace.txt"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    told = recording(*map(busy, range(CPUS)), known=(*TASKS, NAPI_THREAD))
    return {way: write(told, tmp_path_factory.mktemp("way")) for way, write in WRITTEN.items()}


# By threads and by ways of writing: a process has its threads once and for all.
@pytest.fixture(scope="module")
def digests(written: dict[str, Path]) -> dict[int, dict[str, list[str]]]:
    found = {}
    for threads in (1, 8):
        environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", DIGESTS, *map(str, written.values())]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        parts = [part.splitlines() for part in done.stdout.split("capture\n")[1:]]
        found[threads] = dict(zip(written, parts, strict=True))
    return found


@pytest.mark.parametrize("way", WRITTEN)
def test_any_number_of_threads_says_the_same(
    written: dict[str, Path], digests: dict[int, dict[str, list[str]]], way: str
) -> None:
    rows = Capture(str(written[way])).timeline(["softirqs"])["tables"]["softirqs"].num_rows
    assert rows > 0.95 * CPUS * STEPS
    alone = digests[1][way]
    assert len(alone) == (7 + 4 + 1) + (1 + 4 + 1)
    assert digests[8][way] == alone

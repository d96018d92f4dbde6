# The machines of the CPUs run on as many threads as there are; what they say does not depend on it.

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from netcost_analysis._native import Capture
from support.perfdata import Cpu, Recording, cpu, recording
from support.perfdata import happenings as h
from support.told import NAPI_THREAD, NET_RX, TIMER
from support.tracedat import write_trace_dat

CPUS, STEPS, STEP = 16, 400, 1000
TASKS = [h.Task(500 + number, f"worker-{number}") for number in range(2 * CPUS)]
# Prints a digest of every table of each capture, of the bytes that Arrow has of it.
DIGESTS = """
import hashlib, sys
import pyarrow as pa
from netcost_analysis._native import Capture

tables = "segments softirqs hardirqs polls slices migrations displaced".split()
for path in sys.argv[1:]:
    print("capture")
    for wanted, bins in ((tables, None), ([], 7_000_000)):
        got = Capture(path).timeline(wanted, bin_ns=bins)
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
        now = 1_000_000 + STEP * step + pick.randrange(5)
        task, other = pick.choice(TASKS), pick.choice(TASKS)
        vec = pick.choice((NET_RX, NET_RX, TIMER))
        told += (
            h.Waking(now, task, pick.randrange(CPUS)),
            h.IrqEntry(now + 20, 32 + number, f"eth{number % 3}-{number}"),
            h.SoftirqRaise(now + 30, NET_RX),
            h.IrqExit(now + 40, 32 + number),
            h.SoftirqEntry(now + 50, vec),
        )
        if vec == NET_RX and pick.random() < 0.9:
            device, napi = f"eth{number % 3}", 4096 * (1 + number)
            told.append(h.NapiPoll(now + 90, device, pick.randrange(64), 64, napi))
        told += (
            h.SoftirqExit(now + 100, vec),
            h.MigrateTask(now + 150, other, pick.randrange(CPUS), number),
            h.Switch(now + 200, other, pick.choice((0, 0, 1))),
        )
        if step % CPUS == number:
            told += (
                h.Switch(now + 250, NAPI_THREAD, 0),
                h.NapiPoll(now + 300, "eth9", 3),
                h.Switch(now + 350, other, pick.choice((0, 1))),
            )
        if pick.random() < 0.01:
            told.append(h.Lost(now + 500, 1 + pick.randrange(9)))
        if step % 50 == 49:
            told.append(h.Flush(now + 600))
    return cpu(number, *told, task=TASKS[number])


# The texts of the events that a busy CPU has, as perf prints them.
VEC = "vec={vec} [action=]"
PRINTED = {
    "irq:irq_handler_entry": "irq={irq} name={name}",
    "irq:irq_handler_exit": "irq={irq} ret=handled",
    **dict.fromkeys(("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"), VEC),
    "napi:napi_poll": (
        "napi poll on napi struct {napi:016x} for device {dev_name} work {work} budget {budget}"
    ),
    "sched:sched_waking": "comm={comm} pid={pid} prio={prio} target_cpu={target_cpu:03}",
    "sched:sched_migrate_task": (
        "comm={comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"
    ),
    "sched:sched_switch": (
        "prev_comm={prev_comm} prev_pid={prev_pid} prev_prio={prev_prio} prev_state={state} ==> "
        "next_comm={next_comm} next_pid={next_pid} next_prio={next_prio}"
    ),
}


# The same as perf script would print it, but for the losses.
def printed(told: Recording, path: Path) -> Path:
    lines = []
    for name, table in Capture(str(told.write(path.with_suffix(".data")))).all_events().items():
        for row in pa.table(table).to_pylist():
            row["state"] = "S" if row.get("prev_state") else "R"
            seconds, ns = divmod(row["time_ns"], 10**9)
            who = f"{row['common_comm']} {row['common_pid']} [{row['common_cpu']:03}]"
            text = PRINTED[name].format(**row)
            lines.append((row["time_ns"], f"{who} {seconds}.{ns:09}: {name}: {text}\n"))
    path.write_text("".join(text for _, text in sorted(lines, key=lambda one: one[0])))
    return path


WRITTEN: dict[str, Callable[[Recording, Path], Path]] = {
    "file": lambda told, folder: told.write(folder / "perf.data"),
    "compressed pipe": lambda told, folder: told.write(folder / "perf.data", "pipe", compressed=2),
    "directory": lambda told, folder: told.write(folder / "perf.data", "directory"),
    "trace.dat": lambda told, folder: write_trace_dat(told, folder / "trace.dat"),
    "text": lambda told, folder: printed(told, folder / "trace.txt"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    told = recording(*map(busy, range(CPUS)), known=(*TASKS, NAPI_THREAD))
    return {way: write(told, tmp_path_factory.mktemp("way")) for way, write in WRITTEN.items()}


# By threads and by ways of writing: a process has its threads once and for all.
@pytest.fixture(scope="module")
def digests(written: dict[str, Path]) -> dict[int, dict[str, list[str]]]:
    found = {}
    for threads in (1, 2, 8):
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
    assert digests[2][way] == digests[8][way] == alone

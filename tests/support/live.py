# One live recording per test session, of this machine under a small load.

import subprocess
import sys
from pathlib import Path

import pytest

from support.host import require_root_tracing

# Datagrams for so many seconds, as a program.
LIVE_LOAD = Path(__file__).parent / "live_load.py"
EVENTS = [
    *("irq:irq_handler_entry", "irq:irq_handler_exit"),
    *("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"),
    "napi:napi_poll",
    *("sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_waking"),
    *("sched:sched_migrate_task", "sched:sched_process_fork"),
    *("sched:sched_process_exec", "sched:sched_process_exit"),
]
# Not every host lets perf record interrupt vectors.
VECTORS = [
    f"irq_vectors:{name}_{edge}"
    for name in ("local_timer", "call_function_single", "reschedule")
    for edge in ("entry", "exit")
]


def record(path: Path, *options: str, events: list[str] = EVENTS, seconds: float = 0.8) -> Path:
    perf = require_root_tracing()
    load = [sys.executable, str(LIVE_LOAD), str(seconds)]
    command = [
        perf,
        "record",
        "-a",
        "-k",
        "CLOCK_MONOTONIC",
        "-c",
        "1",
        "-m",
        "4096",
        "-B",
        "-N",
        *options,
    ]
    done = subprocess.run(
        [*command, "-o", str(path), "-e", ",".join(events), "--", *load],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if done.returncode != 0:
        pytest.fail(f"perf record: {done.stderr[-500:]}")
    return path


def vectors_are_recordable(scratch: Path) -> bool:
    perf = require_root_tracing()
    probe = [perf, "record", "-q", "-a", "-o", str(scratch), "-e", ",".join(VECTORS), "--", "true"]
    return subprocess.run(probe, capture_output=True, timeout=60).returncode == 0

# The capture that everything is measured on: recorded live where the host allows it, else written
# from a description.

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EVENTS = [
    *("irq:irq_handler_entry", "irq:irq_handler_exit"),
    *("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"),
    "napi:napi_poll",
    *("sched:sched_switch", "sched:sched_wakeup", "sched:sched_waking", "sched:sched_migrate_task"),
]


def samples(path: Path) -> int:
    from netcost_analysis._native import Capture

    return int(Capture(str(path)).scan()["records"].get("SAMPLE", 0))


# What perf writes of one event of the flood; the sizes of five recordings lay between 79 and 81.
_BYTES_PER_EVENT = 82


def record(path: Path, wanted: int, floods: Sequence[str] = ()) -> str | None:
    """
    Record until the capture holds ``wanted`` events and not many more: hosts differ in how many
    the flood causes a second.

    :param floods: a flood on each of these CPUs, as flood.py takes them, rather than one for all
    :returns: how it was made, or None where this host cannot record tracepoints
    """
    perf = shutil.which("perf")
    if perf is None:
        return None
    flood = [sys.executable, str(ROOT / "benchmarks" / "flood.py"), "120", *floods]
    options = ["-a", "-k", "CLOCK_MONOTONIC", "-c", "1", "-m", "16M", "-B", "-N", "-q"]
    options += [f"--max-size={wanted * _BYTES_PER_EVENT}B"]
    command = [perf, "record", *options, "-o", str(path), "-e", ",".join(EVENTS), "--", *flood]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # At that size perf stops the flood and leaves with its signal.
    if done.returncode not in (0, 128 + signal.SIGTERM, -signal.SIGTERM):
        print(f"cannot record: {done.stderr.strip()[:200]}", file=sys.stderr)
        return None
    return "recorded live: loopback datagrams"


def synthesise(path: Path, wanted: int) -> str:
    """Write a capture of ``wanted`` events with the tests' writer: interrupts that rob openssl."""
    sys.path.insert(0, str(ROOT / "tests"))
    from support.perfdata import cpu, recording
    from support.perfdata import happenings as h

    openssl = h.Task(500, "openssl")
    lanes = []
    for number in range(2):
        told: list[h.Happening] = []
        now = 1_000_000_000
        while len(told) < wanted / 2:
            told += (
                h.IrqEntry(now, 32, "virtio2-input.0"),
                h.SoftirqRaise(now + 900, 3),
                h.IrqExit(now + 1_500, 32),
                h.SoftirqEntry(now + 1_900, 3),
                h.NapiPoll(now + 9_000, "eth0", 8),
                h.SoftirqExit(now + 9_600, 3),
            )
            if len(told) % 2_000 == 0:
                told.append(h.Flush(now + 9_700))
            now += 40_000
        lanes.append(cpu(number, *told, task=openssl))
    recording(*lanes, known=(openssl,)).write(path)
    return "synthesised: one poll of 8 packets each 40 us and CPU"


def make(path: Path, wanted: int, live: bool) -> str:
    made = record(path, wanted) if live and os.geteuid() == 0 else None
    return made or synthesise(path, wanted)

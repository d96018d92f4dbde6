# Reads a capture in a process of its own, which the kernel ends when it has used too much processor
# time or address space; and writes captures of many samples quickly.

import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from support.perfdata import USUAL, Attr, Common, Encoder, Format, Sample, Where, write_pipe
from support.perfdata import tracepoints as t
from support.perfdata.formats import Value
from support.perfdata.machine import X86_64

# Where USUAL places what varies from sample to sample, and where an event's own fields begin.
TIME, CPU, COMMON_PID, FIELDS = 32, 40, 64, 68
# And those of sched_switch.
PREV_PID, NEXT_PID = FIELDS + 16, FIELDS + 48
HARDIRQ, SOFTIRQ = 0x08, 0x10
LINES = (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)
EXIT: dict[str, Value] = {"irq": 1, "ret": 1}
READER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
from netcost_analysis._native import Capture, CaptureError
capture = lambda: Capture(sys.argv[1])
try:
    {what}
except (CaptureError, OSError) as error:
    assert str(error) and "\\n" not in str(error), str(error)
    print(type(error).__name__, error)
else:
    print("read")
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak[0].split()[1]) // 1024)
"""


# What the reader printed or raised. The 1 GiB is the project's promise for a capture of any size.
def bounded(path: Path, what: str, seconds: int = 3, megabytes: int = 1024) -> str:
    done = subprocess.run(
        [sys.executable, "-c", READER.format(what=what, seconds=seconds), str(path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    spent = f"more than {seconds} s of processor time" if done.returncode < 0 else done.stderr
    assert done.returncode == 0, f"{path.name}: {spent[-800:]}"
    said, peak = done.stdout.strip().rsplit("\n", 1)
    assert int(peak) < megabytes, f"{path.stat().st_size} bytes took {peak} MiB"
    return said


TIMER = """
import sys, time
from netcost_analysis._native import Capture
def spent(path):
    capture = lambda: Capture(path)
    before = time.process_time()
    {what}
    return time.process_time() - before
print(*(min(spent(path) for _ in range(5)) for path in sys.argv[1:]))
"""


# How many times the processor time one capture takes that another does.
def ratio(small: Path, large: Path, what: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", TIMER.format(what=what), str(small), str(large)],
        capture_output=True,
        text=True,
        check=True,
    )
    few, many = map(float, done.stdout.split())
    return many / few


def attrs(formats: tuple[Format, ...]) -> list[Attr]:
    return [Attr(one.event, one.id, (100 + place,)) for place, one in enumerate(formats)]


def sample(
    formats: tuple[Format, ...],
    format_: Format,
    values: dict[str, Value],
    flags: int = 0,
    time: int = 1000,
    cpu: int = 0,
) -> Sample:
    raw = format_.pack(values, Common(flags, 1, 500), X86_64)
    return Sample(Where(cpu, time, 500, 500, formats.index(format_)), raw)


def exit_sample(time: int = 1000, cpu: int = 0) -> Sample:
    return sample(LINES, t.IRQ_HANDLER_EXIT, EXIT, time=time, cpu=cpu)


# From one task to another; preempted, unless it goes to sleep.
def switch(
    formats: tuple[Format, ...],
    prev: int,
    following: int,
    comms: tuple[str, str] = ("a", "a"),
    sleeps: bool = True,
) -> Sample:
    before: dict[str, Value] = {"prev_comm": comms[0], "prev_pid": prev, "prev_state": int(sleeps)}
    after: dict[str, Value] = {"next_comm": comms[1], "next_pid": following}
    values = {**before, "prev_prio": 120, **after, "next_prio": 120}
    raw = t.SCHED_SWITCH.pack(values, Common(0, 1, prev), X86_64)
    return Sample(Where(0, 1000, prev, prev, formats.index(t.SCHED_SWITCH)), raw)


Block = npt.NDArray[np.uint8]


def repeated(data: bytes, count: int) -> Block:
    return np.tile(np.frombuffer(data, np.uint8), (count, 1))


# One sample many times over, as rows of bytes into which `put` writes what differs.
def block(formats: tuple[Format, ...], count: int, one: Sample) -> Block:
    assert attrs(formats)[0].sample_type == USUAL
    return repeated(Encoder(attrs(formats)).encode(one), count)


def put(rows: Block, offset: int, values: npt.NDArray[np.int64], kind: str = "<i4") -> None:
    data = np.ascontiguousarray(values.astype(kind)).view(np.uint8).reshape(len(rows), -1)
    rows[:, offset : offset + data.shape[1]] = data


def pipe(path: Path, formats: tuple[Format, ...], data: bytes) -> Path:
    path.write_bytes(write_pipe(attrs(formats), formats, []) + data)
    return path

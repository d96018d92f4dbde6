# Reads mutants one after the other in a process that may die of one: it says which it begins, and
# what was wrong with the last. By hand, with a number or a capture:
# PYTHONPATH=tests python -m support.mutation_worker NUMBER

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from netcost_analysis._native import Capture, CaptureError
from support.host import ROOT
from support.mutations import Mutant, mutant
from support.native_tables import ALL_TABLES
from support.small_captures import small_captures

MIB = 1 << 20
# Of processor time, and of time in which none is used. Reading one takes milliseconds.
SECONDS, STUCK = 5.0, 60.0
# What reading a capture may touch: buffers and tables per CPU and event, and for each byte the rows
# that stand for it in all tables.
RESIDENT, RESIDENT_PER_BYTE = 8 * MIB, 128
# What it may reserve besides: zstd's largest window.
RESERVED = 160 * MIB
# What a wrapped capture may be unpacked to, on disk.
WRITTEN = 128 * MIB


# How far reading a mutant got, and what is wrong with that.
@dataclass
class Outcome:
    number: int = 0
    steps: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


Reader = Callable[[str, Outcome], None]


def read(path: str, outcome: Outcome, opened: Callable[[str], Any] = Capture) -> None:
    def step(name: str, call: Callable[[], Any]) -> Any:
        try:
            found = call()
        except CaptureError as error:
            outcome.wrong += [f"{name}: {one}" for one in ugly([str(error)])]
            return None
        except BaseException as error:  # a panic is no Exception
            outcome.wrong.append(f"{name}: {type(error).__name__}: {error}")
            return None
        outcome.steps.append(name)
        outcome.wrong += [f"{name}: {one}" for one in ill(found)]
        return found

    capture = step("open", lambda: opened(path))
    if capture is None:
        return
    header = step("header", capture.header) or {"events": []}
    step("scan", capture.scan)
    step("all_events", capture.all_events)
    for name in list(dict.fromkeys(event["name"] for event in header["events"]))[:32]:
        step("samples", partial(capture.samples, name))
    step("mappings", capture.mappings)
    step("kernel_symbols", capture.kernel_symbols)
    step("kallsyms", capture.kallsyms)
    step("timeline", lambda: capture.timeline([*ALL_TABLES, "displaced"]))


# Tables and sentences anywhere in an answer, and what is wrong with them.
def ill(found: Any) -> Iterable[str]:
    if isinstance(found, dict):
        for name, value in found.items():
            yield from ugly(value) if name == "notes" else ill(value)
    elif hasattr(found, "__arrow_c_stream__"):
        try:
            pa.table(found).validate(full=True)
        except (pa.ArrowException, UnicodeError) as error:
            yield f"a table is malformed: {error}"


def ugly(sentences: Iterable[str]) -> Iterable[str]:
    for one in sentences:
        if not one or "\n" in one or not one.isprintable():
            yield f"not one printable line: {one!r}"


# Numbers from /proc/self/statm and status, in bytes.
def sizes() -> tuple[int, int]:
    with open("/proc/self/statm", "rb") as file:
        total, resident = file.read().split()[:2]
    return int(total) * resource.getpagesize(), int(resident) * resource.getpagesize()


def most_resident() -> int:
    with open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(b"VmHWM"))


def complaints() -> int:
    found = os.fstat(2)
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def bounded(reader: Reader, path: str, size: int, number: int = 0) -> Outcome:
    outcome = Outcome(number)
    total, resident = sizes()
    Path("/proc/self/clear_refs").write_text("5")
    said = complaints()
    # The kernel ends the process; its parent knows what it was at.
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    hard = resource.RLIM_INFINITY
    allowed = RESIDENT + RESIDENT_PER_BYTE * size
    resource.setrlimit(resource.RLIMIT_AS, (total + RESERVED + allowed, hard))
    reader(path, outcome)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    grown = most_resident() - resident
    if grown > allowed:
        outcome.wrong.append(f"{grown} bytes more were in memory, {allowed} are allowed")
    # A panic that nobody passed on, as in a thread that reads ahead, is at least printed.
    if complaints() > said:
        outcome.wrong.append("it wrote to standard error")
    return outcome


def lay_out(one: Mutant, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in one.files.items():
        (folder / name).write_bytes(data)
    return folder if len(one.files) > 1 else folder / "data"


def speak(*words: object) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())


def run(reader: Reader, numbers: Iterable[int]) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        # Threads, caches and imports are there before anything is measured.
        for name, small in small_captures().items():
            read(str(lay_out(Mutant(0, name, (), small.files), Path(folder, name))), Outcome())
        for number in numbers:
            one = mutant(number)
            speak("reads", number)
            path = lay_out(one, Path(folder, one.kind))
            outcome = bounded(reader, str(path), one.size, number)
            speak("has read", one.kind, one.done, outcome.steps, outcome.wrong)


def main(*words: str) -> None:
    if len(words) == 1 and not words[0].isdigit():
        print(bounded(read, words[0], os.path.getsize(words[0])))
    elif len(words) == 1:
        run(read, [int(words[0])])
    else:
        module, name = words[0].split(":")
        run(getattr(import_module(module), name), range(*map(int, words[1:])))


# From here on the parent: mutants by the thousands in such processes, and what became of them.
WORKERS = 2
# Enough to see what is wrong; a worker that dies costs a start.
MAX_FINDINGS = 20
KEPT = ROOT / "build" / "mutants"
# What has been given back is not in memory any more, so that each mutant is measured by itself; one
# heap for all threads, so that none reserves its own in the middle of a mutant.
ALLOCATOR = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "RAYON_NUM_THREADS": "2",
}


@dataclass
class Tally:
    read: int = 0
    # How many mutants of each kind of capture got how far, and what was done to them.
    kinds: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)
    damage: Counter[str] = field(default_factory=Counter)
    # By number, what was wrong.
    findings: dict[int, str] = field(default_factory=dict)


def run_mutants(
    count: int, reader: str = "support.mutation_worker:read", keep_findings: bool = True
) -> Tally:
    tally = Tally()
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in pool.map(lambda first: shift(tally, reader, first, count), range(WORKERS)):
            pass
    for number in tally.findings if keep_findings else ():
        keep(number)
    return tally


# One worker after another, each from where the one before it died.
def shift(tally: Tally, reader: str, first: int, count: int) -> None:
    while first < count and len(tally.findings) < MAX_FINDINGS:
        first = until_it_dies(tally, reader, first, count) + WORKERS


def until_it_dies(tally: Tally, reader: str, first: int, count: int) -> int:
    command = [sys.executable, "-m", "support.mutation_worker", reader]
    command += [str(first), str(count), str(WORKERS)]
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {**os.environ, **ALLOCATOR, "PYTHONPATH": path}
    number = first
    with tempfile.TemporaryFile() as complaints:
        worker = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, env=environment, cwd=ROOT
        )
        assert worker.stdout is not None
        with worker, worker.stdout:
            for line in worker.stdout:
                match json.loads(line):
                    case ["reads", begun]:
                        number = int(begun)
                    case ["has read", kind, done, steps, wrong]:
                        tally.read += 1
                        tally.kinds[kind] += 1
                        tally.damage.update(set(done))
                        tally.steps.update(set(steps))
                        if wrong:
                            tally.findings[number] = "; ".join(wrong)
        if worker.returncode == 0:
            return count
        complaints.seek(0)
        end = complaints.read().decode(errors="replace").strip()[-500:]
    ended = worker.returncode
    how = f"died of {signal.Signals(-ended).name}" if ended < 0 else f"ended with {ended}"
    tally.findings[number] = f"the process {how} {end}"
    return number


def keep(number: int) -> None:
    folder = KEPT / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(mutant(number), folder)


def told(tally: Tally) -> str:
    said = [
        f"{mutant(number)}: {what}\n  kept in {KEPT / str(number)}, "
        f"again: PYTHONPATH=tests python -m support.mutation_worker {number}"
        for number, what in sorted(tally.findings.items())
    ]
    return "\n".join([f"{len(said)} findings in {tally.read} mutants", *said])


if __name__ == "__main__":
    # Whoever imports this module is to have the same one.
    import_module("support.mutation_worker").main(*sys.argv[1:])

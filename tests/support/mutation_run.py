# Mutants by the thousands in worker processes, and what became of them.

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from support.host import ROOT
from support.mutation_worker import lay_out
from support.mutations import mutant

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

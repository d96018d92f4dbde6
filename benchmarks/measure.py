# One measured run of one command: wall time and the peak memory of the process and its children.

import json
import os
import subprocess
import time
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Run:
    seconds: float
    cpu_seconds: float
    peak_mib: float
    again_seconds: float | None = None


@dataclass(frozen=True)
class Way:
    name: str
    command: tuple[str, ...]
    # In-process ways print their seconds themselves, so that imports are not in the figure.
    in_process: bool = False


# wait4 gives the largest resident set of the child alone or of any child it waited for.
def run(way: Way) -> Run:
    start = time.perf_counter()
    output = subprocess.PIPE if way.in_process else subprocess.DEVNULL
    child = subprocess.Popen(way.command, stdout=output, stderr=subprocess.DEVNULL)
    printed = child.stdout.read() if child.stdout else b""
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise RuntimeError(f"{' '.join(way.command)}: exit {child.returncode}")
    if way.in_process:
        told = json.loads(printed)
        peak = usage.ru_maxrss / 1024
        return Run(told["seconds"], told["cpu_seconds"], peak, told.get("again_seconds"))
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


@dataclass(frozen=True)
class Figure:
    way: Way
    seconds: float
    spread: float
    cpu_seconds: float
    peak_mib: float
    again_seconds: float | None


# Rounds and not blocks: what drifts on the machine during the run drifts for everyone.
def compare(ways: list[Way], repeats: int) -> list[Figure]:
    runs: dict[str, list[Run]] = {way.name: [] for way in ways}
    for way in ways:
        run(way)
    for _ in range(repeats):
        for way in ways:
            runs[way.name].append(run(way))
    return [figure(way, runs[way.name]) for way in ways]


def figure(way: Way, runs: list[Run]) -> Figure:
    seconds = [one.seconds for one in runs]
    again = [one.again_seconds for one in runs if one.again_seconds is not None]
    return Figure(
        way,
        median(seconds),
        max(seconds) - min(seconds),
        median(one.cpu_seconds for one in runs),
        max(one.peak_mib for one in runs),
        median(again) if again else None,
    )

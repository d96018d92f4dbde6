# How fast a fleet is asked, with one worker and with two: captures made from the samples, from a
# cluster that runs to the dataset that is written.
#     python -m benchmarks.fleet

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

_MAKE = Path(__file__).resolve().parent.parent / "sample-data" / "make-fleet"
# Of 12 hosts each.
_DAYS = 4
# What a second worker shall be worth: captures share nothing.
_WANTED = 1.8


@dataclass(frozen=True)
class Measured:
    workers: int
    captures: int
    megabytes: float
    events: int
    dataset_kib: float
    # With the cluster's start, without it, and of all workers the time for captures.
    process_s: float
    asking_s: float
    worker_s: float


def measure(days: int = _DAYS) -> list[Measured]:
    """With one worker and with two; nothing on a machine with one core."""
    counts = [count for count in (1, 2) if count <= len(os.sched_getaffinity(0))]
    with TemporaryDirectory() as folder:
        made = Path(folder) / "captures"
        subprocess.run(
            [sys.executable, str(_MAKE), str(made), "--days", str(days)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return [_measured(made, Path(folder) / f"fleet-{count}", count) for count in counts]


def _measured(captures: Path, folder: Path, workers: int) -> Measured:
    import netcost_analysis as netcost
    from netcost_analysis.gathering import gather
    from netcost_analysis.gathering.cluster import ask_all, connected
    from netcost_analysis.gathering.sources import sources

    began = time.perf_counter()
    with connected(workers=workers) as client:
        # Imports once, as in a cluster that is there.
        first = sources([str(captures)])[:workers]
        list(ask_all(client, [(one, None) for one in first]))
        started = time.perf_counter()
        address = client.scheduler.address
        gather.gather_fleet([captures], folder, scheduler=address)
        asked = time.perf_counter()
    ended = time.perf_counter()
    fleet = netcost.open_fleet(folder).captures
    return Measured(
        workers,
        len(fleet),
        float(fleet["bytes"].sum()) / 1e6,
        int(fleet["events"].sum()),
        sum(path.stat().st_size for path in folder.rglob("*.parquet")) / 1024,
        ended - began,
        asked - started,
        float(fleet["took_ns"].sum()) / 1e9,
    )


HEAD = (
    *("workers", "captures", "MB", "M events", "time (s)", "captures/s"),
    *("worker time a capture (s)", "with the cluster's start and end (s)", "dataset (KiB)"),
)


def table(found: list[Measured]) -> str:
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for one in found:
        cells = [
            *(str(one.workers), str(one.captures), f"{one.megabytes:.0f}"),
            *(f"{one.events / 1e6:.2f}", f"{one.asking_s:.1f}"),
            f"{one.captures / one.asking_s:.1f}",
            f"{one.worker_s / one.captures:.2f}",
            *(f"{one.process_s:.1f}", f"{one.dataset_kib:.0f}"),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def targets(found: list[Measured]) -> str:
    lines = ["| target | wanted | measured | |", "|---|---|---|---|"]
    if len(found) > 1:
        worth = found[0].asking_s / found[1].asking_s
        verdict = "met" if worth >= _WANTED else "**missed**"
        lines.append(f"| two workers against one | {_WANTED:g} | {worth:.2f} | {verdict} |")
    return "\n".join(lines)


def section(found: list[Measured]) -> str:
    return f"""
## A fleet

`netcost fleet` on captures made by `sample-data/make-fleet`, 0.5 s of two CPUs each, by
Dask's workers of one thread. `worker time a capture` is what a worker takes from opening it to its
answers; on a machine with two cores client and scheduler take from both.

{table(found)}

{targets(found)}
"""


if __name__ == "__main__":
    measured = measure()
    print(table(measured))
    print(targets(measured))

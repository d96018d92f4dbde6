# What a timeline's tiles take to make, and each of them at every zoom:
# `python -m benchmarks.tiles CAPTURE [--sums]`, --sums without the segments, as of what is larger
# than memory. benchmarks.repeat makes a large capture of a small one.

import argparse
import resource
import time
from collections.abc import Callable
from typing import TypeVar

from netcost_analysis.opening.opening import open_capture
from netcost_analysis.view.owners import BUCKETS
from netcost_analysis.view.tiles import Tiles

_A_LEVEL = 20
T = TypeVar("T")


def timed(make: Callable[[], T]) -> tuple[T, float]:
    # Processor time: neighbours on the machine move wall time more.
    before = resource.getrusage(resource.RUSAGE_SELF)
    made = make()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return made, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tiles")
    parser.add_argument("capture")
    parser.add_argument("--sums", action="store_true")
    given = parser.parse_args()
    capture = open_capture(given.capture)
    kept = {"most_segments": -1} if given.sums else {"most_segments": 2**40}
    tiles, seconds = timed(lambda: Tiles.of_capture(capture, **kept))
    segments = sum(tiles.timeline.columns("sums")["segments"])
    print(
        f"{capture.event_count:,} events, {segments:,} segments: {seconds:.2f} s of processor "
        f"time, {peak_mib():.0f} MiB; sums from level {tiles.base_level} on"
    )
    print("| level | tiles | median (ms) | longest (ms) | largest (kB) | peak (MiB) |")
    print("|---" * 6 + "|")
    last = tiles.header()["max_level"]
    for level in range(last, -1, -1):
        count = -(-tiles.duration_ns // (BUCKETS << level))
        chosen = sorted({count * place // _A_LEVEL for place in range(_A_LEVEL)})
        took, size = [], 0
        for index in chosen:
            begun = time.perf_counter()
            size = max(size, len(tiles.tile(level, index)))
            took.append(1e3 * (time.perf_counter() - begun))
        took.sort()
        print(
            f"| {level} | {len(chosen)} | {took[len(took) // 2]:.2f} | {took[-1]:.2f} "
            f"| {size / 1e3:.0f} | {peak_mib():.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

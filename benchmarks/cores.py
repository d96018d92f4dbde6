# What a second core is worth, and how much more than the walk each way takes: on the capture that
# is measured, on one whose CPUs were equally busy, on one of whose CPUs one had most of the events,
# and on a large one; of the first and the last beside `perf kwork report` too.

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import recording
from benchmarks.measure import Figure, Way, compare, run
from benchmarks.rates import best

WAYS = ("walk", "decode", "sums", "tables")
LARGE = 20_000_000
# The tables shall take at most so much of `perf kwork report`, by the capture's name.
KWORK_SHARES = {"the same": 2 / 3, "large": 0.5}
# For which part of the time the other CPU's flood runs: then one has some 62 % of all events.
UNEVEN_SHARE = 0.61


@dataclass(frozen=True)
class Measured:
    name: str
    events: int
    # Of all events of the ledger those of the CPU that had most.
    busiest: float
    figures: dict[tuple[str, int], Figure]
    # What two processes do at once, each on a CPU of its own, over what one does: no second CPU
    # can be worth more here.
    at_once: dict[str, float]
    kwork: Figure | None = None


def measure(path: Path, folder: Path, repeats: int, live: bool) -> list[Measured]:
    cpus = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))][:2]
    if len(cpus) < 2:
        return []
    found = [measured("the same", path, cpus, repeats)]
    if not live:
        return found
    events = recording.samples(path)
    everywhere = [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]
    uneven = [cpus[0], f"{cpus[1]}:{UNEVEN_SHARE}"]
    cases: list[tuple[str, int, list[str]]] = [
        ("balanced", events, everywhere),
        ("uneven", events, uneven),
        ("large", LARGE, []),
    ]
    for name, wanted, floods in cases:
        made = folder / f"{name}.perf.data"
        if recording.record(made, wanted, floods) is not None:
            found.append(measured(name, made, cpus, repeats))
            made.unlink()
    return found


def measured(name: str, path: Path, cpus: list[str], repeats: int) -> Measured:
    inside = (sys.executable, "-m", "benchmarks.in_process")
    of = {
        (way, count): (*inside, way, str(path), ",".join(cpus[:count]))
        for way in WAYS
        for count in (1, 2)
    }
    ways = [Way(f"{way} {count}", of[way, count], True) for way, count in of]
    beside_kwork = name in KWORK_SHARES
    if beside_kwork:
        ways.append(Way("kwork", ("perf", "kwork", "-f", "report", "-i", str(path))))
    figures = compare(ways, repeats)
    kwork = figures.pop() if beside_kwork else None
    by_way = dict(zip(of, figures, strict=True))
    at_once = {way: _at_once(way, path, cpus, repeats) for way in ("sums", "tables")}
    return Measured(name, recording.samples(path), busiest(path), by_way, at_once, kwork)


def _at_once(way: str, path: Path, cpus: list[str], repeats: int) -> float:
    inside = (sys.executable, "-m", "benchmarks.in_process")
    ways = [Way(f"{way} on {cpu}", (*inside, way, str(path), cpu), True) for cpu in cpus]
    ratios = []
    with ThreadPoolExecutor(len(ways)) as pool:
        for _ in range(repeats):
            alone = [run(one).again_seconds or 0.0 for one in ways]
            together = [one.again_seconds or 0.0 for one in pool.map(run, ways)]
            ratios.append(sum(one / both for one, both in zip(alone, together, strict=True)))
    return median(ratios)


def busiest(path: Path) -> float:
    import pyarrow as pa

    from netcost_analysis._native import Capture

    sums = pa.table(Capture(str(path)).timeline([])["sums"]).to_pydict()
    of: dict[int, int] = {}
    for cpu, count in zip(sums["cpu"], sums["segments"], strict=True):
        of[cpu] = of.get(cpu, 0) + count
    return max(of.values()) / sum(of.values())


def rows(found: list[Measured]) -> list[tuple[str, ...]]:
    lines = []
    for one in found:
        walked = best(one.figures["walk", 1])
        for way in WAYS:
            alone, both = (best(one.figures[way, count]) for count in (1, 2))
            lines.append(
                (
                    one.name,
                    f"{one.events / 1e6:.1f}",
                    f"{one.busiest:.0%}",
                    way,
                    f"{alone:.3f}",
                    f"{both:.3f}",
                    f"{alone / both:.2f}",
                    f"{one.at_once[way]:.2f}" if way in one.at_once else "",
                    f"{alone / walked:.2f}",
                    f"{one.figures[way, 2].peak_mib:.0f}",
                )
            )
    return lines


HEAD = (
    *("capture", "M events", "busiest CPU", "way", "one core (s)", "two (s)"),
    *("two against one", "two processes", "of the walk", "peak (MiB)"),
)


def table(found: list[Measured]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *rows(found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# What a second core shall be worth: less where one CPU has most of the events, for a CPU's machine
# takes one event after the other.
def wanted(busiest: float) -> float:
    return 1.8 if busiest <= 0.55 else 1.6 if busiest <= 0.7 else 1.4


def targets(found: list[Measured]) -> str:
    lines = ["| target | wanted | measured | |", "|---|---|---|---|"]
    for one in found:
        walked = best(one.figures["walk", 1])
        for way, most in (("decode", 2.5), ("sums", 2.0)):
            of = best(one.figures[way, 1]) / walked
            verdict = "met" if of <= most else "**missed**"
            lines.append(
                f"| {one.name}: {way}, one core, of the walk | {most:g} | {of:.2f} | {verdict} |"
            )
        for way in ("sums", "tables"):
            least, got = wanted(one.busiest), best(one.figures[way, 1]) / best(one.figures[way, 2])
            verdict = "met" if got >= least else "**missed**"
            lines.append(
                f"| {one.name}: {way}, two cores against one | {least:g} | {got:.2f} | {verdict} |"
            )
        if one.kwork is not None:
            of = best(one.figures["tables", 2]) / one.kwork.seconds
            most = KWORK_SHARES[one.name]
            verdict = "met" if of <= most else "**missed**"
            named = f"{one.name}: tables, two cores, of perf kwork report"
            lines.append(f"| {named} | {most:.2f} | {of:.2f} | {verdict} |")
    return "\n".join(lines)


def section(found: list[Measured]) -> str:
    return f"""
## Cores

In process, the later calls of it (`again` above), on one CPU and on two. `the same` is the capture
above, `balanced` one with a flood on each CPU, `uneven` one with a flood on two of them, on the
other for {UNEVEN_SHARE:.0%} of the time, `large` one of {LARGE // 1_000_000} million events and one
flood. `busiest CPU` is its share of all segments of time: a CPU's events are taken one after the
other. `two processes` is how much two of them do at once, each on one CPU and with all the work to
itself, over what one does: where that is below 2, the CPUs share caches, memory or a core, and no
way of dividing the work can give more.

{table(found)}

{targets(found)}

- **walk**: every record and its header, counted; no column is built.
- **decode**: every event to typed Arrow columns.
- **sums**: the ledger's sums by owner of time.
- **tables**: segments, softirqs and polls as Arrow tables.
"""

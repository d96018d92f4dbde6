# Every question that a bare recording can be asked, each in a process of its own, beside
# `perf script` on the same file: what a reader waits for an answer.

import sys
from pathlib import Path

from benchmarks.measure import Figure, Way, compare

SCRIPT = "perf script"
# Its output is the least that a script of one's own would have to read.
_PAGE = "`netcost ask QUESTION` of the same capture"


def names() -> list[str]:
    from netcost_analysis.questions import questions

    known = questions().values()
    return sorted(one.name for one in known if set(one.sources) <= {"Timeline", "Capture"})


def measure(capture: Path, repeats: int) -> list[Figure]:
    inside = (sys.executable, "-m", "benchmarks.in_process")
    ways = [Way(SCRIPT, ("perf", "script", "-f", "-i", str(capture)))]
    ways += [Way(name, (*inside, f"ask:{name}", str(capture)), True) for name in names()]
    return compare(ways, repeats)


def table(figures: list[Figure]) -> str:
    script = next(one for one in figures if one.way.name == SCRIPT)
    lines = [
        "| question | time (s) | CPU (s) | of perf script | peak (MiB) |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.way.name} | {one.seconds:.2f} | {one.cpu_seconds:.2f} "
        f"| {one.seconds / script.seconds:.2f} | {one.peak_mib:.0f} |"
        for one in figures
    ]
    return "\n".join(lines)


def section(figures: list[Figure], repeats: int) -> str:
    return f"""
## Questions

{_PAGE}, from opening it to the answer, imports not counted; median of {repeats}. Beside
`perf script`, whose output is the least that a script of one's own would have to read.

{table(figures)}
"""

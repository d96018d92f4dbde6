# Every question that a bare recording can be asked, each in a process of its own, beside
# `perf script` on the same file: what a reader waits for an answer.

import sys
from pathlib import Path

from benchmarks.measure import Figure, Way, compare

SCRIPT = "perf script"
# Its output is the least that a script of one's own would have to read.
_PAGE = "`netcost ask QUESTION` of the same capture"


def names() -> list[str]:
    from netcost_analysis.answers.registry import questions

    known = questions().values()
    return sorted(one.name for one in known if set(one.sources) <= {"Timeline", "Capture"})


def measure(capture: Path, repeats: int) -> list[Figure]:
    inside = (sys.executable, "-m", "benchmarks.in_process")
    figures = compare([Way(SCRIPT, ("perf", "script", "-f", "-i", str(capture)))], repeats)
    for name in names():
        try:
            way = Way(name, (*inside, f"ask:{name}", str(capture)), True)
            figures += compare([way], repeats)
        except RuntimeError:
            # Asked of what netcost-record keeps beside a trace, which a bare recording has not.
            print(f"{name} is not asked of a bare recording", file=sys.stderr)
    return figures


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


def section(figures: list[Figure]) -> str:
    return f"""
## Questions

{_PAGE}, from opening it to the answer, imports not counted; one run,
after one that is thrown away. Questions that a bare recording cannot answer are left out. Beside
`perf script`, whose output is the least that a script of one's own would have to read.

{table(figures)}
"""

# Whether time for an event and memory stay as they are when captures grow: 1, 4 and 16 times a
# recorded capture, one after the other on disk.
#     python -m benchmarks.large CAPTURE GIGABYTES [WAY...]

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import recording
from benchmarks.measure import Run, Way, run
from benchmarks.repeat import repeat

TIMES = (1, 4, 16)
_NOTEBOOKS = (
    *("stolen-time", "anatomy-and-batches", "devices"),
    "local-traffic-processes-and-migrations",
)
_QUESTIONS = ("squeezes", "idle_wakeups", "run_queue", "traffic_owners")
# What times of each size are compared with.
_KWORK = "perf kwork report"
WAYS = (
    _KWORK,
    "ledger",
    "stolen",
    "convert",
    "convert perfetto",
    *(f"ask {name}" for name in _QUESTIONS),
    *(f"report {name}" for name in _NOTEBOOKS),
)
_TRACE, _PASSES = ".perfetto-trace", ".passes"
# By how much the largest may be above the smallest.
_FLAT = 1.2
# Of the largest, by how a way begins: what its time is compared with, and how many times that it
# may be.
_WANTED = {"report": (_KWORK, 2.0), "ask": ("ledger", 2.5)}


@dataclass(frozen=True)
class Measured:
    way: str
    times: int
    events: int
    gigabytes: float
    run: Run
    # How often a page read all of it, and a part.
    passes: str = ""

    @property
    def event_ns(self) -> float:
        """CPU time for an event: neighbours on the machine move wall time more."""
        return self.run.cpu_seconds / self.events * 1e9


def measure(path: Path, gigabytes: float, ways: tuple[str, ...] = WAYS) -> list[Measured]:
    """Of captures that `path` is repeated to; the largest has at least so many gigabytes."""
    copies = max(1, -int(-gigabytes * 1e9 // (TIMES[-1] * path.stat().st_size)))
    found = []
    with TemporaryDirectory() as folder:
        for times in TIMES:
            made = Path(folder) / f"{times}.perf.data"
            repeat(path, copies * times, made)
            events, size = recording.samples(made), made.stat().st_size / 1e9
            for way in ways:
                out = Path(folder) / "out"
                done = run(Way(way, command(way, made, out)))
                note = out.with_suffix(_PASSES)
                passes = note.read_text() if note.exists() else ""
                found.append(Measured(way, times, events, size, done, passes))
                print(f"{times} x {way}: {done.seconds:.1f} s", file=sys.stderr)
                shutil.rmtree(out, ignore_errors=True)
                for ending in (_TRACE, _PASSES):
                    out.with_suffix(ending).unlink(missing_ok=True)
            made.unlink()
    return found


def command(way: str, path: Path, out: Path) -> tuple[str, ...]:
    if way == _KWORK:
        return ("perf", "kwork", "-f", "report", "-i", str(path))
    netcost = (sys.executable, "-m", "netcost_analysis")
    name, _, what = way.partition(" ")
    words = {
        "convert": ("-o", str(out.with_suffix(_TRACE) if what else out)),
        "report": ("-o", str(out.with_suffix(".html")), "--notebook", what),
    }
    if name == "ask":
        return (*netcost, name, what, str(path))
    if name == "report":
        netcost = (sys.executable, "-m", "benchmarks.passes", str(out.with_suffix(_PASSES)))
    return (*netcost, name, str(path), *words.get(name, ()))


def rows(found: list[Measured]) -> list[tuple[str, ...]]:
    kwork = {one.times: one.run.seconds for one in found if one.way == _KWORK}
    return [
        (
            *(one.way, str(one.times), f"{one.gigabytes:.2f}", f"{one.events / 1e6:.1f}"),
            f"{one.run.seconds:.1f}",
            f"{one.run.seconds / kwork[one.times]:.2f}" if one.times in kwork else "",
            *(f"{one.event_ns:.0f}", f"{one.run.peak_mib:.0f}", one.passes.replace(" ", " + ")),
        )
        for one in sorted(found, key=lambda one: WAYS.index(one.way))
    ]


HEAD = (
    *("way", "times", "GB", "M events", "time (s)", "of kwork"),
    *("CPU time for an event (ns)", "peak (MiB)", "passes"),
)


def table(found: list[Measured]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *rows(found)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def targets(found: list[Measured]) -> str:
    lines = ["| target: 16 times against 4 | wanted | measured | |", "|---|---|---|---|"]
    seconds = {one.way: one.run.seconds for one in found if one.times == TIMES[-1]}
    for way in dict.fromkeys(one.way for one in found if one.way != _KWORK):
        # What starting costs is part of the smallest, and no event's.
        before, last = (one for one in found if one.way == way and one.times != TIMES[0])
        for what, of in (
            ("CPU time for an event", last.event_ns / before.event_ns),
            ("peak", last.run.peak_mib / before.run.peak_mib),
        ):
            verdict = "met" if of <= _FLAT else "**missed**"
            lines.append(f"| {way}: {what} | {_FLAT:g} | {of:.2f} | {verdict} |")
        beside, most = _WANTED.get(way.partition(" ")[0], ("", 0.0))
        if beside in seconds:
            of = seconds[way] / seconds[beside]
            verdict = "met" if of <= most else "**missed**"
            lines.append(f"| {way}: 16 times, of {beside} | {most:g} | {of:.2f} | {verdict} |")
    return "\n".join(lines)


def section(found: list[Measured]) -> str:
    return f"""
## Large captures

A recorded capture written 1, 4 and 16 times over with shifted times (`benchmarks/repeat.py`), each
way as a process of its own, once, as `python -m benchmarks.large CAPTURE GIGABYTES` prints it.
`passes`: how often a page went through events of all of the capture, and of a part from its middle.

{table(found)}

{targets(found)}
"""


def kept(page: Path) -> str:
    # What a run before has measured.
    _, mark, rest = page.read_text().partition("\n## Large captures\n")
    return mark + rest


def main(capture: str, gigabytes: str, *ways: str) -> None:
    found = measure(Path(capture), float(gigabytes), ways or WAYS)
    print(table(found))
    print(targets(found))


if __name__ == "__main__":
    main(*sys.argv[1:])

# `make bench`: netcost beside the tools that users have today, on one capture, in one run, as
# ratios.

import argparse
import os
import sys
import tempfile
from pathlib import Path

from benchmarks import cores, first, fleet, functions, large, questions, recording, text, trace_dat
from benchmarks.measure import Figure, Way, compare
from benchmarks.page import machine, page, table

ROOT = Path(__file__).resolve().parent.parent


def ways(path: Path) -> list[Way]:
    python, capture = sys.executable, str(path)
    inside = (python, "-m", "benchmarks.in_process")
    netcost = str(Path(python).with_name("netcost"))
    return [
        Way("perf script", ("perf", "script", "-f", "-i", capture)),
        Way("perf script + regex into pandas", (*inside, "script_regex", capture), True),
        Way("perf kwork report", ("perf", "kwork", "-f", "report", "-i", capture)),
        Way("netcost: decode, one core", (*inside, "decode", capture, "0"), True),
        Way("netcost: decode", (*inside, "decode", capture), True),
        Way("netcost: timeline, one core", (*inside, "timeline", capture, "0"), True),
        Way("netcost: timeline", (*inside, "timeline", capture), True),
        Way("netcost ledger (process)", (netcost, "ledger", capture)),
        Way("netcost stolen (process)", (netcost, "stolen", capture)),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--events", type=int, default=1_500_000, help="events to record")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--capture", type=Path, help="measure on this perf.data")
    parser.add_argument("--synthetic", action="store_true", help="do not record")
    parser.add_argument(
        "--large",
        type=float,
        metavar="GB",
        help="also 1, 4 and 16 times the capture; the largest of so many gigabytes, on disk",
    )
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.capture or Path(folder) / "perf.data"
        # Neighbours on the machine are in the figures: say how busy it was before.
        busy = f"load average before: {os.getloadavg()[0]:.1f}"
        made = "given"
        if arguments.capture is None:
            made = recording.make(path, arguments.events, live=not arguments.synthetic)
        made = f"{made}; {busy}"
        events = recording.samples(path)
        size = path.stat().st_size
        print(f"{events:,} events, {size / 2**20:.0f} MiB, {made}", file=sys.stderr)
        figures: list[Figure] = compare(ways(path), arguments.repeats)
        shared = cores.measure(path, Path(folder), arguments.repeats, live=not arguments.synthetic)
        lines = text.measure(path, Path(folder), arguments.repeats)
        asked = questions.measure(path, 1)
        answered = first.measure(arguments.repeats)
        many = fleet.measure()
        sampled = (
            None if arguments.synthetic else functions.measure(Path(folder), arguments.repeats)
        )
        ring = None if arguments.synthetic else trace_dat.measure(Path(folder), arguments.repeats)
        grown = None if arguments.large is None else large.measure(path, arguments.large)
    printed = table(figures, events)
    print(machine())
    print(printed)
    print(cores.table(shared))
    print(cores.targets(shared))
    if lines is not None:
        print(text.table(lines))
        print(text.targets(lines))
    print(questions.table(asked))
    print(first.table(answered))
    print(fleet.table(many))
    print(fleet.targets(many))
    if grown is not None:
        print(large.table(grown))
        print(large.targets(grown))
    if ring is not None:
        print(trace_dat.table(ring))
        print(trace_dat.targets(ring))
    if sampled is not None:
        print(functions.table(sampled))
        print(functions.targets(sampled))
    if arguments.write:
        target = ROOT / "docs" / "benchmarks.md"
        target.write_text(
            page(figures, events, size, made, " ".join(sys.argv[1:]), arguments.repeats)
            + cores.section(shared)
            + (trace_dat.section(ring) if ring is not None else "")
            + (functions.section(sampled) if sampled is not None else "")
            + (text.section(lines) if lines is not None else "")
            + questions.section(asked)
            + first.section(answered)
            + fleet.section(many)
            + (large.section(grown) if grown is not None else large.kept(target))
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

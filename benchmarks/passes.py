# A command of netcost that notes how often it reads its capture, all of it and a part, and says on
# stderr who asked for each pass.
#     python -m benchmarks.passes NOTE report CAPTURE -o page.html

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from netcost_analysis import _native
from netcost_analysis.cli.main import main

# Native's calls that go through events.
_PASSES = frozenset(
    (
        *("timeline", "aggregates", "batches", "scan", "counts", "times", "event_times"),
        *("events", "all_events", "event_batches", "task_events", "samples", "mappings"),
    )
)
_found: Counter[str] = Counter()
_Capture = _native.Capture


class _Noting:
    def __init__(self, *given: Any, **named: Any) -> None:
        self._of = _Capture(*given, **named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if name not in _PASSES:
            return found

        def noted(*given: Any, **named: Any) -> Any:
            is_scanned = name == "scan" and _found["all"] > 0
            if named.get("rows", 0) is None or is_scanned:
                # Of rows that are kept in memory; the first pass scans besides.
                return found(*given, **named)
            of_part = named.get("start_ns") is not None or name == "event_times"
            part = "part" if of_part else "all"
            _found[part] += 1
            begun = monotonic()
            try:
                return found(*given, **named)
            finally:
                took = f"{monotonic() - begun:.2f} s"
                print(f"{part} {name} {took} {' < '.join(_askers())}", file=sys.stderr)

        return noted


def _askers() -> Iterator[str]:
    # Functions of the package, the innermost first.
    frame = sys._getframe(2)
    while frame := frame.f_back:
        if "netcost_analysis" in (name := frame.f_code.co_filename):
            yield f"{Path(name).stem}:{frame.f_code.co_name}"


if __name__ == "__main__":
    note, sys.argv = sys.argv[1], ["netcost", *sys.argv[2:]]
    _native.Capture = _Noting  # type: ignore[assignment, misc]
    try:
        main()
    finally:
        Path(note).write_text(f"{_found['all']} {_found['part']}")

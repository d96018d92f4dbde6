# A timeline told by perf and by trace-cmd: what must be the same of both, losses among it.

from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, gaps, rows
from support.perfdata import Cpu, Recording
from support.perfdata import happenings as h

SILENT = (h.BhDisable, h.BhEnable, h.Flush, h.Unrecorded)


# perf's flushes may write the end of one twice; ftrace's readers take each event once.
def without_repeats(told: Recording) -> Recording:
    cpus = [replace(one, happenings=tuple(map(once, one.happenings))) for one in told.cpus]
    return replace(told, cpus=tuple(cpus))


def once(what: h.Happening) -> h.Happening:
    return replace(what, repeat=0) if isinstance(what, h.Flush) else what


# perf writes a table in the order of its file, trace-cmd's recordings come in the order of time.
def ordered(table: Any) -> list[dict[str, Any]]:
    return sorted(rows(table), key=lambda row: (row["time_ns"], row["common_cpu"]))


def tables(path: Path) -> dict[str, Any]:
    capture, answer = Capture(str(path)), Answer(path)
    assert_conserved(answer)
    found: dict[str, Any] = {name: ordered(table) for name, table in capture.all_events().items()}
    parts = answer.tables | {
        "sums": answer.sums,
        "displaced": answer.displaced,
        "irqs": answer.irqs,
    }
    # Their rows come as the CPUs do, which tie in either order.
    found |= {name: sorted(table, key=str) for name, table in parts.items()}
    found["counts"] = {name: count for name, count in answer.scan["events"].items() if count}
    told = ("start_ns", "end_ns", "cpus", "lost_events", "notes")
    found |= {name: answer.scan[name] for name in told} | {"gaps": sorted(gaps(answer.scan))}
    found |= {name: answer.summary[name] for name in ("disagreements", "orphan_exits")}
    return found


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name, table in wanted.items():
        assert found[name] == table, name


# Some events before an event are lost. perf's record of that has the time at which there was room
# again; of trace-cmd's, the first event's time is all that is known.
def losing(one: Cpu, places: list[tuple[int, int]]) -> Cpu:
    told: list[h.Happening] = list(one.happenings)
    for place, count in places:
        seen = [
            number for number, what in enumerate(told) if not isinstance(what, (*SILENT, h.Lost))
        ]
        if len(seen) < 2:
            break
        at = place % (len(seen) - 1) + 1
        first = max(0, at - count)
        before = seen[first - 1] + 1 if first else 0
        # Between two events is one loss.
        if any(isinstance(what, h.Lost) for what in told[before : seen[at]]):
            continue
        for number in seen[first:at]:
            told[number] = h.unrecorded(told[number])
        told.insert(seen[at], h.Lost(told[seen[at]].at, at - first))
    return replace(one, happenings=tuple(told))


LOSSES = st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), max_size=3)

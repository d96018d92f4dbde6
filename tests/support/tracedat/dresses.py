# Every way in which trace-cmd and its kernels could have written one timeline.

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from netcost_analysis._native import Capture
from support.native_tables import Answer, assert_conserved, gaps, rows
from support.perfdata import MACHINES, Cpu, Machine, Recording, cpu, recording
from support.perfdata import happenings as h

from .encoded import Packing
from .options import trace_id, uname
from .ring import Style
from .told import Dress

# In the instance beside: read by nobody who asks for the top buffer.
OTHER = recording(cpu(0, h.SoftirqRaise(5, 1), h.Lost(6, 3), h.SoftirqRaise(7, 2)))


@st.composite
def styles(draw: st.DrawFn, size: int) -> Style:
    return Style(
        size,
        draw(st.sampled_from(["extend", "absolute"])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([None, None, 1, 3])),
        draw(st.sampled_from([0, 0xA5, 0xFF])),
        draw(st.booleans()),
    )


@st.composite
def packings(draw: st.DrawFn) -> Packing:
    return Packing(
        draw(st.sampled_from(["zstd", "zlib", "none"])),
        draw(st.sampled_from([1, 2, 10])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([None, 1, 3])),
    )


@st.composite
def dresses(draw: st.DrawFn) -> Dress:
    version = draw(st.sampled_from([6, 7]))
    # What version 6 and the top buffer have is the file's; newer kernels' sub-buffers are larger.
    page = draw(st.sampled_from([4096, 8192, 65536]))
    sub_buffer = draw(st.sampled_from([page, max(page, 16384)])) if version == 7 else page
    return Dress(
        version=version,
        packing=draw(packings()),
        style=draw(styles(sub_buffer)),
        page_size=page,
        rank=draw(ranks()),
        discard_each=draw(st.sampled_from([None, 1, 5])),
        options=draw(st.sampled_from([(), (uname("Linux"), trace_id(1))])),
        instances=draw(st.sampled_from([{}, {"other": OTHER}])),
        user_word=draw(st.sampled_from([None, 4])),
        old_clock=draw(st.booleans()),
    )


def ranks() -> st.SearchStrategy[Callable[[int], int]]:
    return st.permutations(range(16)).map(lambda order: lambda number: order[number % 16])


def machines() -> st.SearchStrategy[Machine]:
    return st.sampled_from(list(MACHINES.values()))


# CPUs that were offline leave gaps in the numbers.
def with_gaps(told: Recording, step: int) -> Recording:
    cpus = [cpu(step * one.number + step // 2, *one.happenings, task=one.task) for one in told.cpus]
    return recording(*cpus, known=told.known)


# A timeline told by perf and by trace-cmd: what must be the same of both, losses among it.
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

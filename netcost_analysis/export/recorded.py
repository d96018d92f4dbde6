"""Recorded events and samples as tables of a dataset. They must fit in memory."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from .._native import CaptureError
from ..capture.event_rows import require_event
from ..capture.recorder import is_perf, require_samples
from ..progress import progress
from ..timeline.memory import PART, available

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

# The number of rows that the size of a row is estimated from.
_FEW = 10_000
# Columns with an event's CPU, in this order: a tracepoint may have its own field called cpu.
CPUS = ("common_cpu", "cpu")
_TIMES = ("time_ns", "time_cycles", "time_order")
# Copies in memory at once: the rows, the sorted rows, and their parts for each CPU.
_COPIES = 3


@dataclass(frozen=True)
class Recorded:
    """One event's records as a table, called events.SYSTEM:EVENT or samples.EVENT."""

    name: str
    folder: str
    event: str
    sampled: bool
    sorted_by: tuple[str, ...] = ("time_ns",)

    def read(self, timeline: "Timeline") -> Any:
        """An Arrow table of the timeline's rows, sorted by CPU and time.

        Raises CaptureError for more than fits in memory.
        """
        native = timeline.capture.native
        read = native.samples if self.sampled else native.events
        self._require_memory(timeline.capture, read)
        part = () if self.sampled else _part(timeline)
        with progress(f"decoding {self.event}") as advance:
            rows = pa.table(read(self.event, None, advance, *part))
        rows = _within(rows, timeline)
        keys = [name for name in (_first_of(rows, CPUS), _first_of(rows, _TIMES)) if name]
        if not keys:
            return rows
        return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in keys]))

    def _require_memory(self, capture: "Capture", read: Any) -> None:
        count, free = capture.info["events"].get(self.event, 0), available()
        if count <= _FEW or free is None:
            return
        few = pa.table(read(self.event, _FEW, None))
        needed = _COPIES * few.nbytes * count // max(len(few), 1)
        if needed > PART * free:
            raise CaptureError(
                f"{self.event} has {count:,} rows, which would take some {needed / 2**30:.1f} GiB "
                f"of the {free / 2**30:.1f} GiB of memory that are free: leave it out"
            )


def recorded_of(
    capture: "Capture", events: Sequence[str], samples: Sequence[str]
) -> list[Recorded]:
    """The tables of these events and samples.

    Raises CaptureError for an unknown one, with the nearest names.
    """
    known = capture.header.get("events", ())
    tables: dict[str, Recorded] = {}
    for sampled, names in ((False, events), (True, samples)):
        kind, used = "samples" if sampled else "events", set[str]()
        for name in names:
            event = require_event(name, known, fields=not sampled and is_perf(capture.header))
            if sampled:
                require_samples(capture.header, event)
            table = f"{kind}.{event}"
            if table not in tables:
                folder = _free(folder_name(event), used)
                tables[table] = Recorded(table, f"{kind}/{folder}", event, sampled)
    return list(tables.values())


def folder_name(name: str) -> str:
    """A safe folder name for an event, whose name comes from a stranger's capture."""
    # Readers skip names that begin with a dot or underscore, and parse = as a partition key.
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name.replace(":", ".")).lstrip("._-")[:100] or "event"


def _free(name: str, used: set[str]) -> str:
    free, number = name, 1
    while free.lower() in used:
        number += 1
        free = f"{name}-{number}"
    used.add(free.lower())
    return free


def _first_of(rows: Any, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in rows.column_names), None)


def _part(timeline: "Timeline") -> tuple[tuple[int, int] | None, list[int] | None]:
    # Let native select window and CPUs, so that other rows take no memory.
    if timeline.start_s is None and timeline.end_s is None:
        return None, timeline.cpus
    start, end = timeline.selection["start_ns"], timeline.selection["end_ns"]
    limit = 2**63 - 1
    return (-limit if start is None else start, limit if end is None else end), timeline.cpus


def _within(rows: Any, timeline: "Timeline") -> Any:
    windowed = timeline.start_s is not None or timeline.end_s is not None
    if timeline.cpus:
        cpu = _first_of(rows, CPUS)
        if cpu is None:
            raise CaptureError("these events have no CPU number")
        wanted = pa.array(timeline.cpus, pa.int64())
        rows = rows.filter(pc.is_in(rows.column(cpu).cast(pa.int64()), wanted))
    if not windowed:
        return rows
    if "time_ns" not in rows.column_names:
        raise CaptureError("these events have no times in seconds: leave out the window")
    start, end = timeline.selection["start_ns"], timeline.selection["end_ns"]
    if start is not None:
        rows = rows.filter(pc.greater_equal(rows.column("time_ns"), start))
    if end is not None:
        rows = rows.filter(pc.less(rows.column("time_ns"), end))
    return rows

"""Whether tables fit into memory, before they are computed."""

import re
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..parsers.proc_text import parse_available_memory

if TYPE_CHECKING:
    from .tables import Tables

# Tables may take this part of the free memory.
PART = 0.5
_GIB = 2**30
# Bytes of a row: by how much a process's peak grows as it makes a DataFrame of the table, measured
# on a capture of 6.2 million segments. A slice has columns for softirqs by class.
ROW_BYTES = {
    "segments": 70,
    "softirqs": 180,
    "hardirqs": 120,
    "polls": 140,
    "slices": 390,
    "migrations": 150,
    "coverage": 100,
}
# Events that begin or end a row; of a pair the more frequent one counts.
_ROW_EVENTS: dict[str, tuple[str, ...]] = {
    "softirqs": (r"irq:softirq_entry", r"irq:softirq_exit"),
    "hardirqs": (r"irq(_vectors)?:.*(?<!softirq)_entry", r"irq(_vectors)?:.*(?<!softirq)_exit"),
    "polls": (r"napi:napi_poll",),
    "slices": (r"sched:sched_switch",),
    "migrations": (r"sched:sched_migrate_task",),
}


def available() -> int | None:
    """Bytes of memory that this process may still take; None where the system does not say."""
    free = [_address_space(), _of_host()]
    return min((one for one in free if one is not None), default=None)


def _of_host() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    return parse_available_memory(text)


def _address_space() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return limit
    return max(limit - pages * resource.getpagesize(), 0)


def rows_of(timeline: "Tables", table: str) -> int:
    """How many rows a table has, by sums and counts; exact for segments."""
    sums: dict[str, list[Any]] = timeline.columns("sums")
    pairs = zip(sums["context"], sums["segments"], strict=True)
    # Unknown stretches without length, where the record contradicts itself, have no segment.
    unknown = int(timeline.summary["disagreements"])
    unknown += sum(int(segments) for context, segments in pairs if context == "unknown")
    segments = sum(map(int, sums["segments"]))
    if table not in _ROW_EVENTS:
        return unknown if table == "coverage" else segments
    # An unaccounted stretch cuts a row in two. A window has no counts, but every row has a segment.
    return min(segments, _events(timeline, table) + unknown)


def _events(timeline: "Tables", table: str) -> int:
    info = timeline.capture.info
    counts: list[int] = [
        sum(count for name, count in info["events"].items() if re.fullmatch(pattern, name))
        for pattern in _ROW_EVENTS[table]
    ]
    return max(counts) + len(info["cpus"])


def too_large(timeline: "Tables", tables: Iterable[str]) -> str | None:
    """Why tables do not fit into memory, and what to do; None where they fit.

    They fit where computing them takes no more than PART of the free memory.
    """
    tables = [table for table in tables if table in ROW_BYTES]
    free = available()
    if not tables or free is None:
        return None
    # No table has more than two rows an event; small captures need no pass to know.
    most = 2 * timeline.capture.event_count + len(timeline.capture.info["cpus"])
    if most * sum(ROW_BYTES[table] for table in tables) <= PART * free:
        return None
    rows = {table: rows_of(timeline, table) for table in tables}
    needed = sum(count * ROW_BYTES[table] for table, count in rows.items())
    if needed <= PART * free:
        return None
    said = ", ".join(
        f"{table} has {'about ' if table in _ROW_EVENTS else ''}{count:,} rows"
        for table, count in rows.items()
    )
    return (
        f"{said}, which would take some {needed / _GIB:.1f} GiB of the {free / _GIB:.1f} GiB of "
        f"memory that there are: take a window, capture.timeline(start_s=, end_s=), or write them "
        f"as Parquet, netcost convert {timeline.capture.path} -o DIR; "
        f"timeline.load(..., allow_large=True) takes the memory nevertheless"
    )


def require_memory(timeline: "Tables", tables: Iterable[str]) -> None:
    """Raises CaptureError for tables that do not fit into memory."""
    why = too_large(timeline, tables)
    if why is not None:
        raise CaptureError(why)

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

# Of the memory that there is.
PART = 0.5
_GIB = 2**30
# Bytes of a row: by how much the peak of a process grows that makes a DataFrame of the table,
# measured on a capture of 6.2 million segments. A slice has columns for softirqs by class.
ROW_BYTES = {
    "segments": 70,
    "softirqs": 180,
    "hardirqs": 120,
    "polls": 140,
    "slices": 390,
    "migrations": 150,
    "coverage": 100,
}
# What begins or ends a row; of a pair the one that was recorded more often counts.
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
    """How many rows a table has, of segments exactly: by sums and counts, without the table."""
    sums: dict[str, list[Any]] = timeline.columns("sums")
    pairs = zip(sums["context"], sums["segments"], strict=True)
    # Where the record contradicts itself what is unknown may have no length, and so no segment.
    unknown = int(timeline.summary["disagreements"])
    unknown += sum(int(segments) for context, segments in pairs if context == "unknown")
    segments = sum(map(int, sums["segments"]))
    if table not in _ROW_EVENTS:
        return unknown if table == "coverage" else segments
    # A stretch that nobody can account for cuts a row in two. Of a window there are no counts, and
    # what happens in it has a segment.
    return min(segments, _events(timeline, table) + unknown)


def _events(timeline: "Tables", table: str) -> int:
    info = timeline.capture.info
    counts: list[int] = [
        sum(count for name, count in info["events"].items() if re.fullmatch(pattern, name))
        for pattern in _ROW_EVENTS[table]
    ]
    return max(counts) + len(info["cpus"])


def too_large(timeline: "Tables", tables: Iterable[str]) -> str | None:
    """Why tables do not fit into memory, with the ways on; None where they do.

    They fit where what computing them takes is no more than PART of the memory that there is.
    """
    tables = [table for table in tables if table in ROW_BYTES]
    free = available()
    if not tables or free is None:
        return None
    # No table has more rows than twice the events; of small captures no further pass is needed.
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


def require_room(timeline: "Tables", tables: Iterable[str]) -> None:
    """Raises CaptureError for tables that do not fit into memory: too_large() says why."""
    why = too_large(timeline, tables)
    if why is not None:
        raise CaptureError(why)

"""Estimates whether tables fit into memory, before they are computed."""

import re
import resource
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._native import CaptureError
from ..parsers.proc_text import parse_available_memory

if TYPE_CHECKING:
    from .tables import Tables

# Tables may take this share of the free memory.
PART = 0.5
_GIB = 2**30
# Bytes per row: growth of the process's peak while it makes a DataFrame of the table, measured on a
# capture of 6.2 million segments. A slice has columns for softirqs by class.
ROW_BYTES = {
    "segments": 70,
    "softirqs": 180,
    "hardirqs": 120,
    "polls": 140,
    "slices": 390,
    "migrations": 150,
    "coverage": 100,
}
# Events that begin or end a row; the more frequent one of a pair counts.
_ROW_EVENTS: dict[str, tuple[str, ...]] = {
    "softirqs": (r"irq:softirq_entry", r"irq:softirq_exit"),
    "hardirqs": (r"irq(_vectors)?:.*(?<!softirq)_entry", r"irq(_vectors)?:.*(?<!softirq)_exit"),
    "polls": (r"napi:napi_poll",),
    "slices": (r"sched:sched_switch",),
    "migrations": (r"sched:sched_migrate_task",),
}


def available() -> int | None:
    """Bytes of memory that this process may still take; None if the system does not say."""
    free = [_address_space(), _of_host()]
    return min((size for size in free if size is not None), default=None)


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
    """The number of rows of a table, estimated from sums and event counts; exact for segments."""
    sums: dict[str, list[Any]] = timeline.columns("sums")
    pairs = zip(sums["context"], sums["segments"], strict=True)
    # Where the record contradicts itself, an unknown stretch without length has no segment.
    unknown = int(timeline.summary["disagreements"])
    unknown += sum(int(segments) for context, segments in pairs if context == "unknown")
    segments = sum(map(int, sums["segments"]))
    if table not in _ROW_EVENTS:
        return unknown if table == "coverage" else segments
    # An unknown stretch cuts a row in two. Counts are of the whole capture, so for a window the
    # segments are the bound: every row has one.
    return min(segments, _events(timeline, table) + unknown)


def _events(timeline: "Tables", table: str) -> int:
    info = timeline.capture.info
    counts: list[int] = [
        sum(count for name, count in info["events"].items() if re.fullmatch(pattern, name))
        for pattern in _ROW_EVENTS[table]
    ]
    return max(counts) + len(info["cpus"])


def too_large(timeline: "Tables", tables: Iterable[str]) -> str | None:
    """Why tables do not fit into memory, and what to do; None if they fit.

    They fit if computing them takes at most PART of the free memory.
    """
    tables = [table for table in tables if table in ROW_BYTES]
    free = available()
    if not tables or free is None:
        return None
    # No table has more than two rows per event, so small captures need no pass to decide.
    most = 2 * timeline.capture.event_count + len(timeline.capture.info["cpus"])
    if most * sum(ROW_BYTES[table] for table in tables) <= PART * free:
        return None
    rows = {table: rows_of(timeline, table) for table in tables}
    needed = sum(count * ROW_BYTES[table] for table, count in rows.items())
    if needed <= PART * free:
        return None
    sizes = ", ".join(
        f"{table} has {'about ' if table in _ROW_EVENTS else ''}{count:,} rows"
        for table, count in rows.items()
    )
    return (
        f"{sizes}, which would take some {needed / _GIB:.1f} GiB of the {free / _GIB:.1f} GiB of "
        "free memory: take a window, capture.timeline(start_s=, end_s=), or write them "
        f"as Parquet, netcost convert {timeline.capture.path} -o DIR; "
        f"timeline.load(..., allow_large=True) takes the memory nevertheless"
    )


def require_memory(timeline: "Tables", tables: Iterable[str]) -> None:
    """Raise CaptureError for tables that do not fit into memory."""
    why = too_large(timeline, tables)
    if why is not None:
        raise CaptureError(why)

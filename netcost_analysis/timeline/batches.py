"""A timeline's rows batch by batch, in memory that does not grow with the capture."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import ArgumentError
from ..progress import Amount, progress

if TYPE_CHECKING:
    from .._native import ArrowTable
    from .timeline import Timeline

# A row per event of some kind: displaced has sums.
STREAMED = ("segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage")


def arrow_batches(
    timeline: "Timeline", tables: tuple[str, ...], rows: int, of: Amount | None = None
) -> "Iterator[dict[str, ArrowTable]]":
    """The tables of each batch by name; wrong arguments are told at once.

    of: how much there is to read, for whoever watches.
    """
    unknown = set(tables) - set(STREAMED)
    if unknown or not tables:
        named = ", ".join(sorted(unknown)) or "named"
        raise ArgumentError(f"no table {named} in batches; there are {', '.join(STREAMED)}")
    if rows < 1:
        raise ArgumentError(f"a batch of {rows} rows holds none")
    return _read(timeline, tables, rows, of)


def _read(
    timeline: "Timeline", tables: tuple[str, ...], rows: int, of: Amount | None
) -> "Iterator[dict[str, ArrowTable]]":
    with progress("reading the timeline", of) as advance:
        stream = timeline.capture.native.batches(
            tables, rows=rows, progress=advance, **timeline.selection
        )
        try:
            yield from stream
        finally:
            # Who stops early leaves no thread behind.
            stream.close()

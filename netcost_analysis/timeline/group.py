"""A timeline's rows in groups: counts, sums, and how often each length occurred.

Native keeps a cell per group, so memory grows only with the number of groups.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import ArgumentError, no_such
from ..progress import progress
from .owners import NO_DEVICE
from .tables import LAST_NS

if TYPE_CHECKING:
    import pandas as pd

    from .._native import ArrowTable
    from ..stats.histogram import Histogram
    from .tables import Tables

ROWS = ("polls", "softirqs", "hardirqs", "slices", "segments", "migrations")
_LEAST, _MOST = -(2**63), 2**63 - 1
# The rows of a batch, a few megabytes.
_AT_ONCE = 100_000
# The values to keep: first and last, both inclusive, None for no bound; or a text.
Range = tuple[int | None, int | None]
Where = Mapping[str, Range | str]
# The form that users may write.
Having = Mapping[str, Range | str | bool]
# Columns, each with ascending values.
Edges = tuple[tuple[str, tuple[int, ...]], ...]
# Any value but null.
KNOWN: Range = (None, None)


class Grouping(NamedTuple):
    """Which rows to group, by which columns, and what to compute for each group.

    rows: one of ROWS. by: columns. block: a column of times and a width; adds the key block, the
    number of the time's block. edges: columns, each with ascending values; adds the key NAME_place,
    how many of them the row's value has reached. A grouping has up to 6 keys. sums: columns to add
    up; a null adds nothing. known: columns whose non-null values are counted. ends: columns whose
    minimum and maximum are kept. lengths: a column whose values are counted one by one. where: the
    values that a row must have, by column.
    """

    rows: str
    by: tuple[str, ...] = ()
    block: tuple[str, int] | None = None
    edges: Edges = ()
    sums: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    lengths: str | None = None
    where: tuple[tuple[str, Range | str], ...] = ()

    @property
    def keys(self) -> list[str]:
        """The names of its key columns."""
        block = ["block"] if self.block else []
        return [*self.by, *block, *(f"{name}_place" for name, _ in self.edges)]

    @property
    def within(self) -> list[tuple[str, int, int]]:
        """The ranges in where, in native's form."""
        ranges = [(name, *of) for name, of in self.where if not isinstance(of, str)]
        return [
            (name, _LEAST if low is None else low, _MOST if high is None else high)
            for name, low, high in ranges
        ]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts in where."""
        return [(name, of) for name, of in self.where if isinstance(of, str)]


class Binned(NamedTuple):
    """Requests Timeline.sums() in bins of time, which begin at multiples of the width."""

    width_ns: int


class Groups(NamedTuple):
    """The result of a grouping.

    frame: a row per group, ordered by its keys, nulls last: the keys, the number of rows under the
    name of the rows, each sum (packets for work, ns for self_ns), NAME_known, NAME_least and
    NAME_most. Polls without a device have NO_DEVICE. counted: lengths, None unless requested.
    """

    frame: "pd.DataFrame"
    counted: "Histogram | None"

    @property
    def lengths(self) -> "Histogram":
        """How often each value occurred, by key; raises ArgumentError unless requested."""
        if self.counted is None:
            raise ArgumentError("no lengths were asked for")
        return self.counted


def asked(
    rows: str,
    by: Sequence[str],
    block: tuple[str, int] | None,
    edges: "Mapping[str, Sequence[int]] | None",
    sums: Sequence[str],
    known: Sequence[str],
    ends: Sequence[str],
    lengths: str | None,
    where: Having | None,
) -> Grouping:
    """The Grouping for a user's arguments; raises ArgumentError for malformed ones."""
    if rows not in ROWS:
        raise ArgumentError(no_such("rows to group", str(rows), ROWS))
    for name, columns in {"by": by, "sums": sums, "known": known, "ends": ends}.items():
        if isinstance(columns, str) or not all(isinstance(column, str) for column in columns):
            raise ArgumentError(f"{name} must be a list of columns, as ['cpu'], not {columns!r}")
    if not by and block is None and not edges:
        raise ArgumentError("by names no column")
    if not isinstance(lengths, str | None):
        raise ArgumentError(f"lengths must be a column, not {lengths!r}")
    if block is not None and not (
        isinstance(block, tuple) and len(block) == 2 and isinstance(block[1], int)
    ):
        raise ArgumentError(
            "block must be a column of times and a width in ns, as ('end_ns', 1_000_000)"
        )
    ranges = tuple((column, _range(column, of)) for column, of in (where or {}).items())
    places = _places({} if edges is None else edges)
    named = tuple(sums), tuple(known), tuple(ends)
    return Grouping(rows, tuple(by), block, places, *named, lengths, ranges)


def _range(column: str, of: object) -> Range | str:
    if isinstance(of, bool):
        return (of, of)
    if isinstance(of, str) or (isinstance(of, tuple) and len(of) == 2):
        return of
    raise ArgumentError(
        f"where: {column} must be a text, true, false or (first, last) with None for no bound, not "
        f"{of!r}"
    )


def _places(edges: "Mapping[str, Sequence[int]]") -> Edges:
    if not isinstance(edges, Mapping):
        raise ArgumentError("edges must be values by column, as {'length_ns': [10_000, 100_000]}")
    places = []
    for column, values in edges.items():
        try:
            numbers = [index(value) for value in values]
        except TypeError:
            numbers = []
        rising = all(low < high for low, high in pairwise(numbers))
        if not numbers or not rising or numbers[0] < _LEAST or numbers[-1] > _MOST:
            raise ArgumentError(
                f"edges: {column} must be whole numbers in rising order, as [10_000, 100_000], not "
                f"{values!r}"
            )
        places.append((column, tuple(numbers)))
    return tuple(places)


def aggregates(timeline: "Tables", wanted: "Sequence[Any]") -> "list[dict[str, ArrowTable]]":
    """Compute several aggregates in one pass; returns the tables of each, by name.

    wanted: groupings and other requests, which native tells apart by their fields (aggregates.rs).
    A timeline that keeps_rows keeps its rows, so that later aggregates take no pass.
    """
    if not wanted:
        return []
    capture = timeline.capture
    rows = None if timeline.keeps_rows else _AT_ONCE
    with progress("reading the timeline") as advance:
        return capture.native.aggregates(wanted, rows=rows, progress=advance, **timeline.selection)


def computed(timeline: "Tables", *wanted: Any) -> list[Any]:
    """The results of several requests; those not cached are computed in one pass."""
    timeline.share()
    # Named tuples of two kinds are equal if their values are: the kind is part of the key.
    keys = [(type(request), request) for request in wanted]
    missing = [key for key in dict.fromkeys(keys) if key not in timeline.aggregated]
    if missing:
        # Sums are usually needed next, and native keeps rows only in a pass that follows waits.
        timeline.load(*(("displaced",) if timeline.keeps_rows else ()))
    requests = [request for _, request in missing]
    for key, tables in zip(missing, aggregates(timeline, requests), strict=True):
        is_grouping = isinstance(key[1], Grouping)
        timeline.aggregated[key] = grouped(key[1], tables) if is_grouping else tables
    return [timeline.aggregated[key] for key in keys]


def forget(timeline: "Tables", wanted: Any) -> None:
    """Drop a cached result."""
    del timeline.aggregated[type(wanted), wanted]


def binned(timeline: "Tables", width_ns: int) -> "ArrowTable":
    """Timeline.sums() in bins of time, as an Arrow table."""
    if width_ns <= 0:
        raise ArgumentError(f"a bin must be longer than 0 ns, not {width_ns}")
    table: ArrowTable = computed(timeline, Binned(min(width_ns, LAST_NS)))[0]["sums"]
    return table


def grouped(wanted: Grouping, tables: "Mapping[str, ArrowTable]") -> Groups:
    """The Groups of a grouping, from native's tables."""
    from ..frames import plain_frame, to_frame

    frame = plain_frame(tables["groups"])
    if wanted.rows == "polls" and "device" in wanted.by:
        frame["device"] = frame["device"].fillna(NO_DEVICE)
    if wanted.lengths is None:
        return Groups(frame, None)
    return Groups(
        frame.drop(columns=["least", "most"]),
        _histogram(frame, wanted.keys, to_frame(tables["lengths"])),
    )


def _histogram(groups: "pd.DataFrame", by: list[str], counts: "pd.DataFrame") -> "Histogram":
    import pandas as pd

    from ..stats.histogram import Histogram

    keys = groups[by].iloc[counts["group"]].reset_index(drop=True)
    counts.index = pd.MultiIndex.from_frame(keys.join(counts[["low", "high"]]))
    sums = counts.groupby("group")[["count", "total"]].sum()
    known = groups.iloc[sums.index]
    totals = sums.assign(
        least=known["least"].to_numpy("int64"), most=known["most"].to_numpy("int64")
    )
    is_one = len(by) == 1
    totals.index = pd.Index(known[by[0]]) if is_one else pd.MultiIndex.from_frame(known[by])
    is_binned = bool((counts["high"] > counts["low"]).any())
    return Histogram(counts[["count", "total"]], totals, is_binned)

"""Parts of a capture that is not in memory, read on demand."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from .. import _native
from ..arrow import numbers, row

if TYPE_CHECKING:
    from .._native import ArrowTable, TileOwners, TileSegment, TileSegments, TileSums
    from ..timeline.timeline import Timeline

# The tables that describe a place.
TABLES = ("segments", "softirqs", "hardirqs", "polls", "slices", "migrations")
# A part is widened while no more segments than this begin in it.
_SEGMENTS, _AROUND = 1_000_000, 200_000
_KEPT = 4
# A search reads at most this many parts.
_MOST_PARTS = 8
_ROWS = 2**16
# Softirqs, and the delays from their raise, are rarely longer than this.
_MARGIN_NS = 20_000_000
Row = dict[str, Any]


class Lookup:
    """A table of a timeline or a batch of one, sorted by cpu if it has that column."""

    def __init__(self, table: "ArrowTable") -> None:
        self._table = table
        self._numbers: dict[str, array[Any]] = {}

    def numbers(self, name: str) -> "array[Any]":
        """A column of numbers, cached. The number at a null has no meaning."""
        if name not in self._numbers:
            self._numbers[name] = numbers(self._table, name)
        return self._numbers[name]

    def of_cpu(self, cpu: int) -> range:
        """The indices of a CPU's rows."""
        cpus = self.numbers("cpu")
        return range(bisect_left(cpus, cpu), bisect_right(cpus, cpu))

    def row(self, place: int) -> Row:
        """A row as a dict by column."""
        return row(self._table, place)

    def around(self, cpu: int, begin: str, end: str, at_ns: int) -> list[Row]:
        """The rows of a CPU that contain a time."""
        of_cpu = self.of_cpu(cpu)
        rows = slice(of_cpu.start, of_cpu.stop)
        begins, ends = self.numbers(begin)[rows], self.numbers(end)[rows]
        both = zip(of_cpu, begins, ends, strict=True)
        candidates = (self.row(place) for place, first, last in both if first <= at_ns < last)
        return [row for row in candidates if row[begin] is not None and row[end] is not None]

    def after(self, begin: str, at_ns: int, tid: int, cpu: int | None = None) -> Row | None:
        """The first row of a task that begins at a time or later, on one CPU if given."""
        tids, begins = self.numbers("tid"), self.numbers(begin)
        places = range(len(tids)) if cpu is None else self.of_cpu(cpu)
        known = (place for place in places if tids[place] == tid and begins[place] >= at_ns)
        rows = (self.row(place) for place in sorted(known, key=begins.__getitem__))
        return next((row for row in rows if row["tid"] == tid and row[begin] is not None), None)


class ReadParts:
    """Reads parts of a timeline's window. Times are ns from its start.

    sums: cover all of the window and say how many segments a part has.
    """

    def __init__(self, timeline: "Timeline", owners: "TileOwners", sums: "TileSums") -> None:
        self._timeline = timeline
        self._owners = owners
        self._sums = sums
        # The most segments in a part for segments(), and in one for around().
        self.most = (_SEGMENTS, _AROUND)
        # Only one thread reads at a time.
        self._lock = Lock()
        self._segments: list[TileSegments] = []
        self._around: list[tuple[int, int, dict[str, list[Lookup]]]] = []

    def segments(self, begin: int, end: int) -> "TileSegments":
        """The segments of a part that contains this stretch. Recent parts are cached."""
        with self._lock:
            for part in self._segments:
                if part.span[0] <= begin and end <= part.span[1]:
                    return part
            return self._read(begin, end)

    def _read(self, begin: int, end: int) -> "TileSegments":
        begin, end = self._widened(begin, end, self.most[0])
        # 1 ns more on either side shows which segments begin and end there.
        begin, end = max(begin - 1, 0), min(end + 1, self._timeline.duration_ns)
        timeline = self._part(begin, end)
        cpus = [(cpu, 0) for cpu in self._timeline.summary["cpus"]]
        origin_ns = int(self._timeline.summary["start_ns"])
        segments = _native.TileSegments(self._owners, cpus, origin_ns, begin, end)
        for batch in batches_of(timeline, ("segments", "polls")):
            segments.add(batch["segments"], batch["polls"])
        segments.finish()
        self._segments = [segments, *self._segments[: _KEPT - 1]]
        return segments

    def around(self, time_ns: int) -> dict[str, list[Lookup]]:
        """The tables with the rows around a time."""
        with self._lock:
            for begin, end, tables in self._around:
                if begin <= time_ns < end:
                    return tables
            return self._read_around(time_ns)

    def _read_around(self, time_ns: int) -> dict[str, list[Lookup]]:
        begin, end = self._widened(time_ns, time_ns + 1, self.most[1])
        least, most = max(begin - _MARGIN_NS, 0), min(end + _MARGIN_NS, self._timeline.duration_ns)
        # Use batches: a timeline's own tables are built from the start of the capture.
        batches = list(self._part(least, most).arrow_batches(*TABLES))
        tables = {name: [Lookup(batch[name]) for batch in batches] for name in TABLES}
        self._around = [(begin, end, tables), *self._around[: _KEPT - 1]]
        return tables

    def next(
        self, wanted: list[bool], after_ns: int, cpu: int | None, task: int | None
    ) -> "TileSegment | None":
        """The first segment of a wanted owner that begins after a time, on top of a task if given.

        The sums do not say which parts have the task, so at most _MOST_PARTS are searched for it.
        """
        at, looked = max(after_ns, 0), 0
        while (bucket := self._sums.next(wanted, at, cpu)) is not None:
            if task is not None and looked == _MOST_PARTS:
                break
            looked += 1
            part = self.segments(max(at, bucket[0]), bucket[1])
            # A segment cut at the start of the part does not begin there.
            segment = part.next(wanted, max(after_ns, part.span[0] or -1), cpu, task)
            if segment is not None:
                return self._extended(part, segment)
            # Go on behind the part. If it ends with the bucket found, go on behind the bucket.
            at = max(part.span[1] - 1, bucket[1])
            if part.span[1] >= self._timeline.duration_ns:
                break
        return None

    def at(self, cpu: int, time_ns: int) -> "TileSegment | None":
        """The segment at a time."""
        part = self.segments(time_ns, time_ns + 1)
        segment = part.at(cpu, time_ns)
        return None if segment is None else self._extended(part, segment)

    def _extended(self, part: "TileSegments", segment: "TileSegment") -> "TileSegment":
        # Extends a segment into adjacent parts, at most _MOST_PARTS on either side.
        cpu, begin, end, owner, task = segment
        first = last = part
        for _ in range(_MOST_PARTS):
            if begin > first.span[0] or begin == 0:
                break
            first = self.segments(begin - 1, begin + 1)
            begin = (first.at(cpu, begin) or segment)[1]
        for _ in range(_MOST_PARTS):
            if end < last.span[1] or end == self._timeline.duration_ns:
                break
            last = self.segments(end - 1, end + 1)
            end = (last.at(cpu, end - 1) or segment)[2]
        return cpu, begin, end, owner, task

    def _widened(self, begin: int, end: int, most: int) -> tuple[int, int]:
        # Align to blocks of a power of two ns, so that neighbours share a part.
        level = max(self._sums.base, (end - begin - 1).bit_length())
        while True:
            low, high = begin >> level << level, ((end - 1 >> level) + 1) << level
            wider = begin >> level + 1 << level + 1, ((end - 1 >> level + 1) + 1) << level + 1
            covers = wider[0] <= 0 and wider[1] >= self._timeline.duration_ns
            if covers or self._sums.begun(*wider) > most:
                break
            level += 1
        return max(low, 0), min(high, self._timeline.duration_ns)

    def _part(self, begin: int, end: int) -> "Timeline":
        offset = self._timeline.offset_ns
        start_s, end_s = (offset + begin) / 1e9, (offset + end) / 1e9
        return self._timeline.capture.timeline(start_s, end_s, self._timeline.cpus)


def batches_of(timeline: "Timeline", tables: Sequence[str]) -> "Iterator[dict[str, ArrowTable]]":
    """Tables in one piece if the timeline has them in memory, else in batches."""
    if timeline.holds(*tables):
        yield {name: timeline.table(name) for name in tables}
    else:
        yield from timeline.arrow_batches(*tables, rows=_ROWS)


def stretch(segment: "TileSegment") -> dict[str, Any]:
    """The cpu, begin_ns and end_ns of a segment."""
    return dict(zip(("cpu", "begin_ns", "end_ns"), segment[:3], strict=True))

"""A timeline as tiles: who owned each CPU at any zoom. docs/view.md defines a tile."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _native
from ..arrow import columns
from ..errors import ArgumentError
from ..timeline.owners import summed
from .owners import BUCKETS, Owners, header
from .read_parts import TABLES, Lookup, ReadParts, batches_of, stretch

if TYPE_CHECKING:
    from .._native import TileSegment, TileSegments, TileSums
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

# Entries of the finest level, 16 bytes each. All levels together have twice as many: 64 MiB.
_MOST_ENTRIES = 2**21
# Segments in memory, 16 bytes each: 256 MiB.
_MOST_SEGMENTS = 2**24
# A capture with at most this many events is read with all tables that a place may need.
_SMALL = 1_000_000
_TABLES = ("segments", "polls", "coverage")


class Tiles:
    """The tiles and lookups of a timeline's view, made by of() or of_capture().

    Times are ns from the start of the timeline's window, which is origin_ns on the capture's clock.
    duration_ns: the window's length. owners: owners and tasks by number.
    """

    def __init__(self, timeline: "Timeline", most_segments: int | None) -> None:
        self.timeline = timeline
        if timeline.capture.has_at_most(_SMALL):
            timeline.load(*TABLES, *_TABLES)
        else:
            # Once all waits are known, a part's slices can be read without the rest.
            timeline.read("displaced")
        sums = timeline.columns("sums")
        summary = timeline.summary
        self.origin_ns = int(summary["start_ns"])
        self.duration_ns = duration = int(summary["end_ns"]) - self.origin_ns
        self.owners = Owners(sums)
        stolen = [owner.part == "stolen_network" for owner in self.owners.owners]
        native = _native.TileOwners(timeline.table("sums"), self.owners.of_rows, stolen)
        cpus: list[int] = list(summary["cpus"])
        rows = summed(zip(sums["cpu"], sums["segments"], strict=True))
        total = sum(rows.values())
        self._kept: TileSegments | None = None
        # Few segments need no sums.
        most = min(_MOST_ENTRIES, max(total // 4, 4096))
        if most_segments is None or total <= most_segments:
            counted = [(cpu, rows.get(cpu, 0)) for cpu in cpus]
            self._kept = _native.TileSegments(native, counted, self.origin_ns, 0, duration)
        else:
            most = _MOST_ENTRIES
        self._sums = _native.TileSums(native, cpus, self.origin_ns, duration, most)
        self._parts = ReadParts(timeline, native, self._sums)
        self._gaps = self._read()
        self._lookups: dict[str, list[Lookup]] = {}

    @classmethod
    def of(cls, timeline: "Timeline") -> "Tiles":
        """The tiles of a timeline, with its segments in memory.

        Segments take 16 bytes each, their sums at most 64 MiB. Raises CaptureError if CPU time
        cannot be assigned to owners.
        """
        return cls(timeline, None)

    @classmethod
    def of_capture(
        cls,
        capture: "Capture",
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        most_segments: int = _MOST_SEGMENTS,
    ) -> "Tiles":
        """The tiles of a capture of any size. Memory grows only with the number of tasks.

        start_s, end_s, cpus: as for Capture.timeline(). most_segments: with more, only sums are
        kept, and finer tiles read the capture again up to their end, which takes seconds per GB.
        """
        return cls(capture.timeline(start_s, end_s, cpus), most_segments)

    def _read(self) -> dict[str, list[Any]]:
        # This pass feeds all readers. Returns the gaps in the record, as columns.
        gaps: dict[str, list[Any]] = {}
        readers: list[TileSums | TileSegments] = [self._sums]
        readers += [] if self._kept is None else [self._kept]
        for batch in batches_of(self.timeline, _TABLES):
            for reader in readers:
                reader.add(batch["segments"], batch["polls"])
            for name, values in columns(batch["coverage"]).items():
                gaps.setdefault(name, []).extend(values)
        for reader in readers:
            reader.finish()
        return gaps

    @cached_property
    def _header(self) -> dict[str, Any]:
        return header(self.timeline, self.owners, self._gaps)

    def header(self) -> dict[str, Any]:
        """The header that a view needs before any tile, for JSON; docs/view.md has its fields."""
        return dict(self._header)

    @property
    def base_level(self) -> int:
        """The finest level of sums. Finer tiles are computed from segments."""
        return self._sums.base

    @property
    def holds_segments(self) -> bool:
        """Whether all segments are in memory, so that no tile needs a pass over the capture."""
        return self._kept is not None

    def tile(self, level: int, index: int) -> bytes:
        """A tile as in docs/view.md: 512 buckets of 2**level ns. Indices begin at 0."""
        last = self._header["max_level"]
        if not 0 <= level <= last:
            raise ArgumentError(f"no level {level}: there are 0 to {last}")
        if index < 0:
            raise ArgumentError(f"no tile {index}: the first is 0")
        begin = min(index * BUCKETS << level, self.duration_ns)
        end = min(begin + (BUCKETS << level), self.duration_ns)
        kept = self._kept
        if kept is None and level < self._sums.base and begin < end:
            kept = self._parts.segments(begin, end)
        # Any later tile is empty, so cut a huge index.
        return self._sums.tile(level, min(index, 2**53), kept)

    def find(self, text: str, after_ns: int, cpu: int | None = None) -> dict[str, Any] | None:
        """The next segment of an owner whose label contains a text, ignoring case.

        It begins after after_ns (-1 searches all of the window), on any CPU unless one is given.
        Returns cpu, begin_ns, end_ns and owner, or None.
        """
        wanted = [text.casefold() in owner.label.casefold() for owner in self.owners.owners]
        segment = self.next(wanted, after_ns, cpu) if text and any(wanted) else None
        return None if segment is None else {**stretch(segment), "owner": segment[3]}

    def next(
        self, wanted: list[bool], after_ns: int, cpu: int | None = None, task: int | None = None
    ) -> "TileSegment | None":
        # The first segment of a wanted owner that begins after a time, on top of a task if given.
        if self._kept is not None:
            return self._kept.next(wanted, after_ns, cpu, task)
        return self._parts.next(wanted, after_ns, cpu, task)

    def segment_at(self, cpu: int, time_ns: int) -> "TileSegment | None":
        # None outside the window and for other CPUs.
        if not 0 <= time_ns < self.duration_ns or cpu not in self._header["cpus"]:
            return None
        if self._kept is not None:
            return self._kept.at(cpu, time_ns)
        return self._parts.at(cpu, time_ns)

    def table_at(self, time_ns: int) -> "Callable[[str], list[Lookup]]":
        # Returns a function from a name in TABLES to parts of that table around a time.
        if self.timeline.holds(*TABLES):
            return self._held
        return lambda name: self._parts.around(time_ns)[name]

    def _held(self, name: str) -> list[Lookup]:
        if name not in self._lookups:
            self._lookups[name] = [Lookup(self.timeline.table(name))]
        return self._lookups[name]

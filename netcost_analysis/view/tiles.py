"""A timeline as tiles: who owned each CPU at any zoom, and what was at a place.

docs/view.md says what a tile holds.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .. import _native
from ..errors import ArgumentError
from ..timeline.owners import summed
from .header import BUCKETS, header
from .owners import Owners
from .parts import TABLES, Parts, batches_of, stretch

if TYPE_CHECKING:
    import pandas as pd

    from .._native import TileSegment, TileSegments, TileSums
    from ..capture.capture import Capture
    from ..timeline.timeline import Timeline

# Entries of the finest level, of 16 bytes; of all levels twice as many, 64 MiB.
_MOST_ENTRIES = 2**21
# Segments that are kept, of 16 bytes: 256 MiB.
_MOST_SEGMENTS = 2**24
# Of so many events all tables are read at once, for what is asked of a place.
_SMALL = 1_000_000
_TABLES = ("segments", "polls", "coverage")


class Tiles:
    """What a picture of a timeline asks for, place by place.

    Times are ns from the first one of the timeline's window. Made by of() or of_capture().

    Attributes
    ----------
    timeline : Timeline
        What it is of.
    owners : Owners
        Owners and tasks by number.
    origin_ns, duration_ns : int
        The window's first ns, on the capture's clock, and its length.
    """

    def __init__(self, timeline: "Timeline", most_segments: int | None) -> None:
        self.timeline = timeline
        if timeline.capture.has_at_most(_SMALL):
            timeline.load(*TABLES, *_TABLES)
        else:
            # Who knows the waits of all of it reads a part's stays without the rest.
            timeline.read("displaced")
        sums = timeline.columns("sums")
        summary = timeline.summary
        self.origin_ns = int(summary["start_ns"])
        self.duration_ns = duration = int(summary["end_ns"]) - self.origin_ns
        self.owners = Owners(sums)
        stolen = [one.part == "stolen_network" for one in self.owners.owners]
        native = _native.TileOwners(timeline.table("sums"), self.owners.of_rows, stolen)
        cpus: list[int] = list(summary["cpus"])
        rows = summed(zip(sums["cpu"], sums["segments"], strict=True))
        total = sum(rows.values())
        self._kept: TileSegments | None = None
        # Of few segments tiles need no sums.
        most = min(_MOST_ENTRIES, max(total // 4, 4096))
        if most_segments is None or total <= most_segments:
            counted = [(cpu, rows.get(cpu, 0)) for cpu in cpus]
            self._kept = _native.TileSegments(native, counted, self.origin_ns, 0, duration)
        else:
            most = _MOST_ENTRIES
        self._sums = _native.TileSums(native, cpus, self.origin_ns, duration, most)
        self._parts = Parts(timeline, native, self._sums)
        self._gaps = self._read()

    @classmethod
    def of(cls, timeline: "Timeline") -> "Tiles":
        """The tiles of a timeline, with its segments in memory.

        Segments take 16 bytes each, sums of them no more than 64 MiB.

        Parameters
        ----------
        timeline : Timeline
            What is to be looked at.

        Returns
        -------
        Tiles
            Its tiles.

        Raises
        ------
        CaptureError
            For one that cannot be told apart into owners.
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
        """The tiles of a capture of any size, in memory that does not grow with it.

        But for the ledger's sums, which grow with the tasks.

        Parameters
        ----------
        capture : Capture
            What is to be looked at.
        start_s, end_s : float, optional
            The window, in seconds from the capture's start.
        cpus : list of int, optional
            Only these CPUs.
        most_segments : int
            With so many segments it is as of(). With more only sums are kept, and finer tiles read
            the capture again, up to where they end: seconds for each GB.

        Returns
        -------
        Tiles
            Its tiles.

        Raises
        ------
        CaptureError
            For one that cannot be told apart into owners.
        """
        return cls(capture.timeline(start_s, end_s, cpus), most_segments)

    def _read(self) -> dict[str, list[Any]]:
        # The one pass; the gaps in the record, as columns.
        found: dict[str, list[Any]] = {}
        takers: list[TileSums | TileSegments] = [self._sums]
        takers += [] if self._kept is None else [self._kept]
        for batch in batches_of(self.timeline, _TABLES):
            for taker in takers:
                taker.add(batch["segments"], batch["polls"])
            for name, values in _native.columns(batch["coverage"]).items():
                found.setdefault(name, []).extend(values)
        for taker in takers:
            taker.finish()
        return found

    @cached_property
    def _header(self) -> dict[str, Any]:
        return header(self.timeline, self.owners, self._gaps)

    def header(self) -> dict[str, Any]:
        """What has to be known before a tile is asked for.

        Returns
        -------
        dict
            As docs/view.md has it, for JSON.
        """
        return dict(self._header)

    @property
    def base_level(self) -> int:
        """The finest level that was summed: finer tiles are computed from segments."""
        return self._sums.base

    @property
    def holds_segments(self) -> bool:
        """Whether all segments are in memory: then no tile takes a pass over the capture."""
        return self._kept is not None

    def tile(self, level: int, index: int) -> bytes:
        """A tile: 512 buckets of 2**level ns each.

        Parameters
        ----------
        level : int
            0 to the header's max_level.
        index : int
            The first begins with the window, and is 0.

        Returns
        -------
        bytes
            As docs/view.md has it.

        Raises
        ------
        ArgumentError
            For a level that there is not, and a negative index.
        CaptureError
            Where the capture has to be read, and cannot be.
        """
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
        # None that begins later has anything in it.
        return self._sums.tile(level, min(index, 2**53), kept)

    def find(self, text: str, after_ns: int, cpu: int | None = None) -> dict[str, Any] | None:
        """The next segment of an owner whose label has a text in it: task, device, interrupt.

        Parameters
        ----------
        text : str
            The text, in whatever case.
        after_ns : int
            It begins after this time; -1 for all of the window.
        cpu : int, optional
            Only on this CPU.

        Returns
        -------
        dict or None
            cpu, begin_ns, end_ns and owner; None where there is none.
        """
        wanted = [text.casefold() in one.label.casefold() for one in self.owners.owners]
        found = self.next(wanted, after_ns, cpu) if text and any(wanted) else None
        return None if found is None else {**stretch(found), "owner": found[3]}

    def next(
        self, wanted: list[bool], after_ns: int, cpu: int | None = None, task: int | None = None
    ) -> "TileSegment | None":
        # The first segment of one of these owners that begins after a time, on top of a task.
        if self._kept is not None:
            return self._kept.next(wanted, after_ns, cpu, task)
        return self._parts.next(wanted, after_ns, cpu, task)

    def segment_at(self, cpu: int, time_ns: int) -> "TileSegment | None":
        # None outside the window, and on CPUs that are not in it.
        if not 0 <= time_ns < self.duration_ns or cpu not in self._header["cpus"]:
            return None
        if self._kept is not None:
            return self._kept.at(cpu, time_ns)
        return self._parts.at(cpu, time_ns)

    def table_at(self, time_ns: int) -> "Callable[[str], pd.DataFrame]":
        # Tables of TABLES by name, with what was around a time.
        if self.timeline.holds(*TABLES):
            return lambda name: getattr(self.timeline, name)
        return lambda name: self._parts.around(time_ns)[name]

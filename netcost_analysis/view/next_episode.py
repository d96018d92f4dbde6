"""The next episode of a task, as the question episodes tells them: questions/stolen_time."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..questions.stolen_time.episodes import GAP_NS

if TYPE_CHECKING:
    from .._native import TileSegment
    from .tiles import Tiles

_NEVER = -(2**63)


class _Segment(NamedTuple):
    cpu: int
    begin: int
    end: int
    owner: int
    task: int


class Episodes:
    """Episodes of a task: stolen from it without a break, but for moments before a softirq."""

    def __init__(self, tiles: "Tiles", task: int) -> None:
        self._tiles, self._task = tiles, task
        self._stolen = [one.part.startswith("stolen") for one in tiles.owners.owners]

    def after(self, segment: "TileSegment", time_ns: int) -> "tuple[int, int, int] | None":
        """CPU, begin and end of the first that begins after a time.

        segment: the one there. Of a time within an episode: of the first that begins after that.
        """
        there = _Segment(*segment)
        inside = self._is_taken(there) or self._is_bridge(there)
        after = self._end(there) - 1 if inside else time_ns
        first = self._tiles.next(self._stolen, after, None, self._task)
        return None if first is None else (first[0], first[1], self._end(_Segment(*first)))

    def _end(self, segment: _Segment) -> int:
        following = self._at(segment.cpu, segment.end)
        while following and (self._is_taken(following) or self._is_bridge(following)):
            segment, following = following, self._at(segment.cpu, following.end)
        return segment.end

    def _at(self, cpu: int, time_ns: int) -> _Segment | None:
        found = self._tiles.segment_at(cpu, time_ns)
        return None if found is None else _Segment(*found)

    def _is_taken(self, segment: _Segment | None) -> bool:
        return bool(segment and self._stolen[segment.owner] and segment.task == self._task)

    def _is_bridge(self, segment: _Segment) -> bool:
        # The task's own time between two that are taken, with the softirq that follows pending.
        owner = self._tiles.owners.owners[segment.owner]
        return (
            owner.kind == "task"
            and segment.task == self._task
            and segment.end - segment.begin <= GAP_NS
            and self._is_taken(self._at(segment.cpu, segment.begin - 1))
            and self._is_taken(self._at(segment.cpu, segment.end))
            and self._was_raised(segment)
        )

    def _was_raised(self, segment: _Segment) -> bool:
        frame = self._tiles.table_at(segment.end)("softirqs")
        first, last = np.searchsorted(frame["cpu"].to_numpy(), [segment.cpu, segment.cpu + 1])
        own = frame[first:last]
        entries = own["entry_ns"].astype("Int64").to_numpy("int64", na_value=_NEVER)
        origin_ns = self._tiles.origin_ns
        at = np.flatnonzero(entries == origin_ns + segment.end)
        if not len(at):
            return False
        # A raise that is not known may have been before it.
        raised = own["raise_ns"].astype("Int64").to_numpy("int64", na_value=_NEVER)
        return bool(raised[at[0]] <= origin_ns + segment.begin)

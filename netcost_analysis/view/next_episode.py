"""The next episode of a task, as the question episodes tells them: questions/stolen_time."""

from typing import TYPE_CHECKING

from ..questions.longest_episodes import GAP_NS

if TYPE_CHECKING:
    from .._native import TileSegment
    from .tiles import Tiles


def next_episode(
    tiles: "Tiles", task: int, segment: "TileSegment", time_ns: int
) -> "TileSegment | None":
    """The first episode of a task that begins after a time, as one segment.

    An episode is time that was stolen from the task without a break, but for moments before a
    softirq. segment: the one there. Of a time within an episode: the first that begins after that.
    """
    episodes = _Episodes(tiles, task)
    if episodes.is_part(segment):
        time_ns = episodes.end(segment) - 1
    first = tiles.next(episodes.stolen, time_ns, None, task)
    if first is None:
        return None
    cpu, begin, _, *owner_and_task = first
    return (cpu, begin, episodes.end(first), *owner_and_task)  # type: ignore[return-value]


class _Episodes:
    # Segments are (cpu, begin_ns, end_ns, owner, task).
    def __init__(self, tiles: "Tiles", task: int) -> None:
        self._tiles, self._task = tiles, task
        self.stolen = [owner.part.startswith("stolen") for owner in tiles.owners.owners]

    def end(self, segment: "TileSegment") -> int:
        following = self._after(segment)
        while following and self.is_part(following):
            segment, following = following, self._after(following)
        return segment[2]

    def is_part(self, segment: "TileSegment") -> bool:
        return self._is_stolen(segment) or self._is_bridge(segment)

    def _after(self, segment: "TileSegment") -> "TileSegment | None":
        return self._tiles.segment_at(segment[0], segment[2])

    def _is_stolen(self, segment: "TileSegment | None") -> bool:
        return bool(segment and self.stolen[segment[3]] and segment[4] == self._task)

    def _is_bridge(self, segment: "TileSegment") -> bool:
        # The task's own time between two that are stolen, with the softirq that follows pending.
        cpu, begin, end, owner, task = segment
        return (
            self._tiles.owners.owners[owner].kind == "task"
            and task == self._task
            and end - begin <= GAP_NS
            and self._is_stolen(self._tiles.segment_at(cpu, begin - 1))
            and self._is_stolen(self._after(segment))
            and self._was_raised(cpu, begin, end)
        )

    def _was_raised(self, cpu: int, begin: int, end: int) -> bool:
        at_ns = self._tiles.origin_ns + end
        for part in self._tiles.table_at(end)("softirqs"):
            entries = part.numbers("entry_ns")
            for place in part.of_cpu(cpu):
                if entries[place] == at_ns and (row := part.row(place))["entry_ns"] == at_ns:
                    # A raise that is not known may have been before it.
                    raised = row["raise_ns"]
                    return raised is None or bool(raised <= self._tiles.origin_ns + begin)
        return False

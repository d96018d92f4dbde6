"""What was at a place of a timeline, and where it leads: answers for the server and widget."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..questions.longest_episodes import GAP_NS
from .owners import LINKS, NO_TASK
from .read_parts import stretch

if TYPE_CHECKING:
    from .._native import TileSegment
    from .read_parts import Lookup
    from .tiles import Tiles

# What detail() reports of a row of each table: begin and end, then more columns.
_SOFTIRQ = ("entry_ns", "exit_ns", "action", "origin", "cost_class", "packets", "polls")
_POLL = ("start_ns", "end_ns", "device", "work", "budget")
_INTERRUPT = ("entry_ns", "exit_ns", "irq", "name")
_SLICE = ("in_ns", "out_ns", "task_ns", "wait_ns")
# Longer than any name of a task, device or interrupt.
_LONGEST_TEXT = 200


class _Place:
    # A time on a CPU. time_ns counts from the start of the window; at_ns is on the capture's clock.
    # table() returns a table's rows around this time.

    def __init__(self, tiles: "Tiles", cpu: int, time_ns: int) -> None:
        self.tiles, self.cpu, self.time_ns = tiles, cpu, time_ns
        self.at_ns = tiles.origin_ns + time_ns
        self.segment = tiles.segment_at(cpu, time_ns)
        self.table = tiles.table_at(time_ns)

    def row(
        self, name: str, begin: str, end: str, at_ns: int | None = None
    ) -> dict[str, Any] | None:
        # The innermost row of this CPU that contains at_ns, by default the place's time.
        if self.segment is None:
            return None
        at_ns = self.at_ns if at_ns is None else at_ns
        parts = self.table(name)
        rows = [row for part in parts for row in part.around(self.cpu, begin, end, at_ns)]
        # If several begin at once, take the last.
        return max(reversed(rows), key=lambda row: row[begin], default=None)

    @cached_property
    def softirq(self) -> dict[str, Any] | None:
        return self.row("softirqs", "entry_ns", "exit_ns")

    @cached_property
    def raiser(self) -> dict[str, Any] | None:
        # The interrupt that raised the softirq.
        if self.softirq is None or self.softirq["raise_ns"] is None:
            return None
        return self.row("hardirqs", "entry_ns", "exit_ns", self.softirq["raise_ns"])

    @property
    def task(self) -> int | None:
        # The number of the task that had the CPU; None for none and the idle task.
        if self.segment is None or self.segment[4] == NO_TASK:
            return None
        tid, _ = self.tiles.owners.tasks[self.segment[4]]
        return None if tid == 0 else self.segment[4]

    def offset(self, at: Any) -> int | None:
        return None if at is None else int(at) - self.tiles.origin_ns

    def part_of(
        self, row: dict[str, Any] | None, columns: tuple[str, ...], **instants: str
    ) -> dict[str, Any] | None:
        # columns: begin, end, and columns to copy. instants: more columns of times, by new name.
        if row is None:
            return None
        begin, end, *names = columns
        edges = {"begin_ns": self.offset(row[begin]), "end_ns": self.offset(row[end])}
        others = {name: self.offset(row[column]) for name, column in instants.items()}
        return edges | {name: row[name] for name in names} | others


def detail(tiles: "Tiles", cpu: int, time_ns: int) -> dict[str, Any]:
    """What was at a place: segment, softirq, poll, the interrupt that raised it, the task's slice.

    docs/view.md has the fields. None stands for what was absent or is unknown.
    """
    place = _Place(tiles, cpu, time_ns)
    return {
        "cpu": cpu,
        "time_ns": time_ns,
        "segment": _segment(place),
        "softirq": place.part_of(place.softirq, _SOFTIRQ, raise_ns="raise_ns"),
        "poll": place.part_of(place.row("polls", *_POLL[:2]), _POLL),
        "interrupt": place.part_of(place.raiser, _INTERRUPT),
        "slice": place.part_of(place.row("slices", *_SLICE[:2]), _SLICE, wake_ns="wake_ns"),
        "links": [link for link in LINKS if _may_lead(place, link)],
    }


def _segment(place: _Place) -> dict[str, Any] | None:
    if place.segment is None:
        return None
    _, begin, end, owner, task = place.segment
    row = place.row("segments", "start_ns", "end_ns") or {"depth": None, "napi": None}
    return {
        "begin_ns": begin,
        "end_ns": end,
        "owner": owner,
        "task": None if task == NO_TASK else task,
        "depth": row["depth"],
        "napi": None if row["napi"] is None else f"{row['napi']:#x}",
    }


def follow(tiles: "Tiles", cpu: int, time_ns: int, link: str) -> dict[str, Any] | None:
    """Where a link leads from a place: cpu, begin_ns and end_ns; None for nowhere.

    link: "interrupt", the one that raised the softirq; "raiser", what ran at the raise; "episode",
    the next one of the task on the CPU; "migration", where that task moves next.
    """
    if link not in LINKS:
        raise ArgumentError(f"no link {link!r}; there are {', '.join(LINKS)}")
    return _leads(_Place(tiles, cpu, time_ns), link)


def _leads(place: _Place, link: str) -> dict[str, Any] | None:
    if link == "interrupt":
        interrupt = place.part_of(place.raiser, _INTERRUPT[:2])
        return None if interrupt is None else {"cpu": place.cpu, **interrupt}
    if link == "raiser":
        raised = None if place.softirq is None else place.offset(place.softirq["raise_ns"])
        segment = None
        if raised is not None and raised >= 0:
            segment = place.tiles.segment_at(place.cpu, raised)
        return None if segment is None else stretch(segment)
    if place.task is None or place.segment is None:
        return None
    if link == "migration":
        return _migration(place, place.task, place.segment[1])
    episode = next_episode(place.tiles, place.task, place.segment, place.time_ns)
    return None if episode is None else stretch(episode)


def _may_lead(place: _Place, link: str) -> bool:
    # Searching for another episode may take long, so offer that link without.
    if link == "episode":
        return place.task is not None
    return _leads(place, link) is not None


def _migration(place: _Place, task: int, begin_ns: int) -> dict[str, Any] | None:
    tid, _ = place.tiles.owners.tasks[task]
    if tid is None:
        return None
    since = place.tiles.origin_ns + begin_ns
    move = _first(place.table("migrations"), "time_ns", since, tid)
    if move is None or move["dest_cpu"] not in place.tiles.timeline.summary["cpus"]:
        return None
    at, dest = move["time_ns"], move["dest_cpu"]
    stay = _first(place.table("slices"), "in_ns", at, tid, dest)
    if stay is not None:
        return {"cpu": dest, **(place.part_of(stay, _SLICE[:2]) or {})}
    begin = at - place.tiles.origin_ns
    return {"cpu": dest, "begin_ns": begin, "end_ns": begin + 1}


def _first(
    parts: "Sequence[Lookup]", begin: str, at_ns: int, tid: int, cpu: int | None = None
) -> dict[str, Any] | None:
    rows = (part.after(begin, at_ns, tid, cpu) for part in parts)
    return min(filter(None, rows), key=lambda row: row[begin], default=None)


def next_episode(
    tiles: "Tiles", task: int, segment: "TileSegment", time_ns: int
) -> "TileSegment | None":
    """The first episode of a task that begins after a time, as one segment.

    An episode is time stolen from the task without a break, except moments before a pending
    softirq. segment: the one at this time. If it is within an episode, that one is skipped.
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
        # The task's own time between two stolen segments, while the next softirq was pending.
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
                    # An unknown raise may have come before the gap.
                    raised = row["raise_ns"]
                    return raised is None or bool(raised <= self._tiles.origin_ns + begin)
        return False


def respond(tiles: "Tiles", what: str, given: Mapping[str, Any]) -> Any:
    """Answer a request: a tile's bytes, or a value for JSON; None if nothing was found.

    what: "tile" (given level and index), "detail" (cpu and ns), "follow" (cpu, ns and link) or
    "find" (text, ns, and cpu or None). Raises ArgumentError for anything else.
    """
    header = tiles.header()
    if what == "tile":
        level = _integer(given, "level", header["max_level"])
        span = header["bucket_count"] << level
        index = _integer(given, "index", max(-(-header["duration_ns"] // span) - 1, 0))
        return tiles.tile(level, index)
    if what not in ("detail", "follow", "find"):
        raise ArgumentError("no such question")
    if what == "find":
        # -1 starts before the first segment.
        ns = _integer(given, "ns", header["duration_ns"], least=-1)
        text = given.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_TEXT:
            raise ArgumentError("no text to find")
        cpu = None if given.get("cpu") is None else _cpu(given, header)
        return tiles.find(text, ns, cpu)
    cpu, ns = _cpu(given, header), _integer(given, "ns", max(header["duration_ns"] - 1, 0))
    if what == "detail":
        return detail(tiles, cpu, ns)
    link = given.get("link")
    if link not in header["links"]:
        raise ArgumentError("no such link")
    return follow(tiles, cpu, ns, str(link))


def _integer(given: Mapping[str, Any], name: str, most: int, least: int = 0) -> int:
    value = given.get(name)
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
        value = int(value)
    # JavaScript sends whole numbers as floats.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ArgumentError(f"{name} is a whole number from {least} to {most}")
    return value


def _cpu(given: Mapping[str, Any], header: Mapping[str, Any]) -> int:
    cpu = _integer(given, "cpu", 1 << 31)
    if cpu not in header["cpus"]:
        raise ArgumentError("no such CPU")
    return cpu

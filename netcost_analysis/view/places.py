"""What was at a place of a timeline, and where that leads."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from .header import LINKS
from .next_episode import next_episode
from .owners import NO_TASK
from .read_parts import stretch

if TYPE_CHECKING:
    from .lookup import Lookup
    from .tiles import Tiles

# What is reported about a row of each table: begin and end, then more columns.
_SOFTIRQ = ("entry_ns", "exit_ns", "action", "origin", "cost_class", "packets", "polls")
_POLL = ("start_ns", "end_ns", "device", "work", "budget")
_INTERRUPT = ("entry_ns", "exit_ns", "irq", "name")
_SLICE = ("in_ns", "out_ns", "task_ns", "wait_ns")


class _Place:
    # A time on a CPU. time_ns counts from the start of the window, at_ns is on the capture's clock.
    # table() returns a table with the rows around this time.

    def __init__(self, tiles: "Tiles", cpu: int, time_ns: int) -> None:
        self.tiles, self.cpu, self.time_ns = tiles, cpu, time_ns
        self.at_ns = tiles.origin_ns + time_ns
        self.segment = tiles.segment_at(cpu, time_ns)
        self.table = tiles.table_at(time_ns)

    def row(
        self, name: str, begin: str, end: str, at_ns: int | None = None
    ) -> dict[str, Any] | None:
        # The innermost row of this CPU that contains at_ns; this time by default.
        if self.segment is None:
            return None
        at_ns = self.at_ns if at_ns is None else at_ns
        parts = self.table(name)
        found = [row for part in parts for row in part.around(self.cpu, begin, end, at_ns)]
        # Of several that begin at once the last.
        return max(reversed(found), key=lambda row: row[begin], default=None)

    @cached_property
    def softirq(self) -> dict[str, Any] | None:
        # The softirq that was open.
        return self.row("softirqs", "entry_ns", "exit_ns")

    @cached_property
    def raiser(self) -> dict[str, Any] | None:
        # The interrupt that raised the softirq.
        if self.softirq is None or self.softirq["raise_ns"] is None:
            return None
        return self.row("hardirqs", "entry_ns", "exit_ns", self.softirq["raise_ns"])

    @property
    def task(self) -> int | None:
        # The number of the task that had the CPU; None for nobody and the idle task.
        if self.segment is None or self.segment[4] == NO_TASK:
            return None
        tid, _ = self.tiles.owners.tasks[self.segment[4]]
        return None if tid == 0 else self.segment[4]

    def offset(self, at: Any) -> int | None:
        return None if at is None else int(at) - self.tiles.origin_ns

    def part_of(
        self, row: dict[str, Any] | None, columns: tuple[str, ...], **instants: str
    ) -> dict[str, Any] | None:
        # A row's begin and end, some columns, and other times by name.
        if row is None:
            return None
        begin, end, *names = columns
        edges = {"begin_ns": self.offset(row[begin]), "end_ns": self.offset(row[end])}
        others = {name: self.offset(row[column]) for name, column in instants.items()}
        return edges | {name: row[name] for name in names} | others


def detail(tiles: "Tiles", cpu: int, time_ns: int) -> dict[str, Any]:
    """What was at a place: segment, softirq, poll, what raised it, the slice of the task.

    As docs/view.md has it; None for what was not there or is not known.
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
    """Where a place leads: cpu, begin_ns and end_ns; None where that leads nowhere.

    link: to the interrupt in which the softirq was raised; to what ran then (the raiser); to the
    next episode of the task that has the CPU; to where it is next migrated.
    """
    if link not in LINKS:
        raise ArgumentError(f"no link {link!r}; there are {', '.join(LINKS)}")
    return _leads(_Place(tiles, cpu, time_ns), link)


def _leads(place: _Place, link: str) -> dict[str, Any] | None:
    if link == "interrupt":
        found = place.part_of(place.raiser, _INTERRUPT[:2])
        return None if found is None else {"cpu": place.cpu, **found}
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
    # Whether there is another episode may take long to find out.
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
    found = (part.after(begin, at_ns, tid, cpu) for part in parts)
    return min(filter(None, found), key=lambda row: row[begin], default=None)

"""What was at a place of a timeline, and where that leads."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError
from ..units import absent
from .header import LINKS
from .next_episode import Episodes
from .owners import NO_TASK
from .parts import STRETCH, stretch

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from .._native import TileSegment
    from .tiles import Tiles

_LAST_NS = 2**63 - 1


@dataclass(frozen=True)
class Place:
    """A time on a CPU.

    Attributes
    ----------
    cpu, time_ns : int
        Where; ns from the first one of the timeline's window.
    segment : tuple or None
        The one there.
    table : callable
        A table by name, of what is around.
    origin_ns : int
        The window's first ns.
    tiles : Tiles
        What the place is of.
    """

    cpu: int
    time_ns: int
    segment: "TileSegment | None"
    table: "Callable[[str], pd.DataFrame]"
    origin_ns: int
    tiles: "Tiles"

    def last(self, name: str, begin: str, end: str, at: int | None) -> dict[str, Any] | None:
        """The innermost of a table's rows of this CPU that hold a time of the clock."""
        if at is None or self.segment is None:
            return None
        frame = self.table(name)
        # Tables are in the order of CPUs.
        first, last = np.searchsorted(frame["cpu"].to_numpy(), [self.cpu, self.cpu + 1])
        own = frame[first:last]
        begins, ends = (
            own[column].astype("Int64").to_numpy("int64", na_value=edge)
            for column, edge in ((begin, _LAST_NS), (end, -1))
        )
        found = own[(begins <= at) & (at < ends)]
        if not len(found):
            return None
        return _plain(found.sort_values(begin, kind="stable").iloc[-1].to_dict())

    @property
    def at_ns(self) -> int:
        """The time on the capture's clock."""
        return self.origin_ns + self.time_ns

    @cached_property
    def softirq(self) -> dict[str, Any] | None:
        """The softirq that was open."""
        return self.last("softirqs", "entry_ns", "exit_ns", self.at_ns)

    @cached_property
    def raiser(self) -> dict[str, Any] | None:
        """The interrupt in which it was raised."""
        raised = None if self.softirq is None else self.softirq["raise_ns"]
        return self.last("hardirqs", "entry_ns", "exit_ns", raised)

    @property
    def task(self) -> int | None:
        """The number of the task that had the CPU; None for nobody and the idle task."""
        if self.segment is None or self.segment[4] == NO_TASK:
            return None
        tid, _ = self.tiles.owners.tasks[self.segment[4]]
        return None if tid == 0 else self.segment[4]

    def offset(self, at: Any) -> int | None:
        """A time of the clock as others have it."""
        return None if at is None else int(at) - self.origin_ns


def _place(tiles: "Tiles", cpu: int, time_ns: int) -> Place:
    segment, table = tiles.segment_at(cpu, time_ns), tiles.table_at(time_ns)
    return Place(cpu, time_ns, segment, table, tiles.origin_ns, tiles)


def detail(tiles: "Tiles", cpu: int, time_ns: int) -> dict[str, Any]:
    """What was at a place: segment, softirq, poll, what raised it, the stay of the task.

    Parameters
    ----------
    cpu : int
        The CPU's number.
    time_ns : int
        The time.

    Returns
    -------
    dict
        As docs/view.md has it; None for what was not there or is not known.
    """
    place = _place(tiles, cpu, time_ns)
    segment = softirq = poll = stay = None
    if place.segment is not None:
        segment = {**stretch(place.segment), "owner": place.segment[3], "task": place.segment[4]}
        del segment["cpu"]
        row = place.last("segments", "start_ns", "end_ns", place.at_ns)
        segment |= {name: None if row is None else row[name] for name in ("depth", "napi")}
        if segment["napi"] is not None:
            segment["napi"] = f"{segment['napi']:#x}"
        segment["task"] = None if segment["task"] == NO_TASK else segment["task"]
    if place.softirq is not None:
        names = ("action", "origin", "cost_class", "packets", "polls")
        softirq = _told(place, place.softirq, ("entry_ns", "exit_ns"), names)
        softirq["raise_ns"] = place.offset(place.softirq["raise_ns"])
    if (row := place.last("polls", "start_ns", "end_ns", place.at_ns)) is not None:
        poll = _told(place, row, ("start_ns", "end_ns"), ("device", "work", "budget"))
    interrupt = None
    if place.raiser is not None:
        interrupt = _told(place, place.raiser, ("entry_ns", "exit_ns"), ("irq", "name"))
    if (row := place.last("slices", "in_ns", "out_ns", place.at_ns)) is not None:
        stay = _told(place, row, ("in_ns", "out_ns"), ("task_ns", "wait_ns"))
        stay["wake_ns"] = place.offset(row["wake_ns"])
    return {
        "cpu": place.cpu,
        "time_ns": place.time_ns,
        "segment": segment,
        "softirq": softirq,
        "poll": poll,
        "interrupt": interrupt,
        "slice": stay,
        "links": [link for link in LINKS if _may_lead(place, link)],
    }


def follow(tiles: "Tiles", cpu: int, time_ns: int, link: str) -> dict[str, Any] | None:
    """Where a place leads.

    Parameters
    ----------
    cpu : int
        The CPU's number.
    time_ns : int
        The time.
    link : {"interrupt", "raiser", "episode", "migration"}
        To the interrupt in which the softirq was raised; to what ran then; to the next episode
        of the task that has the CPU; to where it is next migrated.

    Returns
    -------
    dict or None
        cpu, begin_ns and end_ns; None where that leads nowhere.

    Raises
    ------
    ArgumentError
        For another link.
    """
    if link not in LINKS:
        raise ArgumentError(f"no link {link!r}; there are {', '.join(LINKS)}")
    return _leads(_place(tiles, cpu, time_ns), link)


def _leads(place: Place, link: str) -> dict[str, Any] | None:
    if link == "interrupt":
        found = place.raiser
        return None if found is None else _span(place, place.cpu, found, "entry_ns", "exit_ns")
    if link == "raiser":
        raised = None if place.softirq is None else place.offset(place.softirq["raise_ns"])
        segment = None
        if raised is not None and raised >= 0:
            segment = place.tiles.segment_at(place.cpu, raised)
        return None if segment is None else stretch(segment)
    return _episode(place) if link == "episode" else _migration(place)


def _may_lead(place: Place, link: str) -> bool:
    # That a task is interrupted once more may take long to find out.
    if link == "episode":
        return place.task is not None
    return _leads(place, link) is not None


def _episode(place: Place) -> dict[str, Any] | None:
    if place.task is None or place.segment is None:
        return None
    found = Episodes(place.tiles, place.task).after(place.segment, place.time_ns)
    return None if found is None else dict(zip(STRETCH, found, strict=True))


def _migration(place: Place) -> dict[str, Any] | None:
    if place.task is None or place.segment is None:
        return None
    tid, _ = place.tiles.owners.tasks[place.task]
    moves, stays = place.table("migrations"), place.table("slices")
    since = place.origin_ns + place.segment[1]
    later = moves[(moves["tid"] == tid) & (moves["time_ns"] >= since)].sort_values("time_ns")
    if not len(later):
        return None
    at, dest = int(later["time_ns"].iloc[0]), int(later["dest_cpu"].iloc[0])
    if dest not in place.tiles.timeline.summary["cpus"]:
        return None
    there = (stays["tid"] == tid).fillna(False) & (stays["cpu"] == dest) & (stays["in_ns"] >= at)
    stay = stays[there.to_numpy(dtype=bool)].sort_values("in_ns")
    if len(stay):
        return _span(place, dest, _plain(stay.iloc[0].to_dict()), "in_ns", "out_ns")
    return {"cpu": dest, "begin_ns": at - place.origin_ns, "end_ns": at - place.origin_ns + 1}


def _span(place: Place, cpu: int, row: dict[str, Any], begin: str, end: str) -> dict[str, Any]:
    return {"cpu": cpu, "begin_ns": place.offset(row[begin]), "end_ns": place.offset(row[end])}


def _told(
    place: Place, row: dict[str, Any], edges: tuple[str, str], names: tuple[str, ...]
) -> dict[str, Any]:
    span = _span(place, place.cpu, row, *edges)
    del span["cpu"]
    return span | {name: row[name] for name in names}


def _plain(row: dict[Any, Any]) -> dict[str, Any]:
    # What JSON can hold.
    def plain(value: Any) -> Any:
        if absent(value):
            return None
        return value.item() if isinstance(value, np.generic) else value

    return {name: plain(value) for name, value in row.items()}

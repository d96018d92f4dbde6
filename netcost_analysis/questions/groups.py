"""Groupings of a timeline's rows that questions declare: those of several are one pass.

>>> sizes = Grouped("polls", by=("device", "work"), sums=("self_ns",))
>>> sizes(timeline).frame
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..timeline.group import Edges, Grouping, Groups, Range, Where, aggregates, grouped
from .inputs import window_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

_kept: "WeakKeyDictionary[Timeline, dict[Grouping, Groups]]" = WeakKeyDictionary()


class Grouped:
    """Rows by what they have in common; calling it with a timeline computes it, once.

    Parameters are those of Grouping; edges and where may be functions of the timeline.
    """

    def __init__(
        self,
        rows: str,
        *,
        by: tuple[str, ...] = (),
        edges: "Callable[[Timeline], Edges] | None" = None,
        sums: tuple[str, ...] = (),
        known: tuple[str, ...] = (),
        ends: tuple[str, ...] = (),
        lengths: str | None = None,
        where: "Where | Callable[[Timeline], Where] | None" = None,
    ) -> None:
        counted = {"sums": sums, "known": known, "ends": ends, "lengths": lengths}
        self.wanted = Grouping(rows, by, **counted)
        self.edges = edges
        self.where: Where | Callable[[Timeline], Where] = where or {}

    def of(self, timeline: "Timeline", edges: Edges | None = None) -> Grouping:
        """What it asks of one."""
        where = self.where(timeline) if callable(self.where) else self.where
        if edges is None:
            edges = self.edges(timeline) if self.edges else ()
        return self.wanted._replace(edges=edges, where=tuple(where.items()))

    def __call__(self, timeline: "Timeline", edges: Edges | None = None) -> Groups:
        """Of the timeline's rows; edges: others than its own."""
        return groups(timeline, self.of(timeline, edges))[0]


def groups(timeline: "Timeline", *wanted: Grouping) -> list[Groups]:
    """Several groupings, those that are not known in one pass."""
    kept = _kept.setdefault(timeline, {})
    missing = [one for one in dict.fromkeys(wanted) if one not in kept]
    for one, tables in zip(missing, aggregates(timeline, missing), strict=True):
        kept[one] = grouped(one, tables)
    return [kept[one] for one in wanted]


def together(timeline: "Timeline", asked: Iterable[Grouped]) -> None:
    """Compute several in one pass."""
    groups(timeline, *(one.of(timeline) for one in asked))


def in_window(column: str) -> "Callable[[Timeline], dict[str, Range]]":
    """Rows whose time is counted in the timeline: windows that meet add up."""
    return lambda timeline: {column: window_of(timeline).range}

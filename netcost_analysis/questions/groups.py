"""Groupings of a timeline's rows that questions declare: those of several are one pass.

>>> sizes = Grouped("polls", by=("device", "work"), sums=("self_ns",))
>>> sizes(timeline).frame
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..timeline.group import Grouping, Groups, Range, Where, grouped
from .inputs import window_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

_kept: "WeakKeyDictionary[Timeline, dict[Grouping, Groups]]" = WeakKeyDictionary()


class Grouped:
    """Rows by what they have in common; calling it with a timeline computes it, once.

    Parameters are those of Grouping; where may be a function of the timeline.
    """

    def __init__(
        self,
        rows: str,
        *,
        by: tuple[str, ...] = (),
        block: tuple[str, int] | None = None,
        sums: tuple[str, ...] = (),
        known: tuple[str, ...] = (),
        lengths: str | None = None,
        where: "Where | Callable[[Timeline], Where] | None" = None,
    ) -> None:
        self.wanted = Grouping(rows, by, block, sums, known, lengths)
        self.where: Where | Callable[[Timeline], Where] = where or {}

    def of(self, timeline: "Timeline") -> Grouping:
        """What it asks of one."""
        where = self.where(timeline) if callable(self.where) else self.where
        return self.wanted._replace(where=tuple(where.items()))

    def __call__(self, timeline: "Timeline") -> Groups:
        """Of the timeline's rows."""
        together(timeline, [self])
        return _kept[timeline][self.of(timeline)]


def together(timeline: "Timeline", groups: Iterable[Grouped]) -> None:
    """Compute several, those that are not known, in one pass."""
    kept = _kept.setdefault(timeline, {})
    wanted = [one for one in dict.fromkeys(each.of(timeline) for each in groups) if one not in kept]
    kept.update(zip(wanted, grouped(timeline, wanted), strict=True))


def in_window(column: str) -> "Callable[[Timeline], dict[str, Range]]":
    """Rows whose time is counted in the timeline: windows that meet add up."""
    return lambda timeline: {column: window_of(timeline).range}

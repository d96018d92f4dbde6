"""Aggregates that native computes of a timeline's rows: those of several questions in one pass.

>>> sizes = Grouped("polls", by=("device", "work"), sums=("self_ns",))
>>> sizes(timeline).frame
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from .._native import CaptureError
from ..errors import AbsentError
from ..units import round_width
from .group import Binned, Edges, Grouping, Groups, Range, Where, computed, forget
from .reading import bounds_of

if TYPE_CHECKING:
    from .timeline import Timeline

Wanted = TypeVar("Wanted")


class Aggregate(Generic[Wanted]):
    """One of native's aggregates; calling it with a timeline computes it, once.

    of: makes what native is asked for, None where that is not known in advance. on: the timeline
    whose rows are aggregated. is_later: it depends on other aggregates, which are computed first.
    """

    def __init__(
        self,
        of: "Callable[[Timeline], Wanted]",
        *,
        on: "Callable[[Timeline], Timeline]" = lambda timeline: timeline,
        is_later: bool = False,
    ) -> None:
        self.of, self.on, self.is_later = of, on, is_later

    def __call__(self, timeline: "Timeline", wanted: Wanted | None = None) -> Any:
        """Its tables by name; wanted: what is asked instead."""
        of = self.of(timeline) if wanted is None else wanted
        return computed(self.on(timeline), of)[0]

    def take(self, timeline: "Timeline", wanted: Wanted) -> Any:
        """As a call, without keeping the result: for something large that is needed once."""
        found = self(timeline, wanted)
        forget(self.on(timeline), wanted)
        return found


class Plain(NamedTuple):
    """An aggregate without parameters, by name."""

    aggregate: str


class Grouped(Aggregate[Grouping]):
    """Rows grouped by what they have in common.

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
        every = Grouping(rows, by, sums=sums, known=known, ends=ends, lengths=lengths)

        def of(timeline: "Timeline") -> Grouping:
            ranges = where(timeline) if callable(where) else where or {}
            places = edges(timeline) if edges else ()
            return every._replace(edges=places, where=tuple(ranges.items()))

        super().__init__(of)

    def __call__(self, timeline: "Timeline", wanted: Grouping | None = None) -> Groups:
        """Of the timeline's rows."""
        found: Groups = super().__call__(timeline, wanted)
        return found


# The sums in about 120 bins of a round width.
IN_BINS = Aggregate(lambda timeline: Binned(round_width(timeline.duration_ns)))


def groups(timeline: "Timeline", *wanted: Grouping) -> list[Groups]:
    """Several groupings."""
    return computed(timeline, *wanted)


def together(timeline: "Timeline", asked: Iterable[Aggregate[Any]]) -> None:
    """Compute several in one pass, and those that depend on others in another."""
    every = list(dict.fromkeys(asked))
    for is_later in (False, True):
        wanted: dict[Timeline, list[Any]] = {}
        for one in every:
            if one.is_later is not is_later:
                continue
            # The question that needs it says why there is none.
            with suppress(CaptureError, AbsentError):
                if (of := one.of(timeline)) is not None:
                    wanted.setdefault(one.on(timeline), []).append(of)
        for whole, some in wanted.items():
            computed(whole, *some)


def in_window(column: str, **others: Range | str) -> "Callable[[Timeline], Where]":
    """Rows whose time lies in the timeline's window; windows that meet add up.

    others: the values that other columns must have.
    """
    return lambda timeline: {column: bounds_of(timeline).range, **others}

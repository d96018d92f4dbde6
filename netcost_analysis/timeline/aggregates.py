"""Aggregates that native computes over a timeline's rows, for several questions in one pass.

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
    """One of native's aggregates; calling it with a timeline computes it and caches the result.

    of: makes the request to native, None if it is not known in advance. on: the timeline whose rows
    are aggregated. is_later: it depends on other aggregates, which are computed first.
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
        """Its tables by name; wanted: a request to use instead."""
        of = self.of(timeline) if wanted is None else wanted
        return computed(self.on(timeline), of)[0]

    def take(self, timeline: "Timeline", wanted: Wanted) -> Any:
        """Like a call, without caching: for a large result that is needed once."""
        tables = self(timeline, wanted)
        forget(self.on(timeline), wanted)
        return tables


class Plain(NamedTuple):
    """The name of an aggregate without parameters."""

    aggregate: str


class Grouped(Aggregate[Grouping]):
    """Rows grouped by the values of some columns.

    Takes the parameters of Grouping; edges and where may be functions of the timeline.
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
        """The groups of the timeline's rows."""
        groups: Groups = super().__call__(timeline, wanted)
        return groups


# The sums in about 120 bins of a round width.
IN_BINS = Aggregate(lambda timeline: Binned(round_width(timeline.duration_ns)))


def groups(timeline: "Timeline", *wanted: Grouping) -> list[Groups]:
    """The results of several groupings, computed in one pass."""
    return computed(timeline, *wanted)


def together(timeline: "Timeline", asked: Iterable[Aggregate[Any]]) -> None:
    """Compute several aggregates in one pass, and those that depend on others in a second."""
    every = list(dict.fromkeys(asked))
    for is_later in (False, True):
        requests: dict[Timeline, list[Any]] = {}
        for aggregate in every:
            if aggregate.is_later is not is_later:
                continue
            # The question that needs the aggregate reports the error.
            with suppress(CaptureError, AbsentError):
                if (request := aggregate.of(timeline)) is not None:
                    requests.setdefault(aggregate.on(timeline), []).append(request)
        for source, wanted in requests.items():
            computed(source, *wanted)


def in_window(column: str, **others: Range | str) -> "Callable[[Timeline], Where]":
    """Selects rows whose time is in the timeline's window; adjacent windows add up.

    others: values that other columns must have.
    """
    return lambda timeline: {column: bounds_of(timeline).range, **others}

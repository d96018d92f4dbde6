"""How questions read rows of a timeline where no aggregate (aggregates.py) does.

Sums by owner and time bin are Timeline.sums(), owned_by() and sums_by_thief(); sums of waits are
displaced_waits(). rows() returns all rows of a small table or of a part of a capture. Questions
read tables in no other way (tests/questions/test_inputs.py).
"""

from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import pandas as pd

    from .timeline import Timeline

State = TypeVar("State")
Source = TypeVar("Source")
Given = ParamSpec("Given")
# Their tables take some 500 MB.
_MOST_SEGMENTS = 3_000_000


def fits(timeline: "Timeline") -> bool:
    """Whether its tables fit into memory, all at once."""
    # A timeline's first pass counts the events besides.
    if not timeline.duration_ns or timeline.capture.event_count <= _MOST_SEGMENTS:
        return True
    return sum(map(int, timeline.columns("sums")["segments"])) <= _MOST_SEGMENTS


def preload(timeline: "Timeline", tables: tuple[str, ...]) -> None:
    """Compute tables in one pass, where they fit into memory; else each is read when it is used."""
    if fits(timeline):
        timeline.load(*tables)


class Bounds(NamedTuple):
    """The part of a capture that a timeline covers; windows that meet count each event once.

    goes_on: whether the recording goes on behind it.
    """

    start_ns: int
    end_ns: int
    goes_on: bool

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last time that count."""
        return self.start_ns, self.end_ns - self.goes_on

    @property
    def span(self) -> tuple[int, int]:
        """From when until when it is."""
        return self.start_ns, self.end_ns

    def has(self, times: "pd.Series[int]") -> "pd.Series[bool]":
        """Which times count: an event at the very end belongs to the next window."""
        inclusive: Literal["left", "both"] = "left" if self.goes_on else "both"
        return times.between(self.start_ns, self.end_ns, inclusive=inclusive)

    def holds(self, rows: "pd.DataFrame") -> "pd.Series[bool]":
        """Rows that lie whole in it; of others it would have all packets and a part of the time."""
        began = (rows["start_ns"] >= self.start_ns).fillna(True)
        return self.has(rows["end_ns"]) & began.astype(bool)


def bounds_of(timeline: "Timeline") -> Bounds:
    """The bounds of a timeline."""
    summary, last = timeline.summary, timeline.capture.info["end_ns"]
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    goes_on = timeline.end_s is not None and last is not None and end_ns < last
    return Bounds(start_ns, end_ns, goes_on)


def displaced_waits(timeline: "Timeline") -> dict[str, list[Any]] | None:
    """Timeline.displaced as plain columns, without pandas; None where it is not known."""
    # Waits are followed only when asked for; the same pass brings sums and facts.
    timeline.load("displaced")
    return None if timeline.missing["displaced"] else timeline.columns("displaced")


def once(
    function: "Callable[Concatenate[Source, Given], State]",
) -> "Callable[Concatenate[Source, Given], State]":
    """Cache what a function of a timeline, capture or bundle returns, as long as that lives."""
    kept: WeakKeyDictionary[Source, dict[tuple[Any, ...], State]] = WeakKeyDictionary()
    parameters = signature(function)

    def of(source: Source, /, *given: Given.args, **named: Given.kwargs) -> State:
        # An argument that is left out is the same as its default.
        bound = parameters.bind(source, *given, **named)
        bound.apply_defaults()
        known, key = kept.setdefault(source, {}), (bound.args[1:], *sorted(bound.kwargs.items()))
        try:
            hash(key)
        except TypeError:
            # An argument that is wrong: the function says how.
            return function(source, *given, **named)
        if key not in known:
            known[key] = function(source, *given, **named)
        return known[key]

    update_wrapper(of, function)
    return of


def rows(timeline: "Timeline", *tables: str, are_few: bool = False) -> "tuple[pd.DataFrame, ...]":
    """All rows of some tables, a frame each, by CPU and time.

    are_few: so few, as of one interrupt, that no pass has to count them first.
    """
    if are_few:
        timeline.read(*tables)
    return whole(timeline, *tables)


def whole(timeline: "Timeline", *tables: str) -> "tuple[pd.DataFrame, ...]":
    """Whole tables, a frame each."""
    timeline.load(*tables)
    return tuple(getattr(timeline, table) for table in tables)


def added(sums: "pd.DataFrame | None", more: "pd.DataFrame") -> "pd.DataFrame":
    """Add up two frames of sums by key, which is their index."""
    import pandas as pd

    if sums is None:
        return more
    levels = list(range(more.index.nlevels))
    return pd.concat([sums, more]).groupby(level=levels, dropna=False, sort=True).sum()

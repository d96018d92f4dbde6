"""How questions read a timeline's rows if no aggregate (aggregates.py) gives what they need.

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
# Tables of this many segments take about 500 MB.
_MOST_SEGMENTS = 3_000_000


def fits(timeline: "Timeline") -> bool:
    """Whether all of its tables fit into memory at once."""
    # duration_ns makes the first pass, which also counts the events.
    if not timeline.duration_ns or timeline.capture.event_count <= _MOST_SEGMENTS:
        return True
    return sum(map(int, timeline.columns("sums")["segments"])) <= _MOST_SEGMENTS


def preload(timeline: "Timeline", tables: tuple[str, ...]) -> None:
    """Compute tables in one pass if they fit into memory; else each is computed on first use."""
    if fits(timeline):
        timeline.load(*tables)


class Bounds(NamedTuple):
    """The part of a capture that a timeline covers; adjacent windows count each event once.

    goes_on: whether the recording continues after it.
    """

    start_ns: int
    end_ns: int
    goes_on: bool

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last time that count, both inclusive."""
        return self.start_ns, self.end_ns - self.goes_on

    @property
    def span(self) -> tuple[int, int]:
        """From when until when it is."""
        return self.start_ns, self.end_ns

    def has(self, times: "pd.Series[int]") -> "pd.Series[bool]":
        """Which times count; an event exactly at the end belongs to the next window."""
        inclusive: Literal["left", "both"] = "left" if self.goes_on else "both"
        return times.between(self.start_ns, self.end_ns, inclusive=inclusive)

    def holds(self, rows: "pd.DataFrame") -> "pd.Series[bool]":
        """Rows entirely inside; a clipped row would have all its packets but part of its time."""
        began = (rows["start_ns"] >= self.start_ns).fillna(True)
        return self.has(rows["end_ns"]) & began.astype(bool)


def bounds_of(timeline: "Timeline") -> Bounds:
    """The bounds of a timeline."""
    summary, last = timeline.summary, timeline.capture.info["end_ns"]
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    goes_on = timeline.end_s is not None and last is not None and end_ns < last
    return Bounds(start_ns, end_ns, goes_on)


def displaced_waits(timeline: "Timeline") -> dict[str, list[Any]] | None:
    """Timeline.displaced as plain columns, without pandas; None if it is not known."""
    # A pass follows waits only on request; this one computes sums and facts as well.
    timeline.load("displaced")
    return None if timeline.missing["displaced"] else timeline.columns("displaced")


def once(
    function: "Callable[Concatenate[Source, Given], State]",
) -> "Callable[Concatenate[Source, Given], State]":
    """Cache a function of a timeline, capture or bundle for as long as that object lives."""
    kept: WeakKeyDictionary[Source, dict[tuple[Any, ...], State]] = WeakKeyDictionary()
    parameters = signature(function)

    def of(source: Source, /, *given: Given.args, **named: Given.kwargs) -> State:
        # An omitted argument equals its default.
        bound = parameters.bind(source, *given, **named)
        bound.apply_defaults()
        known, key = kept.setdefault(source, {}), (bound.args[1:], *sorted(bound.kwargs.items()))
        try:
            hash(key)
        except TypeError:
            # The argument is wrong: the function raises.
            return function(source, *given, **named)
        if key not in known:
            known[key] = function(source, *given, **named)
        return known[key]

    update_wrapper(of, function)
    return of


def rows(timeline: "Timeline", *tables: str, are_few: bool = False) -> "tuple[pd.DataFrame, ...]":
    """All rows of some tables, a frame each, by CPU and time.

    are_few: so few, as around one interrupt, that no pass has to count them first.
    """
    if are_few:
        timeline.read(*tables)
    return whole(timeline, *tables)


def whole(timeline: "Timeline", *tables: str) -> "tuple[pd.DataFrame, ...]":
    """All rows of some tables, a frame each, if they fit into memory."""
    timeline.load(*tables)
    return tuple(getattr(timeline, table) for table in tables)


def added(sums: "pd.DataFrame | None", more: "pd.DataFrame") -> "pd.DataFrame":
    """Add up two frames of sums by their index."""
    import pandas as pd

    if sums is None:
        return more
    levels = list(range(more.index.nlevels))
    return pd.concat([sums, more]).groupby(level=levels, dropna=False, sort=True).sum()

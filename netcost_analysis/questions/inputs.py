"""What questions read of a timeline: sums that native folds, and rows in batches (folds.py).

Sums by owner and time bin are Timeline.sums(), owned_by() and sums_by_thief(), sums of waits
displaced_waits(). Rows come in batches, one after the other, and a question keeps of them what its
answer needs, its state, made by a fold.

A batch has rows of each table that a fold names, in the tables' order; every row is in one batch,
no earlier than it ends, with what native says of it as a whole. A timeline that fits into memory is
one batch. No question reads a table otherwise: tests/questions/test_inputs.py. What pairs rows of
several tables carries those that wait for theirs (carried.py). rows() are all of a table, for what
is small or a part of a capture.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import update_wrapper
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import pandas as pd

    from .._native import ArrowTable
    from ..timeline.timeline import Timeline

State = TypeVar("State")
Source = TypeVar("Source")
Given = ParamSpec("Given")
# By table the names of columns.
Columns = Mapping[str, Sequence[str]]
# Their tables take some 500 MB.
_MOST_SEGMENTS = 3_000_000
# Of a batch, over all tables: what pandas makes of one takes several times as much for a moment.
_ROWS = 250_000
# When a row ended.
_ENDS = {
    "segments": "end_ns",
    "softirqs": "exit_ns",
    "hardirqs": "exit_ns",
    "polls": "end_ns",
    "slices": "out_ns",
    "migrations": "time_ns",
    "coverage": "end_ns",
}


def fits(timeline: "Timeline") -> bool:
    """Whether its tables fit into memory, all at once."""
    if timeline.capture.event_count <= _MOST_SEGMENTS or not timeline.duration_ns:
        return True
    return sum(map(int, timeline.columns("sums")["segments"])) <= _MOST_SEGMENTS


def preload(timeline: "Timeline", tables: tuple[str, ...]) -> None:
    """Compute tables in one pass, where they fit into memory; else each is read when it is used."""
    if fits(timeline):
        timeline.load(*tables)


class Window(NamedTuple):
    """What of a capture a timeline is of: whatever happens is counted in one of those that meet.

    goes_on: whether the recording does, behind it.
    """

    start_ns: int
    end_ns: int
    goes_on: bool

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last time that is counted in it."""
        return self.start_ns, self.end_ns - self.goes_on

    def has(self, times: "pd.Series[int]") -> "pd.Series[bool]":
        """What is counted in it: what happens at its very end is the next one's."""
        inclusive: Literal["left", "both"] = "left" if self.goes_on else "both"
        return times.between(self.start_ns, self.end_ns, inclusive=inclusive)

    def holds(self, rows: "pd.DataFrame") -> "pd.Series[bool]":
        """Those that lie whole in it: of others it has a part of the time, and all the packets."""
        began = (rows["start_ns"] >= self.start_ns).fillna(True)
        return self.has(rows["end_ns"]) & began.astype(bool)


def window_of(timeline: "Timeline") -> Window:
    """That of a timeline."""
    summary, last = timeline.summary, timeline.capture.info["end_ns"]
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    goes_on = timeline.end_s is not None and last is not None and end_ns < last
    return Window(start_ns, end_ns, goes_on)


def in_window(times: "pd.Series[int]", timeline: "Timeline") -> "pd.Series[bool]":
    """Which times are counted in a timeline: windows that meet add up."""
    return window_of(timeline).has(times)


def displaced_waits(timeline: "Timeline") -> dict[str, list[Any]] | None:
    """Timeline.displaced as plain columns, without pandas; None where it is not known."""
    # Waits are followed only where they are asked for; one pass brings the sums and the facts too.
    timeline.load("displaced")
    return None if timeline.missing["displaced"] else timeline.columns("displaced")


def batches(
    timeline: "Timeline",
    *tables: str,
    columns: "Columns | None" = None,
    native: "Sequence[str]" = (),
) -> "Iterator[tuple[Any, ...]]":
    """The rows of some tables, a frame each, batch by batch.

    columns: by table those that are read, where these are not all; of a timeline that fits into
    memory the others come too. native: further tables, behind these, as Arrow.
    """
    every = dict.fromkeys([*tables, *native])
    if fits(timeline) or "displaced" in every:
        timeline.load(*every)
        frames = (getattr(timeline, table) for table in tables)
        yield *frames, *(timeline.table(table) for table in native)
        return
    from ..frames import to_frame

    named = columns or {}
    # Of a part of the columns a row takes less memory: more of them share what a batch costs.
    most = 2 * _ROWS if named.keys() == set(tables) else _ROWS
    for batch in _pieces(timeline, *every, most=most):
        frames = (to_frame(batch[table], named.get(table)) for table in tables)
        yield *frames, *(batch[table] for table in native)


def _pieces(timeline: "Timeline", *tables: str, most: int) -> "Iterator[Mapping[str, Any]]":
    if len(tables) > 1 or not timeline.holds(*tables):
        yield from timeline.arrow_batches(*tables, rows=most)
        return
    # One that was computed needs no pass.
    (name,) = tables
    yield from _dealt(name, timeline.table(name))


def _dealt(name: str, table: "ArrowTable") -> "Iterator[dict[str, Any]]":
    # As native deals a table: rows by when they and all before them on their CPU had ended, those
    # of a batch in the order of the table.
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.table(table)
    ends = rows[_ENDS[name]]
    if "entry_ns" in rows.column_names:
        ends = pc.coalesce(ends, rows["entry_ns"])
    due = pc.fill_null(ends, 0).to_numpy().copy()
    if "cpu" in rows.column_names:
        cpu = rows["cpu"].to_numpy()
        for part in np.split(due, np.flatnonzero(cpu[1:] != cpu[:-1]) + 1):
            np.maximum.accumulate(part, out=part)
    order = np.argsort(due, kind="stable")
    for first in range(0, len(order) or 1, _ROWS):
        yield {name: rows.take(np.sort(order[first : first + _ROWS]))}


def _whole(timeline: "Timeline", *tables: str) -> "tuple[pd.DataFrame, ...]":
    timeline.load(*tables)
    return tuple(getattr(timeline, table) for table in tables)


def once(
    function: "Callable[Concatenate[Source, Given], State]",
) -> "Callable[Concatenate[Source, Given], State]":
    """Keep what a function of a timeline or a bundle, and of parameters, returns: once for each."""
    kept: WeakKeyDictionary[Source, dict[tuple[Any, ...], State]] = WeakKeyDictionary()
    parameters = signature(function)

    def of(source: Source, /, *given: Given.args, **named: Given.kwargs) -> State:
        # One that is left out is asked for as its default.
        bound = parameters.bind(source, *given, **named)
        bound.apply_defaults()
        known, key = kept.setdefault(source, {}), (bound.args[1:], *sorted(bound.kwargs.items()))
        if key not in known:
            known[key] = function(source, *given, **named)
        return known[key]

    update_wrapper(of, function)
    return of


def rows(timeline: "Timeline", *tables: str, are_few: bool = False) -> "tuple[pd.DataFrame, ...]":
    """All rows of some tables, for what pairs them: a frame each, by CPU and time.

    are_few: so few, as of one interrupt, that no pass need count them before.
    """
    if are_few:
        timeline.read(*tables)
    if are_few or not fits(timeline):
        # Put together from batches they would take twice the memory.
        return _whole(timeline, *tables)
    parts = list(batches(timeline, *tables))
    if len(parts) == 1:
        return parts[0]
    return tuple(_in_order(list(frames)) for frames in zip(*parts, strict=True))


def _in_order(frames: "list[pd.DataFrame]") -> "pd.DataFrame":
    import pandas as pd

    every = pd.concat(frames, ignore_index=True)
    if "cpu" not in every:
        return every
    return every.sort_values("cpu", kind="stable", ignore_index=True)


def added(sums: "pd.DataFrame | None", more: "pd.DataFrame") -> "pd.DataFrame":
    """Sums by key, and more of them: by the keys of both, which are their index."""
    import pandas as pd

    if sums is None:
        return more
    levels = list(range(more.index.nlevels))
    return pd.concat([sums, more]).groupby(level=levels, dropna=False, sort=True).sum()

"""What questions read of a timeline: sums that native folds, and rows in batches, folded here.

Sums by owner and time bin are Timeline.sums(), owned_by() and tally(). Rows come in batches, one
after the other, and a question keeps of them what its answer needs, its state:

>>> @fold("polls")
... def counted(counts, polls):
...     return added(counts, polls.groupby("work")[["self_ns"]].sum())
>>> counted(timeline)

A batch has rows of each table that a fold names, in the tables' order; every row is in one batch,
that in which it ends, with what native says of it as a whole. Today a timeline is one batch. No
question reads a table otherwise: tests/questions/test_inputs.py.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.timeline import Timeline

State = TypeVar("State")


def batches(timeline: "Timeline", *tables: str) -> "Iterator[tuple[pd.DataFrame, ...]]":
    """The rows of some tables, a frame each, batch by batch."""
    timeline.load(*tables)
    yield tuple(getattr(timeline, table) for table in tables)


class Fold(Generic[State]):
    """A state made of a timeline's rows; calling it goes through them once, and keeps the state.

    step: makes the next state of the last one, None at first, and a frame of each table; further
    parameters are passed to it by name. tables: of Timeline.load().
    """

    def __init__(self, step: Callable[..., State], tables: tuple[str, ...]) -> None:
        self.step, self.tables = step, tables
        self._states: WeakKeyDictionary[Timeline, dict[tuple[Any, ...], State]]
        self._states = WeakKeyDictionary()

    def __call__(self, timeline: "Timeline", **parameters: Any) -> State:
        kept = self._states.setdefault(timeline, {})
        key = tuple(sorted(parameters.items()))
        if key not in kept:
            state: State | None = None
            for frames in batches(timeline, *self.tables):
                state = self.step(state, *frames, **parameters)
            assert state is not None
            kept[key] = state
        return kept[key]


def fold(*tables: str) -> "Callable[[Callable[..., State]], Fold[State]]":
    """Declare a function as the step of a Fold over these tables."""
    return lambda step: Fold(step, tables)


def rows(timeline: "Timeline", *tables: str) -> "tuple[pd.DataFrame, ...]":
    """All rows of some tables, for what pairs them: a frame each."""
    parts = list(batches(timeline, *tables))
    if len(parts) == 1:
        return parts[0]
    import pandas as pd

    return tuple(pd.concat(frames) for frames in zip(*parts, strict=True))


def added(sums: "pd.DataFrame | None", more: "pd.DataFrame") -> "pd.DataFrame":
    """Sums by key, and more of them: by the keys of both, which are their index."""
    import pandas as pd

    if sums is None:
        return more
    levels = list(range(more.index.nlevels))
    return pd.concat([sums, more]).groupby(level=levels, dropna=False, sort=True).sum()

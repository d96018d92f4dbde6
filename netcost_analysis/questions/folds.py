"""What questions keep of a timeline's rows: folds, computed in as few passes as can be.

>>> @fold("polls", columns={"polls": ["work", "self_ns"]})
... def counted(counts, polls):
...     return added(counts, polls.groupby("work")[["self_ns"]].sum())
>>> counted(timeline)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from . import inputs
from .inputs import Columns

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..timeline.timeline import Timeline

State = TypeVar("State")


class Fold(Generic[State]):
    """A state made of a timeline's rows; calling it goes through them once, and keeps the state.

    step: makes the next state of the last one, None at first, and a frame of each table; further
    parameters are passed to it by name, and are known again by being equal. tables: of
    Timeline.load(). columns: by table those that it reads, where these are not all. is_native: the
    step takes Arrow tables, for what native folds.
    """

    def __init__(
        self,
        step: Callable[..., State],
        tables: tuple[str, ...],
        columns: Columns | None = None,
        is_native: bool = False,
    ) -> None:
        self.step, self.tables, self.columns = step, tables, columns or {}
        self.is_native = is_native
        self._kept: WeakKeyDictionary[Timeline, dict[tuple[Any, ...], State]] = WeakKeyDictionary()

    def __call__(self, timeline: "Timeline", **parameters: Any) -> State:
        at_once(timeline, Asked(self, parameters))
        state: State = self._kept[timeline][_key(parameters)]
        return state

    def take(self, timeline: "Timeline", **parameters: Any) -> State:
        """What calling it returns, kept no longer: for a state that whoever asks uses up."""
        state = self(timeline, **parameters)
        del self._kept[timeline][_key(parameters)]
        return state

    def knows(self, timeline: "Timeline", parameters: dict[str, Any]) -> bool:
        """Whether calling it takes no pass."""
        return _key(parameters) in self._kept.get(timeline, {})

    def keep(self, timeline: "Timeline", parameters: dict[str, Any], state: State) -> None:
        """What calling it will return."""
        self._kept.setdefault(timeline, {})[_key(parameters)] = state


def _key(parameters: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(sorted(parameters.items()))


def content_of(*arrays: "npt.NDArray[Any]") -> bytes:
    """By what parameters that hold these are told apart: each answer may make them anew."""
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


class Asked(NamedTuple):
    """A fold of a timeline, and the parameters of its step."""

    fold: Fold[Any]
    parameters: dict[str, Any]


def at_once(timeline: "Timeline", *asked: Asked) -> None:
    """Have several folds computed in one pass, those that are not known: each keeps its state."""
    missing = [one for one in asked if not one.fold.knows(timeline, one.parameters)]
    is_read = all(len(of.tables) == 1 and timeline.holds(*of.tables) for of, _ in missing)
    if _noted is not None and timeline is _noted.timeline and not is_read:
        _noted.asked.extend(missing)
        raise Later
    if missing:
        together(timeline, missing)


def together(timeline: "Timeline", asked: "Sequence[Asked]") -> None:
    """Go through a timeline's rows once for several folds: each keeps its state."""
    framed, native = (
        [one for one in asked if one.fold.is_native is is_native] for is_native in (False, True)
    )
    tables, arrow = _tables_of(framed), _tables_of(native)
    states: list[Any] = [None] * len(asked)
    columns = _read_of(tables, framed)
    for batch in inputs.batches(timeline, *tables, columns=columns, native=arrow):
        frames = dict(zip(tables, batch[: len(tables)], strict=True))
        rows = dict(zip(arrow, batch[len(tables) :], strict=True))
        for place, (of, parameters) in enumerate(asked):
            own = ((rows if of.is_native else frames)[table] for table in of.tables)
            states[place] = of.step(states[place], *own, **parameters)
    for (of, parameters), state in zip(asked, states, strict=True):
        of.keep(timeline, parameters, state)


def _tables_of(asked: "Sequence[Asked]") -> list[str]:
    return list(dict.fromkeys(table for one in asked for table in one.fold.tables))


def _read_of(tables: "Sequence[str]", asked: "Sequence[Asked]") -> Columns:
    # What several folds read of each table; nothing of one of which any reads all.
    found = {}
    for table in tables:
        of = [one.fold.columns.get(table) for one in asked if table in one.fold.tables]
        if None not in of:
            found[table] = list(dict.fromkeys(name for names in of for name in names or ()))
    return found


class Later(BaseException):
    """A fold that is to be computed together with others: see prepare.py."""


class _Noted(NamedTuple):
    timeline: "Timeline"
    asked: list[Asked]


# Of which timeline folds are noted instead of being computed.
_noted: _Noted | None = None


@contextmanager
def noting(timeline: "Timeline") -> "Iterator[list[Asked]]":
    """While it lasts a fold of a timeline that is not known is noted, and raises Later."""
    global _noted
    before, _noted = _noted, _Noted(timeline, [])
    try:
        yield _noted.asked
    finally:
        _noted = before


def fold(
    *tables: str, columns: Columns | None = None, is_native: bool = False
) -> "Callable[[Callable[..., State]], Fold[State]]":
    """Declare a function as the step of a Fold over these tables, and these columns of them."""
    return lambda step: Fold(step, tables, columns, is_native)

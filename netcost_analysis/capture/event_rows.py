"""Events by their names, and as plain rows, a part at a time, without pandas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from .._native import CaptureError
from ..arrow import parts
from ..progress import progress
from .recorder import is_perf, require_samples
from .within import require_cpus, within_ns, within_times

if TYPE_CHECKING:
    from .._native import ArrowTable
    from .recording import Recording

Row = dict[str, Any]
_PART = 10_000


class Chosen(NamedTuple):
    """Which of an event's records: at most so many, from start_s until end_s, of these CPUs."""

    most: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    cpus: Sequence[int] = ()


def events_table(
    recording: "Recording", name: str, chosen: Chosen, fields: list[str] | None = None
) -> "ArrowTable":
    """A tracepoint's events: those chosen, and at the ends of a window a little more."""
    name = require_event(name, recording.header.get("events", ()), fields=is_perf(recording.header))
    window = within_ns(recording, chosen.start_s, chosen.end_s)
    require_cpus(recording, chosen.cpus)
    # Which of those at its very ends are in the window is known behind.
    most = chosen.most if window is None else None
    with progress(f"decoding {name}") as advance:
        cpus = list(chosen.cpus) or None
        return recording.native.events(name, most, advance, window, cpus, fields)


def samples_table(recording: "Recording", name: str, most: int | None = None) -> "ArrowTable":
    """The samples of an event, tracepoint or not, in file order."""
    name = require_event(name, recording.header.get("events", ()))
    require_samples(recording.header, name)
    with progress(f"decoding {name}") as advance:
        return recording.native.samples(name, most, advance)


class EventRows:
    """The records of one event.

    Attributes
    ----------
    columns : list of str
        The columns of each row, in order.
    """

    def __init__(
        self,
        recording: "Recording",
        table: "ArrowTable",
        chosen: Chosen,
        beside: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        """table: native's. beside: more columns, a value for each of its rows."""
        self._recording, self._table, self._chosen = recording, table, chosen
        self._beside = beside or {}
        self.columns = [*next(parts(table)), *self._beside]

    def with_columns(self, beside: Mapping[str, Sequence[Any]]) -> "EventRows":
        """The same records with more columns, a value for each row of native's table."""
        return EventRows(self._recording, self._table, self._chosen, beside)

    def __iter__(self) -> Iterator[Row]:
        return islice(self._rows(), self._chosen.most)

    def _rows(self) -> Iterator[Row]:
        _, start_s, end_s, cpus = self._chosen
        done = 0
        for part in parts(self._table, _PART):
            number = len(next(iter(part.values()), []))
            part |= {name: list(of[done : done + number]) for name, of in self._beside.items()}
            done += number
            chosen = within_times(part, self._recording, start_s, end_s, cpus)
            for row, kept in zip(zip(*part.values(), strict=True), chosen, strict=True):
                if kept:
                    yield dict(zip(part, map(_plain, row), strict=True))


def in_parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Some rows at a time; one part at least, which may be empty."""
    part = list(islice(rows, _PART))
    yield part
    while part := list(islice(rows, _PART)):
        yield part


def _plain(value: Any) -> Any:
    # As JSON can hold it.
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not isfinite(value) else value


# So many names a line can hold; trace-cmd record -e all has over a thousand.
_MOST = 60


def require_event(name: str, events: Iterable[dict[str, Any]], fields: bool = False) -> str:
    # The full name of the event that is meant. events: as the header lists them; fields: only a
    # tracepoint will do. A header without any leaves it to the pass over the records to say what is
    # wrong.
    known = {event["name"]: event for event in events}
    if not known:
        return name
    full = name if name in known else _meant(name, list(known.values()))
    if full is None:
        raise CaptureError(_no_such_event(name, list(known.values())))
    if fields and not known[full]["tracepoint"]:
        raise CaptureError(
            f"{full} is no tracepoint and has no fields: samples({full!r}) has its samples"
        )
    return full


def _meant(name: str, known: list[dict[str, Any]]) -> str | None:
    # A tracepoint by its bare name, if one system alone has such; and by its full one where the
    # capture is a text, which gives bare names.
    system, _, bare = name.rpartition(":")
    tracepoints = [event["name"] for event in known if event["tracepoint"]]
    if system:
        return bare if bare in tracepoints else None
    found = [one for one in tracepoints if one.partition(":")[2] == bare]
    return found[0] if len(found) == 1 else None


def _no_such_event(name: str, known: list[dict[str, Any]]) -> str:
    names = [event["name"] for event in known]
    # "softirq_entry" is near irq:softirq_entry; what follows the colon of "cycles:u" is no name.
    short = {
        event["name"].partition(":")[2]: event["name"] for event in known if event["tracepoint"]
    }
    near = get_close_matches(name, names, n=3, cutoff=0.6) or [
        short[match]
        for match in get_close_matches(name.partition(":")[2] or name, list(short), n=3, cutoff=0.6)
    ]
    if near:
        return f"the capture has no event {name!r}; near it: {', '.join(near)}"
    if len(names) > _MOST:
        return (
            f"the capture has no event {name!r} among its {len(names):,}: netcost info lists them"
        )
    return f"the capture has no event {name!r}; it has {', '.join(sorted(names))}"

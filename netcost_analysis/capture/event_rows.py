"""Look events up by name, and read them as plain rows, part by part, without pandas."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    """Which records of an event: at most `most`, from start_s until end_s, on these CPUs."""

    most: int | None = None
    start_s: float | None = None
    end_s: float | None = None
    cpus: Sequence[int] = ()


def events_table(
    recording: "Recording", name: str, chosen: Chosen, fields: list[str] | None = None
) -> "ArrowTable":
    """A tracepoint's chosen events; a window is a little wider and needs exact filtering."""
    name = require_event(name, recording.header.get("events", ()), fields=is_perf(recording.header))
    window = within_ns(recording, chosen.start_s, chosen.end_s)
    require_cpus(recording, chosen.cpus)
    # The window is filtered exactly afterwards, so its rows must not be limited here.
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
        """table: native's. beside: more columns, with a value per row of table."""
        self._recording, self._table, self._chosen = recording, table, chosen
        self._beside = beside or {}
        self.columns = [*next(parts(table)), *self._beside]

    def with_columns(self, beside: Mapping[str, Sequence[Any]]) -> "EventRows":
        """The same records with more columns, with a value per row of native's table."""
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
    """Rows in lists of limited size; at least one list, which may be empty."""
    part = list(islice(rows, _PART))
    yield part
    while part := list(islice(rows, _PART)):
        yield part


def _plain(value: Any) -> Any:
    # A value that JSON can hold.
    if isinstance(value, bytes):
        return value.hex()
    return None if isinstance(value, float) and not isfinite(value) else value


# The most event names an error lists; `trace-cmd record -e all` has over a thousand.
_MOST = 60


def require_event(name: str, events: Iterable[dict[str, Any]], fields: bool = False) -> str:
    # The full name of the event meant by name. events: from the header. fields: accept only a
    # tracepoint. If the header lists no events, the pass over the records reports what is wrong.
    known = {event["name"]: event for event in events}
    if not known:
        return name
    full = name if name in known else _meant(name, list(known.values()))
    if full is None:
        raise CaptureError(_no_such_event(name, list(known.values())))
    if fields and not known[full]["tracepoint"]:
        raise CaptureError(
            f"{full} is not a tracepoint and has no fields: samples({full!r}) has its samples"
        )
    return full


def _meant(name: str, known: list[dict[str, Any]]) -> str | None:
    # A bare name means the tracepoint of the only system that has it. A full name may also mean a
    # bare one, since text recordings print bare names.
    system, _, bare = name.rpartition(":")
    tracepoints = [event["name"] for event in known if event["tracepoint"]]
    if system:
        return bare if bare in tracepoints else None
    matches = [tracepoint for tracepoint in tracepoints if tracepoint.partition(":")[2] == bare]
    return matches[0] if len(matches) == 1 else None


def _no_such_event(name: str, known: list[dict[str, Any]]) -> str:
    from difflib import get_close_matches

    names = [event["name"] for event in known]
    # "softirq_entry" should match irq:softirq_entry. The "u" of "cycles:u" is not a name.
    short = {
        event["name"].partition(":")[2]: event["name"] for event in known if event["tracepoint"]
    }
    near = get_close_matches(name, names, n=3, cutoff=0.6) or [
        short[match]
        for match in get_close_matches(name.partition(":")[2] or name, list(short), n=3, cutoff=0.6)
    ]
    if near:
        return f"the capture has no event {name!r}; similar: {', '.join(near)}"
    if len(names) > _MOST:
        return (
            f"the capture has no event {name!r} among its {len(names):,}: netcost info lists them"
        )
    return f"the capture has no event {name!r}; it has {', '.join(sorted(names))}"

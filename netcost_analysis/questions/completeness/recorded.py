# How many events of a recording lie between two readings of a counter, by CPU and by what is
# counted. numpy and pyarrow are imported where events are counted: `netcost info` of a bundle that
# knows its verdict needs neither.

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .counted import Window

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ..._native import ArrowTable
    from ...capture.capture import Capture

Counts = dict[tuple[int, int], int]
_TIME, _CPU = "time_ns", "common_cpu"
# More at once would take too much memory: then one tracepoint at a time, a pass for each.
_MOST_EVENTS = 5_000_000
# Pairs of CPU and key in a table with a place for each.
_FEW = 1 << 20


class Seen(NamedTuple):
    # By (CPU, key) the events while the counter may have grown, and while it surely grew.
    outer: Counts
    inner: Counts


class Events:
    # The events of a capture that counters count. names: the tracepoints that will be asked for.

    def __init__(self, capture: "Capture", names: Sequence[str]) -> None:
        self._capture = capture
        self._known = {event["name"]: event for event in capture.header.get("events") or ()}
        self._names = [name for name in names if self.whole(name)]

    @cached_property
    def _tables(self) -> "dict[str, ArrowTable]":
        # In one pass.
        counts = self._capture.info["events"]
        if sum(counts.get(name, 0) for name in self._names) > _MOST_EVENTS:
            return {}
        return self._capture.native.events_of(self._names)

    def whole(self, *names: str) -> bool:
        # Whether every occurrence of them was recorded, as far as the headers know.
        events = [self._known.get(name) for name in names]
        return all(
            event is not None
            and not event.get("sampled")
            and not event.get("filter")
            and event.get("guest") is None
            for event in events
        )

    def seen(
        self,
        names: Sequence[str],
        window: Window,
        key: str | None = None,
        sum_of: str | None = None,
    ) -> Seen | None:
        # key: the field to tell events apart by, None for CPUs alone. sum_of: a field to add up
        # instead of counting. None where not all of them were recorded, or without such a field.
        import numpy as np

        if not self.whole(*names):
            return None
        wanted = [_TIME, _CPU, *(name for name in (key, sum_of) if name)]
        parts = [self._columns(name, wanted) for name in names]
        tables = [part for part in parts if part is not None]
        if len(tables) < len(parts):
            return None
        columns = {name: np.concatenate([table[name] for table in tables]) for name in wanted}
        at, cpus = columns[_TIME], columns[_CPU]
        keys = columns[key] if key else np.zeros(len(at), dtype="int64")
        weights = columns[sum_of] if sum_of else None
        return Seen(
            *(
                _counts(_within(at, *ends), cpus, keys, weights)
                for ends in (window.outer, window.inner)
            )
        )

    def _columns(self, name: str, wanted: list[str]) -> "dict[str, npt.NDArray[np.int64]] | None":
        import pyarrow as pa

        found = self._tables.get(name)
        table = pa.table(self._capture.native.events(name) if found is None else found)
        if not set(wanted) <= set(table.column_names):
            return None
        # Only these columns: names and flags of millions of events are not needed.
        table = table.select(wanted).drop_null()
        return {
            column: table.column(column).to_numpy().astype("int64", copy=False) for column in wanted
        }


def _within(at: "npt.NDArray[np.int64]", start_ns: int, end_ns: int) -> "npt.NDArray[np.bool_]":
    return (at >= start_ns) & (at <= end_ns)


def _counts(
    inside: "npt.NDArray[np.bool_]",
    cpus: "npt.NDArray[np.int64]",
    keys: "npt.NDArray[np.int64]",
    weights: "npt.NDArray[np.int64] | None",
) -> Counts:
    import numpy as np

    # One number for each pair: sorting pairs would take ten times as long, and most numbers are
    # small enough to be counted without.
    base = int(keys.min(initial=0))
    span = int(keys.max(initial=0)) - base + 1
    numbers = cpus[inside] * span + (keys[inside] - base)
    if int(numbers.min(initial=0)) >= 0 and int(numbers.max(initial=0)) < _FEW:
        known, places = np.arange(int(numbers.max(initial=0)) + 1), numbers
    else:
        known, places = np.unique(numbers, return_inverse=True)
    some: Any = None if weights is None else weights[inside]
    counts = np.bincount(places, weights=some, minlength=len(known))
    return {
        (number // span, number % span + base): int(count)
        for number, count in zip(known.tolist(), counts.tolist(), strict=True)
        if count
    }

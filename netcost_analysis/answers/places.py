"""Where in the timeline a row of an answer is: an episode, a long softirq, a migration."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..units import absent

if TYPE_CHECKING:
    import pandas as pd


# Columns that say where, when it begins, and when it ends or how long it took: the first found.
_CPU = ("cpu", "dest_cpu")
_BEGIN = ("start_ns", "entry_ns", "time_ns")
_END, _LENGTH = ("end_ns", "exit_ns"), ("wall_ns",)


def places(frame: "pd.DataFrame", rows: int) -> list[str]:
    """Where each of the first rows is in a report's timeline: "BEGIN_NS END_NS CPU", or ""."""
    if not any(name in frame.columns for name in _BEGIN):
        return []
    found = map(place, frame.head(rows).to_dict("records"))
    return [
        "" if one is None else " ".join("" if part is None else str(part) for part in one)
        for one in found
    ]


def place(values: Mapping[Any, Any]) -> tuple[int, int, int | None] | None:
    """When a row begins and ends, and on which CPU; None for a row without a time."""

    def first(names: tuple[str, ...]) -> int | None:
        return next((int(values[name]) for name in names if not absent(values.get(name))), None)

    begin, end, length = first(_BEGIN), first(_END), first(_LENGTH)
    if begin is None:
        return None
    return begin, begin + (length or 1) if end is None else end, first(_CPU)

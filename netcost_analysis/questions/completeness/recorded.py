# How many events of a recording lie between two readings of a counter, by CPU and by what is
# counted.

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .counted import Window

if TYPE_CHECKING:
    from ...capture.ahead import Count
    from ...capture.capture import Capture

Counts = dict[tuple[int, int], int]


class Wanted(NamedTuple):
    # Tracepoints to count together. key: the field to tell events apart by, None for CPUs alone.
    # sum_of: a field to add up instead of counting.
    window: Window
    names: tuple[str, ...]
    key: str | None = None
    sum_of: str | None = None


class Seen(NamedTuple):
    # By (CPU, key) the events while the counter may have grown, and while it surely grew.
    outer: Counts
    inner: Counts


def seen(capture: "Capture", wanted: Sequence[Wanted]) -> list[Seen | None]:
    """The events of each of the wanted, all in one pass.

    None where not all of them were recorded, or one lacks such a field.
    """
    asked = _countable(capture, wanted)
    found = capture.ahead.counts([_native(one) for one in asked], capture.native.counts)
    known = dict(zip(asked, found, strict=True))
    return [Seen(*counts) if (counts := known.get(one)) else None for one in wanted]


def see_ahead(capture: "Capture", wanted: Sequence[Wanted]) -> None:
    """Have the next timeline's pass count them."""
    capture.ahead.want(_native(one) for one in _countable(capture, wanted))


def _countable(capture: "Capture", wanted: Sequence[Wanted]) -> list[Wanted]:
    whole = _whole(capture)
    return [one for one in wanted if set(one.names) <= whole]


def _native(one: Wanted) -> "Count":
    return (one.names, one.key, one.sum_of, (one.window.outer, one.window.inner))


def _whole(capture: "Capture") -> set[str]:
    # The tracepoints of which every occurrence was recorded, as far as the headers know.
    events = {event["name"]: event for event in capture.header.get("events") or ()}
    return {
        name
        for name, event in events.items()
        if not event.get("sampled") and not event.get("filter") and event.get("guest") is None
    }

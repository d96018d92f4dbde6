# Finding an event by its name, and saying so where there is none of that name.

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from .._native import CaptureError

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

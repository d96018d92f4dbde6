"""Whose traffic softirqs handled: what native needs to attribute it (native/src/traffic)."""

from typing import TYPE_CHECKING, NamedTuple

from ..arrow import columns
from .aggregates import Aggregate
from .group import computed
from .owners import NOBODY, summed
from .reading import once

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from .timeline import Timeline

RECEIVED = "net:netif_receive_skb"
WAKING = "sched:sched_waking"
_READY, _WAKEUP = "sock:sk_data_ready", "sched:sched_wakeup"
# What each tracepoint shows, and its field with the packet, the socket or the task. The order here
# decides between events at the same time.
_EVENTS = {
    "net:net_dev_queue": ("queued", "skbaddr"),
    RECEIVED: ("received", "skbaddr"),
    "skb:skb_copy_datagram_iovec": ("taken", "skbaddr"),
    "skb:consume_skb": ("taken", "skbaddr"),
    "skb:kfree_skb": ("freed", "skbaddr"),
    _READY: ("ready", "skaddr"),
    WAKING: ("woken", "pid"),
    _WAKEUP: ("woken", "pid"),
}
# A socket belongs to a task if at least this share of its sk_data_ready events wake that task.
_SURE = 0.9


class Packets(NamedTuple):
    """The request to native.

    events: what each shows, its name and field. follows: whether to follow packets across CPUs.
    longest: by tid the name that the task had longest, since ftrace's events may use any name it
    ever had. sockets: each with its task. shown: the CPUs, None for all.
    """

    events: tuple[tuple[str, str, str], ...]
    follows: bool
    longest: tuple[tuple[int, str], ...]
    sockets: tuple[tuple[int, int, str], ...]
    shown: tuple[int, ...] | None


@once
def owner_events(capture: "Capture") -> list[str]:
    """The capture's events that show whose a softirq was, if they have the field, time and CPU."""
    counts = capture.info["events"]
    return [
        name
        for name, (_, field) in _EVENTS.items()
        # fields() raises for an event that is not in the capture.
        if counts.get(name) and {field, "time_ns", "common_cpu"} <= set(capture.native.fields(name))
    ]


def _packets(timeline: "Timeline", follows: bool = False) -> Packets:
    recorded = owner_events(timeline.capture)
    kinds = {"received", "ready", "woken", *(("queued", "taken", "freed") if follows else ())}
    left_out = _WAKEUP if WAKING in recorded else None
    events = [(name, *_EVENTS[name]) for name in recorded if name != left_out]
    chosen = tuple((kind, name, field) for name, kind, field in events if kind in kinds)
    cpus = None if timeline.cpus is None else tuple(timeline.cpus)
    return Packets(chosen, follows, (), (), cpus)


def _followed(timeline: "Timeline") -> Packets:
    # Comes first because its pass also counts the events.
    longest = _longest_names(timeline)
    follows = RECEIVED in owner_events(timeline.capture) and not timeline.missing["clocks"]
    return _packets(timeline, follows)._replace(longest=longest, sockets=_socket_owners(timeline))


def _longest_names(timeline: "Timeline") -> tuple[tuple[int, str], ...]:
    sums = timeline.columns("sums")
    rows = zip(sums["tid"], sums["comm"], sums["ns"], strict=True)
    total = summed(((tid, comm), ns) for tid, comm, ns in rows if None not in (tid, comm))
    return tuple(dict(sorted(sorted(total), key=total.__getitem__)).items())


def _socket_owners(timeline: "Timeline") -> tuple[tuple[int, int, str], ...]:
    # Takes a pass over all sk_data_ready events.
    if _READY not in owner_events(timeline.capture):
        return ()
    [tables] = computed(timeline, _packets(timeline))
    announced = columns(tables["announced"])
    names = ("socket", "woken_tid", "woken_comm", "units")
    pairs = list(zip(*(announced[name] for name in names), strict=True))
    totals = summed((socket, units) for socket, _, _, units in pairs)
    return tuple(
        (socket, tid, comm or NOBODY)
        for socket, tid, comm, units in pairs
        if units >= _SURE * totals[socket]
    )


TRAFFIC = Aggregate(_followed, is_later=True)
OF_EXCERPT = Aggregate(
    lambda timeline: _followed(timeline.excerpt),
    on=lambda timeline: timeline.excerpt,
    is_later=True,
)

"""Which tracepoints a capture recorded, and which profile of netcost-record has those it lacks."""

from typing import TYPE_CHECKING, Any

from .._native import CaptureError

if TYPE_CHECKING:
    from .capture import Capture

_INTERRUPTS = (
    *("irq:irq_handler_entry", "irq:irq_handler_exit"),
    *("irq:softirq_raise", "irq:softirq_entry", "irq:softirq_exit"),
    "napi:napi_poll",
)
_TASKS = (
    *("sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup", "sched:sched_wakeup_new"),
    *("sched:sched_migrate_task", "sched:sched_process_fork", "sched:sched_process_exec"),
    "sched:sched_process_exit",
)
_VECTORS = tuple(
    f"irq_vectors:{vector}_{end}"
    for vector in ("local_timer", "reschedule", "call_function", "call_function_single")
    for end in ("entry", "exit")
)
_PACKETS = (
    *("net:napi_gro_receive_entry", "net:napi_gro_frags_entry", "net:netif_receive_skb"),
    *("net:netif_receive_skb_entry", "net:netif_rx", "net:net_dev_queue"),
    *("net:net_dev_start_xmit", "net:net_dev_xmit", "skb:consume_skb", "skb:kfree_skb"),
    *("skb:skb_copy_datagram_iovec", "sock:sk_data_ready", "xdp:xdp_redirect"),
)
# Of capture/profiles, the cheapest first; tests/questions/test_requires.py compares them with the
# files.
PROFILES = {
    "light": (*_INTERRUPTS, "sched:sched_switch"),
    "migration": (*_INTERRUPTS, *_TASKS),
    "stolen": (*_INTERRUPTS, *_TASKS, *_VECTORS),
    "anatomy": (*_INTERRUPTS, *_TASKS, *_VECTORS, *_PACKETS),
}
# So many tracepoints a line names.
_NAMED = 3


class MissingEventsError(CaptureError):
    """A question was asked of a capture that did not record what it needs.

    missing: the tracepoints, by their full names. profile: the cheapest profile of netcost-record
    that records them all, None where none does.
    """

    def __init__(self, question: str, missing: tuple[str, ...]) -> None:
        self.missing = missing
        self.profile = profile_of(missing)
        named, how = ", ".join(missing), "record them by name"
        if self.profile:
            named, how = few(missing), f"netcost-record --profile {self.profile} records them"
        super().__init__(f"{question} needs {named}: not recorded in this capture; {how}")


def few(events: tuple[str, ...]) -> str:
    """Tracepoints for a sentence: three by name, and how many more; of entry and exit the entry."""
    entries = [
        one
        for one in events
        if not one.endswith("_exit") or f"{one.removesuffix('_exit')}_entry" not in events
    ]
    shown = list(events if len(events) <= _NAMED else entries[:_NAMED])
    more = len(events) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    return " and ".join([", ".join(first), last] if first else [last])


def profile_of(events: tuple[str, ...]) -> str | None:
    """The cheapest profile of netcost-record that records all of these tracepoints, or None."""
    return next((name for name, has in PROFILES.items() if set(events) <= set(has)), None)


def unrecorded(capture: "Capture", *names: str) -> list[str]:
    """Those of the named tracepoints that the capture did not record.

    Recorded is also what never happened. A text says only what it prints: there an event that
    never happened counts as not recorded.
    """
    # The headers know without a pass over the events; texts have none.
    known = {event["name"] for event in capture.header.get("events") or ()}
    if not set(names) <= known:
        known |= {event["name"] for event in capture.info["event_attrs"]}
        known |= set(capture.info["events"])
    return [name for name in names if name not in known]


def require(source: Any, question: str, *events: str) -> None:
    """Raise MissingEventsError where a capture, or a Timeline's, lacks one of these tracepoints."""
    missing = unrecorded(getattr(source, "capture", source), *events)
    if missing:
        raise MissingEventsError(question, tuple(missing))

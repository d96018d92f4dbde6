"""Which tracepoints a capture recorded, and which profile of netcost-record has those it lacks."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .._native import CaptureError

if TYPE_CHECKING:
    from .recording import Recording

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
    "frees": ("kmem:kfree", "kmem:kmem_cache_free"),
}
# Recorded beside one of the others, of which each has the events of those before it.
BESIDE = ("frees",)
# So many tracepoints a line names.
_NAMED = 3


# A tracepoint, or a fact of timeline/facts.py; of several in a tuple any one.
Need = str | tuple[str, ...]
# Alternatives, each of tracepoints that it takes all of; "irq_vectors:*" is any of a system.
Group = tuple[tuple[str, ...], ...]


class ProfileError(CaptureError):
    """A capture does not show what a question is about.

    profile: the cheapest profile of netcost-record that would, None where none does.
    """

    def __init__(self, message: str, profile: str | None) -> None:
        self.profile = profile
        super().__init__(message)


class MissingEventsError(ProfileError):
    """A question was asked of a capture that did not record what it needs.

    missing: the tracepoints, by their full names.
    """

    def __init__(self, question: str, missing: tuple[Group, ...]) -> None:
        self.missing, profile = events_of(missing), profile_of(missing)
        named, how = in_words(missing, named=len(self.missing)), "record them by name"
        if profile:
            named, how = in_words(missing), f"netcost-record --profile {profile} records them"
        message = f"{question} needs {named}: not recorded in this capture; {how}"
        super().__init__(message, profile)


def few(events: tuple[str, ...], joined: str = "and", named: int = _NAMED) -> str:
    """Tracepoints for a sentence: three by name, and how many more; of entry and exit the entry."""
    entries = [
        one
        for one in events
        if not one.endswith("_exit") or f"{one.removesuffix('_exit')}_entry" not in events
    ]
    shown = list(events if len(events) <= named else entries[:named])
    more = len(events) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    return f" {joined} ".join([", ".join(first), last] if first else [last])


def in_words(missing: tuple[Group, ...], named: int = _NAMED) -> str:
    """What is missing, for a sentence: what all is needed, then each choice."""
    needed = tuple(event for group in missing if len(group) == 1 for event in group[0])
    parts = [few(needed, named=named)] if needed else []
    for group in missing:
        if len(group) > 1 and all(len(one) == 1 for one in group):
            parts.append(few(events_of((group,)), "or", named))
        elif len(group) > 1:
            parts.append(", or ".join(few(one, named=named) for one in group))
    return ", and ".join(parts)


def events_of(missing: tuple[Group, ...]) -> tuple[str, ...]:
    """All tracepoints in it."""
    return tuple(dict.fromkeys(event for group in missing for one in group for event in one))


def profile_of(missing: tuple[Group, ...]) -> str | None:
    """The cheapest profile of netcost-record that records what is missing, or None."""
    return next(
        (name for name, has in PROFILES.items() if all(_met(one, has) for one in missing)), None
    )


def recorded_profile(capture: "Recording") -> str | None:
    """The cheapest profile with every tracepoint of the capture that any of them has."""
    known = recorded_events(capture) & set(PROFILES["anatomy"])
    return profile_of(tuple(((one,),) for one in known)) if known else None


def unmet(capture: "Recording", groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Of what is needed, what the capture did not record, as its headers tell."""
    known = recorded_events(capture)
    lacking: list[Group] = []
    for group in groups:
        if len(group) == 1:
            lacking.extend(((one,),) for one in group[0] if not _met(((one,),), known))
        elif not _met(group, known):
            lacking.append(group)
    return tuple(lacking)


def _met(group: Group, known: Collection[str]) -> bool:
    return any(all(_has(known, event) for event in one) for one in group)


def _has(known: Collection[str], event: str) -> bool:
    if event.endswith("*"):
        return any(one.startswith(event[:-1]) for one in known)
    return event in known


def recorded_events(capture: "Recording") -> set[str]:
    """The events that a capture was told to record; of a text, whose headers name none, those seen.

    The headers know without a pass over the events.
    """
    declared = capture.header.get("events") or ()
    return {event["name"] for event in declared} or set(capture.info["events"])


def unrecorded(capture: "Recording", *names: str) -> list[str]:
    """Those of the named tracepoints that the capture did not record.

    Recorded is also what never happened. A text says only what it prints: there an event that
    never happened counts as not recorded.
    """
    return list(events_of(unmet(capture, tuple(((name,),) for name in names))))


def require(source: Any, question: str, *needs: Group) -> None:
    """Raise MissingEventsError where a capture, or a Timeline's, lacks one of these."""
    missing = unmet(getattr(source, "capture", source), needs)
    if missing:
        raise MissingEventsError(question, missing)

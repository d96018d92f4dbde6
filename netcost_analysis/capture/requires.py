"""The tracepoints a capture recorded, and the netcost-record profile that has the missing ones."""

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
# The profiles in capture/profiles, cheapest first; tests/questions/test_requires.py keeps them in
# step.
PROFILES = {
    "light": (*_INTERRUPTS, "sched:sched_switch"),
    "migration": (*_INTERRUPTS, *_TASKS),
    "stolen": (*_INTERRUPTS, *_TASKS, *_VECTORS),
    "anatomy": (*_INTERRUPTS, *_TASKS, *_VECTORS, *_PACKETS),
    "frees": ("kmem:kfree", "kmem:kmem_cache_free"),
}
# Profiles that are added to another. Each of the others includes the events of those before it.
BESIDE = ("frees",)
# The most tracepoints that a line names.
_NAMED = 3


# A tracepoint or a fact of timeline/facts.py; a tuple means any one of its members.
Need = str | tuple[str, ...]
# Alternatives, each a set of tracepoints that are all needed; "irq_vectors:*" is any of a system.
Group = tuple[tuple[str, ...], ...]


class ProfileError(CaptureError):
    """A capture does not show what a question is about.

    profile: the cheapest netcost-record profile that would, None if there is none.
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
    """Tracepoints in a sentence: some by name and the number of others; entries before exits."""
    entries = [
        event
        for event in events
        if not event.endswith("_exit") or f"{event.removesuffix('_exit')}_entry" not in events
    ]
    shown = list(events if len(events) <= named else entries[:named])
    more = len(events) - len(shown)
    *first, last = [*shown, f"{more} more"] if more else shown
    return f" {joined} ".join([", ".join(first), last] if first else [last])


def in_words(missing: tuple[Group, ...], named: int = _NAMED) -> str:
    """What is missing, in a sentence: first the tracepoints without an alternative."""
    needed = tuple(event for group in missing if len(group) == 1 for event in group[0])
    parts = [few(needed, named=named)] if needed else []
    for group in missing:
        if len(group) > 1 and all(len(events) == 1 for events in group):
            parts.append(few(events_of((group,)), "or", named))
        elif len(group) > 1:
            parts.append(", or ".join(few(events, named=named) for events in group))
    return ", and ".join(parts)


def events_of(missing: tuple[Group, ...]) -> tuple[str, ...]:
    """All tracepoints in the groups."""
    return tuple(dict.fromkeys(event for group in missing for events in group for event in events))


def profile_of(missing: tuple[Group, ...]) -> str | None:
    """The cheapest netcost-record profile that records what is missing, or None."""
    return next(
        (name for name, has in PROFILES.items() if all(_met(group, has) for group in missing)), None
    )


def recorded_profile(capture: "Recording") -> str | None:
    """The cheapest profile that has all of the capture's tracepoints that belong to any profile."""
    known = recorded_events(capture) & set(PROFILES["anatomy"])
    return profile_of(tuple(((event,),) for event in known)) if known else None


def unmet(capture: "Recording", groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """The needed groups that the capture did not record, judging by its headers."""
    known = recorded_events(capture)
    lacking: list[Group] = []
    for group in groups:
        if len(group) == 1:
            lacking.extend(((event,),) for event in group[0] if not _has(known, event))
        elif not _met(group, known):
            lacking.append(group)
    return tuple(lacking)


def _met(group: Group, known: Collection[str]) -> bool:
    return any(all(_has(known, event) for event in events) for events in group)


def _has(known: Collection[str], event: str) -> bool:
    if event.endswith("*"):
        return any(name.startswith(event[:-1]) for name in known)
    return event in known


def recorded_events(capture: "Recording") -> set[str]:
    """The events that were enabled, from the headers; the ones seen, for a text without headers.

    Only a text takes a pass over the events.
    """
    declared = capture.header.get("events") or ()
    return {event["name"] for event in declared} or set(capture.info["events"])


def unrecorded(capture: "Recording", *names: str) -> list[str]:
    """The named tracepoints that the capture did not record.

    An enabled event that never happened counts as recorded, except in a text, which shows only the
    events that happened.
    """
    known = recorded_events(capture)
    return [name for name in dict.fromkeys(names) if not _has(known, name)]


def require(source: Any, question: str, *needs: Group) -> None:
    """Raise MissingEventsError if a capture, or a Timeline's capture, lacks any of the needs."""
    missing = unmet(getattr(source, "capture", source), needs)
    if missing:
        raise MissingEventsError(question, missing)

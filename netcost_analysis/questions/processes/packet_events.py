# The events that tell whose packets a softirq handled, as frames with the same columns.

from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...timeline.owners import plain_names
from ...timeline.reading import once

if TYPE_CHECKING:
    from ...capture.capture import Capture

# common_flags: in a hardirq, in a softirq (TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ).
_HARDIRQ, _SOFTIRQ = 0x08, 0x10
COLUMNS = ("time_ns", "cpu", "tid", "comm", "in_hardirq", "in_softirq", "what", "name")

# A tracepoint, and the field that says which packet, socket or task it is about: column `what`.
Event = tuple[str, str]
QUEUED = ("net:net_dev_queue", "skbaddr")
RECEIVED = ("net:netif_receive_skb", "skbaddr")
FREED = ("skb:kfree_skb", "skbaddr")
COPIED = ("skb:skb_copy_datagram_iovec", "skbaddr")
CONSUMED = ("skb:consume_skb", "skbaddr")
READY = ("sock:sk_data_ready", "skaddr")
WAKING = ("sched:sched_waking", "pid")
WAKEUP = ("sched:sched_wakeup", "pid")
# Captures with up to so many events are read once, and their events kept.
_SMALL = 1_000_000


@once
def recorded_events(capture: "Capture") -> list[Event]:
    # Those that a capture has, with their fields and times.
    counts = capture.info["events"]
    return [
        (name, field)
        for name, field in (QUEUED, RECEIVED, COPIED, CONSUMED, FREED, READY, WAKING, WAKEUP)
        # fields() raises for an event that is not in the capture.
        if counts.get(name) and {field, "time_ns", "common_cpu"} <= set(capture.native.fields(name))
    ]


def event_batches(
    capture: "Capture", events: list[Event]
) -> "Generator[dict[Event, pd.DataFrame]]":
    # A frame per event, in batches by time.
    if capture.event_count <= _SMALL:
        yield from ({event: batch[event] for event in events} for batch in _all(capture))
    else:
        yield from _read(capture, events)


@once
def _all(capture: "Capture") -> "list[dict[Event, pd.DataFrame]]":
    return list(_read(capture, recorded_events(capture)))


def _read(capture: "Capture", events: list[Event]) -> "Generator[dict[Event, pd.DataFrame]]":
    names = [name for name, _ in events]
    fields = ["common_flags", "comm", *{field for _, field in events}]
    for tables in capture.event_batches(names, fields) if names else ():
        if any(map(len, tables.values())):
            yield {(name, field): event_frame(tables[name], field) for name, field in events}


def event_frame(frame: pd.DataFrame, field: str) -> pd.DataFrame:
    # The events of one tracepoint, in COLUMNS.
    flags = frame["common_flags"].astype("Int64") if "common_flags" in frame else None
    unknown = pd.array([pd.NA] * len(frame), dtype="boolean")
    comm = plain_names(frame["common_comm"])
    return pd.DataFrame(
        {
            "time_ns": frame["time_ns"].astype("int64"),
            "cpu": frame["common_cpu"].astype("int64"),
            "tid": frame["common_pid"].astype("int64"),
            "comm": comm,
            "in_hardirq": unknown if flags is None else (flags & _HARDIRQ) != 0,
            "in_softirq": unknown if flags is None else (flags & _SOFTIRQ) != 0,
            # Kernel addresses are above 2^63: they become negative.
            "what": frame[field].astype("uint64").to_numpy().view(np.int64),
            "name": plain_names(frame["comm"]) if "comm" in frame else comm,
        }
    )


@cache
def no_events() -> pd.DataFrame:
    # One for all: callers do not change it.
    return pd.DataFrame({column: [] for column in COLUMNS}, dtype="int64").astype(
        {"comm": object, "name": object, "in_hardirq": "boolean", "in_softirq": "boolean"}
    )

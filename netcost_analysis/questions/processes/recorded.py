# The events that tell whose traffic a softirq worked on, as plain frames: those that were recorded.

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
# What stays of each event: time, CPU, who was current, in which context, and what it is about.
COLUMNS = ("time_ns", "cpu", "tid", "comm", "in_hardirq", "in_softirq", "what", "name")

# Beside what an event is about.
_FIELDS = ("common_flags", "comm")
QUEUED = ("net:net_dev_queue", "skbaddr")
RECEIVED = ("net:netif_receive_skb", "skbaddr")
FREED = ("skb:kfree_skb", "skbaddr")
TAKEN = (("skb:skb_copy_datagram_iovec", "skbaddr"), ("skb:consume_skb", "skbaddr"))
READY = ("sock:sk_data_ready", "skaddr")
WOKEN = ("sched:sched_waking", "pid")
WAKE_UP = ("sched:sched_wakeup", "pid")
# So many events are kept, for who asks again.
_SMALL = 1_000_000
# A tracepoint, and the field that says what it is about.
Event = tuple[str, str]


@once
def told(capture: "Capture") -> list[Event]:
    # Which of these events a capture has, with their fields and times.
    counts = capture.info["events"]
    every = (QUEUED, RECEIVED, *TAKEN, FREED, READY, WOKEN, WAKE_UP)
    return [
        (name, field)
        for name, field in every
        # Of one that cannot be shown fields() says why.
        if counts.get(name) and {field, "time_ns", "common_cpu"} <= set(capture.native.fields(name))
    ]


def stream(capture: "Capture", events: list[Event]) -> "Generator[dict[Event, pd.DataFrame]]":
    # Events in COLUMNS, by time, some of them after the other.
    if capture.event_count <= _SMALL:
        yield from ({event: of[event] for event in events} for of in _all(capture))
    else:
        yield from _read(capture, events)


@once
def _all(capture: "Capture") -> "list[dict[Event, pd.DataFrame]]":
    return list(_read(capture, told(capture)))


def _read(capture: "Capture", events: list[Event]) -> "Generator[dict[Event, pd.DataFrame]]":
    names, fields = [name for name, _ in events], [*_FIELDS, *{field for _, field in events}]
    for tables in capture.event_batches(names, fields) if names else ():
        if any(map(len, tables.values())):
            yield {(name, field): in_columns(tables[name], field) for name, field in events}


def in_columns(frame: pd.DataFrame, field: str) -> pd.DataFrame:
    # Events of one tracepoint in COLUMNS.
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
            # Addresses wrapped.
            "what": frame[field].astype("uint64").to_numpy().view(np.int64),
            # Where it has a field of that name.
            "name": plain_names(frame["comm"]) if "comm" in frame else comm,
        }
    )


@cache
def empty() -> pd.DataFrame:
    # Without events; nobody changes it.
    return pd.DataFrame({column: pd.Series(dtype="int64") for column in COLUMNS}).astype(
        {"comm": object, "name": object, "in_hardirq": "boolean", "in_softirq": "boolean"}
    )

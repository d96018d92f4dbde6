# The events that tell whose traffic a softirq worked on, as plain frames: those that were recorded.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...frames import to_frame
from ...progress import progress
from ...timeline.aggregate import plain_names

if TYPE_CHECKING:
    from ...capture.capture import Capture

# common_flags: in a hardirq, in a softirq (TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ).
_HARDIRQ, _SOFTIRQ = 0x08, 0x10
# What stays of each event: time, CPU, who was current, in which context, and what it is about.
COLUMNS = ("time_ns", "cpu", "tid", "comm", "in_hardirq", "in_softirq", "what", "name")

# Beside what an event is about.
_FIELDS = ("common_flags", "comm")
# So many events.
_SMALL = 3_000_000

QUEUED = ("net:net_dev_queue", "skbaddr")
RECEIVED = ("net:netif_receive_skb", "skbaddr")
COPIED = ("skb:skb_copy_datagram_iovec", "skbaddr")
CONSUMED = ("skb:consume_skb", "skbaddr")
FREED = ("skb:kfree_skb", "skbaddr")
READY = ("sock:sk_data_ready", "skaddr")
WOKEN = ("sched:sched_waking", "pid")
WAKE_UP = ("sched:sched_wakeup", "pid")


def all_recorded(capture: "Capture") -> "dict[tuple[str, str], pd.DataFrame]":
    # Every event that tells whose traffic a softirq worked on, as recorded() returns each. Wake-ups
    # where nothing tells who woke; buffers where any was received.
    counts = capture.info["events"]
    wanted = [RECEIVED, READY, WOKEN if counts.get(WOKEN[0]) else WAKE_UP]
    if counts.get(RECEIVED[0]):
        wanted += (QUEUED, COPIED, CONSUMED, FREED)
    # Together they take one pass, and more memory for a moment.
    fits = capture.event_count <= _SMALL
    seen = [name for name, _ in wanted if counts.get(name) and fits]
    with progress("decoding") as advance:
        fields = [*_FIELDS, *{field for _, field in wanted}]
        tables = capture.native.all_events(advance, seen, fields) if seen else {}
    found = {}
    for event in wanted:
        name, field = event
        table = tables.pop(name, None)
        if table is None:
            # Of one that cannot be shown this says why.
            found[event] = recorded(capture, event)
        else:
            found[event] = in_columns(to_frame(table), field)
    return found


def recorded(capture: "Capture", event: tuple[str, str]) -> pd.DataFrame:
    # One event of a capture in COLUMNS; without rows where it was not recorded, or not its field.
    # what: the field that names what it is about (int64, addresses wrapped); name: its comm field,
    # where it has one. Without recorded flags the contexts are NA.
    name, field = event
    fields = [*_FIELDS, field]
    frame = capture.events(name, fields=fields) if capture.info["events"].get(name) else None
    return empty() if frame is None else in_columns(frame, field)


def in_columns(frame: pd.DataFrame, field: str) -> pd.DataFrame:
    # Events of one tracepoint in COLUMNS; without rows where they have no such field.
    if field not in frame or "time_ns" not in frame:
        return empty()
    frame = frame[frame["time_ns"].notna().to_numpy()]
    flags = frame["common_flags"].astype("Int64") if "common_flags" in frame else None
    unknown = pd.array([pd.NA] * len(frame), dtype="boolean")
    return pd.DataFrame(
        {
            "time_ns": frame["time_ns"].astype("int64"),
            "cpu": frame["common_cpu"].astype("int64"),
            "tid": frame["common_pid"].astype("int64"),
            "comm": plain_names(frame["common_comm"]),
            "in_hardirq": unknown if flags is None else (flags & _HARDIRQ) != 0,
            "in_softirq": unknown if flags is None else (flags & _SOFTIRQ) != 0,
            "what": frame[field].astype("uint64").to_numpy().view(np.int64),
            "name": plain_names(frame["comm"])
            if "comm" in frame
            else plain_names(frame["common_comm"]),
        }
    ).reset_index(drop=True)


def empty() -> pd.DataFrame:
    return pd.DataFrame({column: pd.Series(dtype="int64") for column in COLUMNS}).astype(
        {"comm": object, "name": object, "in_hardirq": "boolean", "in_softirq": "boolean"}
    )

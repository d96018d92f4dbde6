# What of a device's time no event shows, and how much it may have been.

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import pandas as pd

from ..._native import CaptureError
from ...capture.requires import unrecorded
from ...timeline.owners import thief_label
from ..completeness.unrecorded import Missing, missing
from .device_traffic import carried, comparable

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...timeline.timeline import Timeline

# A poll or two had begun before the capture did, or before the first reading.
_TIMED_SHARE = 0.99
# include/linux/interrupt.h: NET_RX_SOFTIRQ.
_NET_RX = 3
_POLL = "napi:napi_poll"
# napi_thread_init (net/core/dev.c), backlog_napi_setup.
_POLLING_THREADS = ("napi/", "backlog_napi/")
_missed: "WeakKeyDictionary[Capture, bool]" = WeakKeyDictionary()


def not_all(
    part: "pd.Series[float]", whole: "pd.Series[float]", tolerance: object = 0.0
) -> pd.Series:
    # Where a count is less than another by more than a poll or two: False where one is unknown.
    # tolerance: the share that may lie before or after the readings.
    return (part < (_TIMED_SHARE - tolerance) * whole).fillna(False).astype(bool)  # type: ignore[operator]


def polls_missed(timeline: "Timeline") -> bool:
    # Whether a device was polled for less than it received, by its counters of net/dev. Of the
    # whole recording: in a part of it all that is missing may lie. A device without any poll shows
    # nothing, for its packets may come by another's. False where there are no counters.
    capture = timeline.capture
    if capture not in _missed:
        _missed[capture] = comparable(capture) and _less_than_received(capture)
    return _missed[capture]


def _less_than_received(capture: "Capture") -> bool:
    if capture.bundle is None or unrecorded(capture, _POLL):
        return False
    within = int(capture.info["start_ns"]), int(capture.info["end_ns"])
    try:
        traffic = carried(capture.bundle, whole=True, within=within)
    except CaptureError:
        return False
    # A name of several namespaces says not which polled.
    rows = traffic[~traffic["device"].duplicated(keep=False)].to_dict("records")
    if not rows:
        return False
    polled = _polled(capture, [(row["device"], row["start_ns"], row["end_ns"]) for row in rows])
    for row, work in zip(rows, polled or (), strict=False):
        span = row["end_ns"] - row["start_ns"]
        if work is None or span <= 0:
            continue
        figures = pd.DataFrame({"work": [work], "rx": [row["rx_packets"]]}).astype("Float64")
        if not_all(figures["work"], figures["rx"], row["interval_error_ns"] / span).any():
            return True
    return False


def _polled(capture: "Capture", rows: list[tuple[str, int, int]]) -> list[int | None] | None:
    # Packets of the polls of each device between two times, None where there was no poll; None for
    # all before Linux 4.8, when the event had no work.
    found: list[int | None] = [None] * len(rows)
    window = min(row[1] for row in rows), max(row[2] for row in rows)
    for tables in capture.event_batches([_POLL], ["dev_name", "work"], window):
        polls = tables[_POLL]
        if "work" not in polls:
            return None
        for place, (device, start_ns, end_ns) in enumerate(rows):
            own = (polls["dev_name"] == device) & polls["time_ns"].between(start_ns, end_ns)
            if own.any():
                found[place] = (found[place] or 0) + int(polls.loc[own, "work"].sum())
    return found


def with_upper_ends(
    rows: pd.DataFrame, sums: pd.DataFrame, lines: pd.DataFrame, timeline: "Timeline"
) -> pd.DataFrame:
    # device_time's rows with hardirq_max_ns, poll_max_ns and max_ns. rows: as shares.combined
    # returns them. sums: the timeline's. lines: as device_lines returns it.
    frame, unseen = rows.copy(), missing(timeline)
    polls = frame["poll_ns"]
    if polls_missed(timeline):
        # A poll that nobody saw is in its softirq's time, in the poll after it, or its thread's.
        whole = frame["cpu"].map(_polling_ns(sums)).astype("Int64").fillna(0)
        polls = polls.mask(polls.notna(), whole)
    untimed = not_all(frame["timed_packets"].astype("Float64"), frame["packets"].astype("Float64"))
    window_ns = timeline.duration_ns
    softirqs = _unseen_ns(frame, unseen, window_ns, _is_its_softirq)
    # Busy polls and netpoll are in whatever time they interrupt.
    frame["poll_max_ns"] = (polls + softirqs).mask(untimed).astype("Int64")
    thieves = {
        str(irq): thief_label("hardirq", irq, name, device, "device")
        for irq, name, device in zip(lines["irq"], lines["name"], lines["device"], strict=True)
    }
    handlers = _unseen_ns(
        frame,
        unseen,
        window_ns,
        lambda thief, one: one.kind == "irq" and thieves.get(one.counter) == thief,
    )
    frame["hardirq_max_ns"] = (frame["hardirq_ns"] + handlers).astype("Int64")
    kind = frame["kind"]
    more = (frame["poll_max_ns"] - frame["poll_ns"]).where(kind.isin(["device", "backlog"]), 0)
    more += (frame["hardirq_max_ns"] - frame["hardirq_ns"]).where(kind.isin(["device", "line"]), 0)
    more += softirqs.where(kind == "softirq", 0)
    frame["max_ns"] = (frame["ns"] + more).astype("Int64")
    return frame


def _is_its_softirq(thief: str, one: Missing) -> bool:
    # RPS's dispatch is NET_RX, as are polls.
    vector = "NET_TX" if thief == "NET_TX" else "NET_RX"
    return one.kind == "softirq" and one.counter == vector


def _unseen_ns(
    rows: pd.DataFrame,
    unseen: list[Missing],
    window_ns: int,
    its: Callable[[str, Missing], bool],
) -> "pd.Series[int]":
    # Of each row what is proved missing of it on its CPU, each as long as the longest.
    found = [
        sum(
            window_ns if one.each is None else one.least * one.each.longest_ns
            for one in unseen
            if one.cpu == cpu and its(thief, one)
        )
        for thief, cpu in zip(rows["thief"], rows["cpu"], strict=True)
    ]
    return pd.Series(found, index=rows.index, dtype="Int64")


def _polling_ns(sums: pd.DataFrame) -> "pd.Series[int]":
    # By CPU, all the time in which polls may have been.
    net_rx = (sums["context"] == "softirq") & (sums["id"] == _NET_RX).fillna(False)
    threads = sums["comm"].astype(str).str.startswith(_POLLING_THREADS)
    inside = net_rx | (sums["context"] == "poll") | (threads & (sums["context"] == "task"))
    return sums[inside.astype(bool)].groupby("cpu")["ns"].sum()

# Upper bounds of a device's time: with what the counters show, and no event does.

from collections import Counter

import pandas as pd

from ..._native import CaptureError
from ...capture.capture import Capture
from ...capture.requires import unrecorded
from ...timeline.owners import thief_label
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..completeness.completeness import has_readings_clock
from ..completeness.unrecorded import missing
from .device_traffic import traffic_of

# A poll or two may have begun before the first reading.
_SEEN_SHARE = 0.99
# include/linux/interrupt.h: NET_RX_SOFTIRQ.
_NET_RX = 3
_POLL = "napi:napi_poll"
# napi_thread_init (net/core/dev.c), backlog_napi_setup.
_POLLING_THREADS = ("napi/", "backlog_napi/")


def not_all(
    part: "pd.Series[float]", whole: "pd.Series[float]", tolerance: object = 0.0
) -> pd.Series:
    # Where a count is less than another by more than a poll or two; False where either is unknown.
    # tolerance: the share that may lie outside the readings.
    return (part < (_SEEN_SHARE - tolerance) * whole).fillna(False).astype(bool)  # type: ignore[operator]


@once
def _polls_missed(capture: Capture) -> bool:
    # Whether the polls of a device received less than net/dev counted, in the whole recording: the
    # missing ones may be in any part of it. False where there are no counters.
    if capture.bundle is None or not has_readings_clock(capture) or unrecorded(capture, _POLL):
        return False
    within = int(capture.info["start_ns"]), int(capture.info["end_ns"])
    try:
        traffic = traffic_of(capture.bundle, whole=True, within=within)
    except CaptureError:
        return False
    # A poll does not say which namespace its device is of.
    rows = traffic[~traffic["device"].duplicated(keep=False)].set_index("device")
    if not len(rows):
        return False
    rows["work"] = _polled(capture, rows)
    span_ns = rows["end_ns"] - rows["start_ns"]
    rows = rows[span_ns > 0].astype({"rx_packets": "Float64"})
    tolerance = rows["interval_error_ns"] / span_ns[span_ns > 0]
    return bool(not_all(rows["work"], rows["rx_packets"], tolerance).any())


def _polled(capture: Capture, rows: pd.DataFrame) -> "pd.Series[float]":
    # Packets of the polls of each device from start_ns to end_ns. NA without any poll, for its
    # packets may come in another device's; NA for all before Linux 4.8, whose event has no work.
    work = pd.Series(pd.NA, index=rows.index, dtype="Float64")
    window = int(rows["start_ns"].min()), int(rows["end_ns"].max())
    for tables in capture.event_batches([_POLL], ["dev_name", "work"], window):
        polls = tables[_POLL]
        if "work" not in polls:
            break
        for device, start_ns, end_ns in zip(
            rows.index, rows["start_ns"], rows["end_ns"], strict=True
        ):
            of_device = (polls["dev_name"] == device) & polls["time_ns"].between(start_ns, end_ns)
            if of_device.any():
                work[device] = work.fillna(0)[device] + int(polls.loc[of_device, "work"].sum())
    return work


def with_upper_bounds(
    rows: pd.DataFrame, sums: pd.DataFrame, lines: pd.DataFrame, timeline: Timeline
) -> pd.DataFrame:
    # Rows of device_time with hardirq_max_ns, poll_max_ns and max_ns. sums: the timeline's. lines:
    # of device_lines.
    frame, cpu, kind = rows.copy(), rows["cpu"], rows["kind"]
    polls = frame["poll_ns"]
    if _polls_missed(timeline.capture):
        # An unseen poll is in the time of its softirq, of its thread, or of the poll after it.
        whole = cpu.map(_polling_ns(sums)).astype("Int64").fillna(0)
        polls = polls.mask(polls.notna(), whole)
    thieves = {
        str(irq): thief_label("hardirq", irq, name, device, "device")
        for irq, name, device in zip(lines["irq"], lines["name"], lines["device"], strict=True)
    }
    # What is proved missing, by CPU, each as long as the longest.
    handlers_ns, softirqs_ns = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
    for lack in missing(timeline):
        longest_ns = lack.longest_ns
        ns = timeline.duration_ns if longest_ns is None else lack.least * longest_ns
        if lack.kind == "softirq":
            softirqs_ns[lack.counter, lack.cpu] += ns
        elif lack.kind == "irq" and lack.counter in thieves:
            handlers_ns[thieves[lack.counter], lack.cpu] += ns
    # RPS's dispatch is NET_RX, as are polls.
    vector = frame["thief"].where(frame["thief"] == "NET_TX", "NET_RX")
    handlers, softirqs = (
        pd.Series([ns[key] for key in zip(names, cpu, strict=True)], rows.index, dtype="Int64")
        for ns, names in ((handlers_ns, frame["thief"]), (softirqs_ns, vector))
    )
    untimed = not_all(frame["timed_packets"].astype("Float64"), frame["packets"].astype("Float64"))
    # Busy polls and netpoll have no known time.
    frame["poll_max_ns"] = (polls + softirqs).mask(untimed).astype("Int64")
    frame["hardirq_max_ns"] = (frame["hardirq_ns"] + handlers).astype("Int64")
    more = (frame["poll_max_ns"] - frame["poll_ns"]).where(kind.isin(["device", "backlog"]), 0)
    more += (frame["hardirq_max_ns"] - frame["hardirq_ns"]).where(kind.isin(["device", "line"]), 0)
    more += softirqs.where(kind == "softirq", 0)
    frame["max_ns"] = (frame["ns"] + more).astype("Int64")
    return frame


def _polling_ns(sums: pd.DataFrame) -> "pd.Series[int]":
    # By CPU, all the time in which polls may have been.
    net_rx = (sums["context"] == "softirq") & (sums["id"] == _NET_RX).fillna(False)
    threads = sums["comm"].astype(str).str.startswith(_POLLING_THREADS)
    inside = net_rx | (sums["context"] == "poll") | (threads & (sums["context"] == "task"))
    return sums[inside.astype(bool)].groupby("cpu")["ns"].sum()

# Where a device's time comes from: its lines' handlers and its polls. Each function returns rows
# that shares.combined adds up: kind, thief, device, cpu and figures.

import pandas as pd

from ...errors import AbsentError, no_such
from ...timeline.aggregates import Grouped, in_window
from ...timeline.owners import NO_DEVICE, thief_label
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import whole_polls
from .device_lines import numbered, shared_lines

# How many polls have a known length: with none, a time is not 0 but unknown.
TIMED = "timed_polls"
# include/linux/interrupt.h: NET_TX_SOFTIRQ, NET_RX_SOFTIRQ.
_NETWORK_SOFTIRQS = (2, 3)
# A poll is counted where it ends, whole.
POLLED = Grouped(
    "polls",
    by=("device", "cpu", "is_timed"),
    sums=("work",),
    known=("work",),
    where=in_window("end_ns"),
)
WHOLE = Grouped("polls", by=("device", "cpu"), sums=("work", "self_ns"), where=whole_polls)
ALL = Grouped("polls", by=("device",), sums=("self_ns",))


def of_device(rows: pd.DataFrame, device: str) -> pd.DataFrame:
    # The rows of a device. Raises AbsentError, with the names near it, for one without any.
    own = rows[rows["device"] == device]
    if not len(own):
        known = list(map(str, rows["device"].dropna().drop_duplicates()))
        raise AbsentError(no_such("device", device, known))
    return own


def by_line(sums: pd.DataFrame, lines: pd.DataFrame, interrupts: pd.DataFrame) -> pd.DataFrame:
    # What interrupt lines took, each charged to its device if it has one. lines: as device_lines
    # returns it. interrupts: as counted_interrupts returns it.
    rows = sums[(sums["context"] == "hardirq") & sums["id"].notna()]
    ns = (
        pd.DataFrame(
            {
                "irq": rows["id"].astype("int64"),
                "name": rows["name"].astype(object),
                "cpu": rows["cpu"],
                "hardirq_ns": rows["ns"],
            }
        )
        .groupby(["irq", "name", "cpu"], dropna=False)["hardirq_ns"]
        .sum()
        .reset_index()
    )
    # A line's handlers are told apart by name only where there are several.
    split = shared_lines(lines)
    ns, interrupts, lines = (numbered(one, split) for one in (ns, interrupts, lines))
    sums_of = [
        one.groupby(["irq", "cpu"], as_index=False)[name].sum()
        for one, name in ((ns, "hardirq_ns"), (interrupts, "interrupts"))
    ]
    frame = (
        sums_of[0]
        .merge(sums_of[1], on=["irq", "cpu"], how="outer")
        .merge(lines[["irq", "name", "device"]], on="irq", how="left")
    )
    frame["irq"] = frame["irq"].replace({key: irq for (irq, _), key in split.items()})
    frame["device"] = frame["device"].astype(object).where(frame["device"].notna(), None)
    frame["kind"] = ["line" if device is None else "device" for device in frame["device"]]
    frame["thief"] = [
        thief_label("hardirq", irq, name, device, "device")
        for irq, name, device in zip(frame["irq"], frame["name"], frame["device"], strict=True)
    ]
    charged: pd.DataFrame = frame.drop(columns=["irq", "name"])
    return charged


def by_poll(sums: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    # What polls took, in softirqs and in threads (threaded NAPI), and what they received. counts:
    # as polled returns it.
    rows = sums[sums["context"] == "poll"]
    ns = (
        pd.DataFrame({"device": _named(rows["device"]), "cpu": rows["cpu"], "poll_ns": rows["ns"]})
        .groupby(["device", "cpu"])["poll_ns"]
        .sum()
        .reset_index()
    )
    if not counts["known"].any():
        # Before Linux 4.8 the event has no work.
        counts = counts.drop(columns=["packets", "timed_packets"])
    frame = ns.merge(counts.drop(columns="known").reset_index(), on=["device", "cpu"], how="outer")
    frame["kind"] = frame["device"].map(lambda one: "backlog" if one == NO_DEVICE else "device")
    frame["thief"] = frame["device"].map(lambda one: thief_label("poll", None, None, one, "device"))
    return frame


def polled(timeline: Timeline) -> pd.DataFrame:
    # By device and CPU: polls, packets, timed_packets, TIMED; known: polls whose packets are.
    # Busy polls and netpoll have no begin, so no time; of one that began before, there is a part.
    frame = POLLED(timeline).frame
    frame = frame.assign(known=frame["work_known"])
    frame[TIMED] = frame["polls"] * frame["is_timed"]
    counts = frame.groupby(["device", "cpu"])[["polls", "packets", TIMED, "known"]].sum()
    whole = WHOLE(timeline).frame.set_index(["device", "cpu"])["packets"]
    return counts.assign(timed_packets=whole.reindex(counts.index, fill_value=0))


def cut_ns(timeline: Timeline) -> "pd.Series[int]":
    # By device, the time of polls that do not lie whole in a window.
    every = ALL(timeline).frame.set_index("device")["ns"]
    whole = WHOLE(timeline).frame.groupby("device")["ns"].sum()
    return every - whole.reindex(every.index, fill_value=0)


def _named(devices: "pd.Series[str]") -> "pd.Series[str]":
    return devices.astype(object).where(devices.notna(), NO_DEVICE)


def by_softirq(sums: pd.DataFrame) -> pd.DataFrame:
    # What network softirqs did outside their polls.
    rows = sums[(sums["context"] == "softirq") & sums["id"].isin(_NETWORK_SOFTIRQS)]
    frame = pd.DataFrame(
        {"thief": rows["name"].astype(object), "cpu": rows["cpu"], "outside_polls_ns": rows["ns"]}
    )
    summed = frame.groupby(["thief", "cpu"])["outside_polls_ns"].sum().reset_index()
    return summed.assign(kind="softirq", device=None)

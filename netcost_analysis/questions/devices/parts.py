# Where a device's time comes from: its lines' handlers and its polls. Each function returns rows
# that shares.combined adds up: kind, thief, device, cpu and figures.

import numpy as np
import pandas as pd

from ...errors import AbsentError, no_such
from ...stats.grouped import sums_by
from ...timeline.aggregate import NO_DEVICE, thief_label
from ..folds import fold
from ..inputs import Window, added
from .device_lines import numbered, shared_lines

# How many polls have a known length: with none, a time is not 0 but unknown.
TIMED = "timed_polls"
# include/linux/interrupt.h: NET_TX_SOFTIRQ, NET_RX_SOFTIRQ.
_NETWORK_SOFTIRQS = (2, 3)
# What is read of the polls.
_POLL = ["cpu", "device", "start_ns", "end_ns", "work", "self_ns"]


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


@fold("polls", columns={"polls": _POLL})
def polled(counts: pd.DataFrame | None, polls: pd.DataFrame, *, window: Window) -> pd.DataFrame:
    # By device and CPU; known: polls whose packets are. A poll is counted where it ends, whole.
    inside = polls[window.has(polls["end_ns"])]
    work = inside["work"].fillna(0).to_numpy("int64")
    # Busy polls and netpoll have no begin, so no time; of one that began before, there is a part.
    timed = inside["self_ns"].notna().to_numpy()
    values = {
        "polls": np.ones_like(work),
        "packets": work,
        "timed_packets": np.where(timed & window.holds(inside).to_numpy(), work, 0),
        TIMED: timed.astype("int64"),
        "known": inside["work"].notna().to_numpy().astype("int64"),
    }
    sums = sums_by(inside[["device", "cpu"]], values).reset_index()
    sums = sums.assign(device=_named(sums["device"])).set_index(["device", "cpu"])
    return added(counts, sums.groupby(level=[0, 1]).sum())


@fold("polls", columns={"polls": _POLL})
def cut_ns(sums: pd.DataFrame | None, polls: pd.DataFrame, *, window: Window) -> pd.DataFrame:
    # By device, the time of polls that do not lie whole in a window.
    cut = polls[~window.holds(polls)]
    ns = cut["self_ns"].fillna(0).astype("int64").groupby(_named(cut["device"])).sum()
    return added(sums, ns.rename("cut_poll_ns").to_frame())


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

# Time of CPUs by device: intrstat's question, with polls, where Linux does the work.


import numpy as np
import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.aggregates import Grouped, in_window
from ...timeline.owners import NO_DEVICE, thief_label
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..batches.poll_sizes import whole_polls
from .device_lines import (
    ENTERED,
    RAISED,
    counted_interrupts,
    lines_of,
    numbered,
    shared_lines,
)
from .upper_ends import with_upper_ends

_KEYS = ["kind", "thief", "device", "cpu"]
_PARTS = ["hardirq_ns", "poll_ns", "outside_polls_ns"]
_COUNTS = ["interrupts", "polls", "packets", "timed_packets"]
_COLUMNS = [
    *_KEYS,
    *("hardirq_ns", "hardirq_max_ns", "poll_ns", "poll_max_ns", "outside_polls_ns"),
    *("ns", "max_ns", "cpu_share", "unknown_share"),
    *("interrupts", "interrupts_per_s", "polls", "packets", "timed_packets"),
]
# How many polls have a known length: with none, a time is not 0 but unknown.
_TIMED = "timed_polls"
# include/linux/interrupt.h: NET_TX_SOFTIRQ, NET_RX_SOFTIRQ.
_NETWORK_SOFTIRQS = (2, 3)
# A poll is counted where it ends, whole.
_POLLED = Grouped(
    "polls",
    by=("device", "cpu", "is_timed"),
    sums=("work",),
    known=("work",),
    where=in_window("end_ns"),
)
WHOLE = Grouped("polls", by=("device", "cpu"), sums=("work", "self_ns"), where=whole_polls)
INPUTS = (RAISED, ENTERED, _POLLED, WHOLE)


@question(
    needs=(("interrupts", "polls"),),
    inputs=INPUTS,
    columns=("thief", "cpu", "ns", "cpu_share", "interrupts_per_s", "packets"),
)
def device_time(timeline: Timeline) -> Answer:
    """What CPU time each device took on each CPU, in its interrupts and in its polls.

    A row per thief and CPU on which it took any, most ns first. A row of kind "softirq" is what
    network softirqs did outside their polls, which no device can be charged with. NA: an event that
    was not recorded, or that a row's kind has none of. hardirq_max_ns, poll_max_ns and max_ns are
    with what no event shows; where the interfaces' counters show that polls were missed,
    outside_polls_ns may have been one. Source: the timeline's sums; each line's device as
    device_lines has it.
    """
    return Answer(times_of(timeline).copy())


# Several questions of a page ask it of one timeline.
@once
def times_of(timeline: Timeline) -> pd.DataFrame:
    lines, sums = lines_of(timeline), timeline.sums()
    parts = [
        _by_line(sums, lines, counted_interrupts(timeline)),
        _by_poll(sums, timeline),
        _by_softirq(sums),
    ]
    rows = _combined(pd.concat(parts, ignore_index=True), sums, timeline)
    return with_upper_ends(rows, sums, lines, timeline)[_COLUMNS]


def _by_line(sums: pd.DataFrame, lines: pd.DataFrame, interrupts: pd.DataFrame) -> pd.DataFrame:
    # What interrupt lines took, each charged to its device if it has one.
    handlers = sums[(sums["context"] == "hardirq") & sums["id"].notna()]
    handlers = handlers.rename(columns={"id": "irq", "ns": "hardirq_ns"})
    handlers = handlers.astype({"irq": "int64", "name": object})
    # A line's handlers are told apart by name only where there are several.
    split = shared_lines(lines)
    handlers, interrupts, lines = (numbered(rows, split) for rows in (handlers, interrupts, lines))
    keys = ["irq", "cpu"]
    frame: pd.DataFrame = (
        handlers.groupby(keys, as_index=False)["hardirq_ns"]
        .sum()
        .merge(interrupts.groupby(keys, as_index=False)["interrupts"].sum(), on=keys, how="outer")
        .merge(lines[["irq", "name", "device"]], on="irq", how="left")
    )
    frame["irq"] = frame["irq"].replace({key: irq for (irq, _), key in split.items()})
    frame["device"] = frame["device"].astype(object).where(frame["device"].notna(), None)
    frame["kind"] = np.where(frame["device"].isna(), "line", "device")
    frame["thief"] = [
        thief_label("hardirq", irq, name, device, "device")
        for irq, name, device in zip(frame["irq"], frame["name"], frame["device"], strict=True)
    ]
    return frame[[*_KEYS, "hardirq_ns", "interrupts"]]


def _by_poll(sums: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # What polls took, in softirqs and in threads (threaded NAPI), and what they received.
    keys = ["device", "cpu"]
    polls = sums.loc[sums["context"] == "poll", [*keys, "ns"]]
    polls = polls.astype({"device": object}).fillna({"device": NO_DEVICE})
    ns = polls.groupby(keys)["ns"].sum().rename("poll_ns").reset_index()
    # Busy polls and netpoll have no begin, so no time; of one that began before, there is a part.
    counts = _POLLED(timeline).frame
    counts = counts.assign(**{_TIMED: counts["polls"] * counts["is_timed"]})
    counts = counts.groupby(keys)[["polls", "packets", _TIMED, "work_known"]].sum()
    whole = WHOLE(timeline).frame.set_index(keys)["packets"]
    counts["timed_packets"] = whole.reindex(counts.index, fill_value=0)
    if not counts["work_known"].any():
        # Before Linux 4.8 the event has no work.
        counts = counts.drop(columns=["packets", "timed_packets"])
    frame = ns.merge(counts.drop(columns="work_known").reset_index(), on=keys, how="outer")
    frame["kind"] = np.where(frame["device"] == NO_DEVICE, "backlog", "device")
    frame["thief"] = [thief_label("poll", None, None, name, "device") for name in frame["device"]]
    return frame


def _by_softirq(sums: pd.DataFrame) -> pd.DataFrame:
    # What network softirqs did outside their polls.
    softirqs = sums[(sums["context"] == "softirq") & sums["id"].isin(_NETWORK_SOFTIRQS)]
    softirqs = softirqs.rename(columns={"name": "thief", "ns": "outside_polls_ns"})
    softirqs = softirqs.astype({"thief": object})
    frame = softirqs.groupby(["thief", "cpu"])["outside_polls_ns"].sum().reset_index()
    return frame.assign(kind="softirq", device=None)


def _combined(parts: pd.DataFrame, sums: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # A row per thief and CPU of parts that came from lines, polls and softirqs.
    numbers = [*_PARTS, *_COUNTS, _TIMED]
    frame = parts.reindex(columns=[*_KEYS, *numbers]).astype(dict.fromkeys(numbers, "Int64"))
    frame = frame.groupby(_KEYS, dropna=False, as_index=False)[numbers].sum(min_count=1)
    polled = (frame["polls"] > 0).fillna(False)
    without_work = polled & frame["packets"].isna()
    untimed = polled & (frame[_TIMED].fillna(0) == 0)
    frame[numbers] = frame[numbers].fillna(0)
    # Of what a kind of row cannot have, and of what was not recorded, the sum is no 0.
    kind, missing = frame["kind"], timeline.missing
    no_irqs = kind.isin(["softirq", "backlog"]) | bool(missing["interrupts"])
    no_polls = ~kind.isin(["device", "backlog"]) | bool(missing["polls"])
    frame.loc[no_irqs, ["hardirq_ns", "interrupts"]] = pd.NA
    frame.loc[no_polls, ["poll_ns", "polls", "packets", "timed_packets"]] = pd.NA
    frame.loc[without_work, ["packets", "timed_packets"]] = pd.NA
    frame.loc[untimed, "poll_ns"] = pd.NA
    frame.loc[kind != "softirq", "outside_polls_ns"] = pd.NA
    frame["ns"] = frame[_PARTS].sum(axis=1, min_count=1).astype("Int64")
    window_ns = timeline.duration_ns or float("nan")
    frame["cpu_share"] = frame["ns"].to_numpy("float64", na_value=float("nan")) / window_ns
    frame["interrupts_per_s"] = frame["interrupts"].astype("Float64") * (1e9 / window_ns)
    total = sums.groupby("cpu")["ns"].sum()
    unknown = sums[sums["context"] == "unknown"].groupby("cpu")["ns"].sum()
    unknown_share = unknown.reindex(total.index, fill_value=0) / total.where(total > 0)
    frame["unknown_share"] = frame["cpu"].map(unknown_share).astype("float64")
    frame = frame.astype({"cpu": "int64", "device": object})
    frame["device"] = frame["device"].where(frame["device"].notna(), None)
    order = ["ns", "thief", "cpu"]
    return frame.sort_values(order, ascending=[False, True, True], kind="stable", ignore_index=True)

"""One interrupt as an example: which, and everything around it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..timeline.kinds import kinds_of
from ..timeline.timeline import Timeline

# Of what is shown, how much is the time before and after.
_MARGIN = 0.3
# An interrupt this much before a softirq's entry may still have raised it.
_REACH_NS = 1_000_000
_LEAST_MARGIN_NS = 500
_NEIGHBOURS = 3
# Softirqs, hardirqs and polls of so many take some 400 MB.
_MOST_EVENTS = 5_000_000


@dataclass(frozen=True)
class Moment:
    """A short window of one CPU.

    cpu; start_ns, end_ns: the window; first_ns, last_ns: from the interrupt that began it to the
    softirq's exit; offset_ns: from the capture's start to first_ns; segments (with kind), softirqs,
    polls: the timeline's, in that window. others:
    CPUs shown beside it, busiest with interrupts first. what: which interrupt this is, in words;
    scheduled: it ran in a kernel thread of the network's, so it was taken from nobody.
    """

    cpu: int
    start_ns: int
    end_ns: int
    first_ns: int
    last_ns: int
    offset_ns: int
    segments: pd.DataFrame
    softirqs: pd.DataFrame
    polls: pd.DataFrame
    others: tuple[int, ...]
    what: str
    scheduled: bool = False

    @property
    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """segments, softirqs, polls."""
        return self.segments, self.softirqs, self.polls

    @property
    def window(self) -> tuple[int, int]:
        """start_ns, end_ns."""
        return self.start_ns, self.end_ns

    @property
    def taken(self) -> tuple[int, int, int]:
        """first_ns, last_ns, interrupted_ns."""
        return self.first_ns, self.last_ns, self.interrupted_ns

    @property
    def interrupted_ns(self) -> int:
        """What was taken from the task between first_ns and last_ns on that CPU."""
        return int(self.parts.drop(["task", "idle", "unknown"], errors="ignore").sum())

    @property
    def span_ns(self) -> int:
        """From first_ns to last_ns."""
        return self.last_ns - self.first_ns

    @property
    def parts(self) -> "pd.Series[int]":
        """Who had that CPU between first_ns and last_ns: ns by kind."""
        rows = self.segments[self.segments["cpu"] == self.cpu]
        inside = rows[(rows["start_ns"] >= self.first_ns) & (rows["end_ns"] <= self.last_ns)]
        return (inside["end_ns"] - inside["start_ns"]).groupby(inside["kind"]).sum()


def detail(timeline: Timeline) -> Timeline:
    """The stretch of which single interrupts, softirqs and polls are looked at.

    Returns the timeline itself, or of a capture whose tables would not fit in memory a window from
    its middle, with about as many events as do.
    """
    capture, span = timeline.capture, timeline.duration_ns
    events = capture.event_count
    if events <= _MOST_EVENTS or not span:
        return timeline
    width = max(span * _MOST_EVENTS // events, 1)
    start = int(timeline.summary["start_ns"]) - capture.start_ns + (span - width) // 2
    return capture.timeline(start / 1e9, (start + width) / 1e9, timeline.cpus)


def choose(softirqs: pd.DataFrame, victim: str | None) -> tuple["pd.Series[Any]", str] | None:
    """A typical network softirq: of median length among those like it.

    softirqs: of a timeline. Prefers those stolen from the victim that polled a device, then any
    that polled, then any network softirq, then any at all. Returns its row and which of these it
    is, or None where no softirq was seen from entry to exit.
    """
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    network = whole[whole["action"].astype(object) == "NET_RX"]
    polled = network[network["polls"] > 0]
    own = polled[(polled["comm"].astype(object) == victim)]
    other = f", as {victim} had none with a poll," if victim is not None else ""
    wanted = (
        (own[own["cost_class"] == "stolen"], f"a network softirq on top of {victim}"),
        (own, f"a network softirq in the context of {victim}"),
        (polled, f"a network softirq in the context of {{task}}{other}"),
        (network, "a network softirq without a poll, in the context of {task}"),
        (whole, "a softirq, as no network softirq was seen,"),
    )
    for rows, what in wanted:
        if len(rows):
            row = _typical(rows)
            task = "an unnamed task" if pd.isna(row["comm"]) else row["comm"]
            return row, what.replace("{task}", task)
    return None


def _typical(rows: pd.DataFrame) -> "pd.Series[Any]":
    length = (rows["exit_ns"] - rows["entry_ns"]).astype("int64").to_numpy()
    # Of several the one in mid-capture: what came before and after it is there to be shown.
    entry = rows["entry_ns"].astype("int64").to_numpy()
    middle = np.abs(entry - np.median(entry))
    return rows.iloc[int(np.lexsort((middle, np.abs(length - np.median(length))))[0])]


def moment(timeline: Timeline, victim: str | None) -> Moment | None:
    """A typical interrupt of the victim and what surrounds it.

    timeline: whose softirqs are chosen from. Where no softirq was recorded a hardirq or vector is
    taken; None where neither was. One more pass over the capture, for the segments of the window.
    """
    chosen = choose(timeline.softirqs, victim)
    if chosen:
        row, what = chosen
        cpu, entry, last = int(row["cpu"]), int(row["entry_ns"]), int(row["exit_ns"])
        first = _began(timeline.hardirqs, row, entry)
    else:
        irqs = timeline.hardirqs.dropna(subset=["entry_ns", "exit_ns"])
        if not len(irqs):
            return None
        own = irqs[irqs["comm"].astype(object) == victim]
        rows = own if len(own) else irqs
        row = _typical(rows)
        cpu, first, last = int(row["cpu"]), int(row["entry_ns"]), int(row["exit_ns"])
        what = "an interrupt, as no softirq was seen,"
    return _around(timeline, cpu, first, last, what)


def _began(hardirqs: pd.DataFrame, row: "pd.Series[Any]", entry: int) -> int:
    # The interrupt whose raise this is, or the softirq's own entry where none was recorded.
    raised = row["raise_ns"]
    if pd.isna(raised):
        return entry
    near = hardirqs[
        (hardirqs["cpu"] == row["cpu"])
        & (hardirqs["entry_ns"] <= raised).fillna(False)
        & (hardirqs["entry_ns"] >= entry - _REACH_NS).fillna(False)
        & (hardirqs["exit_ns"] >= raised).fillna(False)
    ]
    return int(near["entry_ns"].min()) if len(near) else entry


def _around(timeline: Timeline, cpu: int, first: int, last: int, what: str) -> Moment | None:
    origin = timeline.capture.start_ns
    margin = max(int((last - first) * _MARGIN), _LEAST_MARGIN_NS)
    start = max(first - margin, int(timeline.summary["start_ns"]))
    end = min(last + margin, int(timeline.summary["end_ns"]))
    if end <= start:
        return None
    near = timeline.capture.timeline((start - origin) / 1e9, (end - origin) / 1e9)
    near.load("segments", "softirqs", "polls")
    segments = near.segments.assign(kind=kinds_of(near.segments))
    busy = segments[~segments["kind"].isin(["task", "idle", "unknown"])]
    order = (busy["end_ns"] - busy["start_ns"]).groupby(busy["cpu"]).sum()
    order = order.sort_values(ascending=False, kind="stable")
    others = tuple(int(number) for number in order.index if number != cpu)[:_NEIGHBOURS]
    own = busy[(busy["cpu"] == cpu) & (busy["start_ns"] >= first) & (busy["end_ns"] <= last)]
    return Moment(
        cpu,
        start,
        end,
        first,
        last,
        first - origin,
        segments,
        near.softirqs,
        near.polls,
        others,
        what,
        scheduled=bool((own["cost_class"] == "scheduled").any()),
    )

# One interrupt as an example: which, and everything around it.

from typing import Any

import numpy as np
import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...capture.requires import unrecorded
from ...timeline.owners import kinds_of
from ...timeline.reading import bounds_of, rows
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ..victim import one_asked_or_chosen

# The share of the picture before and after it.
_MARGIN = 0.3
# An interrupt this long before a softirq's entry may still have raised it.
_REACH_NS = 1_000_000
_LEAST_MARGIN_NS = 500
_NEIGHBOURS = 3
_SOFTIRQS = ("irq:softirq_entry", "irq:softirq_exit")
_TABLES = {
    "segments": (
        *("cpu", "start_ns", "end_ns", "context", "tid", "comm", "name", "cost_class"),
        "is_network",
    ),
    "softirqs": ("cpu", "entry_ns", "exit_ns", "action"),
    "polls": ("cpu", "start_ns", "end_ns", "device", "work"),
}


@question(
    inputs=("softirqs", "hardirqs"),
    main="segments",
    columns=("cpu", "start_ns", "end_ns", "context", "comm"),
    rows=0,
)
def example(timeline: Timeline, victim: Task | None = None) -> Answer:
    """One typical interrupt of a victim, with everything around it.

    segments, softirqs and polls of a short window around it, on all CPUs; kinds: what had its CPU
    from first_ns to last_ns. It is the victim's stolen NET_RX softirq with a poll that has the
    median length, in mid-capture among equals. If there is none it is the next best, and example_of
    says which; if no softirq was recorded, a hardirq or vector. Tables are empty, and times
    unknown, if no interrupt was seen from its entry to its exit.

    Source: softirqs and hardirqs, of a large capture those of a part from its middle; one more pass
    for the window's tables.
    """
    victim = one_asked_or_chosen(timeline, victim)
    part, capture = timeline.excerpt, timeline.capture
    known = {
        "victim": label_of(timeline, victim),
        "not_recorded": unrecorded(capture, *_SOFTIRQS, "napi:napi_poll"),
        "silent": [event for event in _SOFTIRQS if not capture.info["events"].get(event)],
        "looked_at_ns": None if part is timeline else part.duration_ns,
        "looked_from_ns": part.offset_ns,
    }
    softirqs, hardirqs = rows(part, "softirqs", "hardirqs")
    irqs = hardirqs.dropna(subset=["entry_ns", "exit_ns"])
    if chosen := choose(_inside(softirqs, part), victim) or choose(softirqs, victim):
        row, what = chosen
        first = _began(hardirqs, row, int(row["entry_ns"]))
    elif len(irqs):
        inside = _inside(irqs, part)
        irqs = inside if len(inside) else irqs
        own = irqs[:0] if victim is None else rows_of(irqs, victim)
        row, what = typical(own if len(own) else irqs), "interrupt"
        first = int(row["entry_ns"])
    else:
        tables = {name: pd.DataFrame(columns=list(names)) for name, names in _TABLES.items()}
        names = ("cpu", "start_ns", "end_ns", "first_ns", "last_ns")
        nothing = dict.fromkeys(names)
        return Answer(**tables, **nothing, others=[], example_of="", comm=None, cut=False, **known)
    return Answer(**_around(part, row, first), example_of=what, **known)


def _inside(irqs: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # Those that lie whole in the window.
    window = bounds_of(timeline)
    whole = (irqs["entry_ns"] >= window.start_ns) & (irqs["exit_ns"] <= window.end_ns)
    return irqs[whole]


def choose(softirqs: pd.DataFrame, victim: Task | None) -> tuple["pd.Series[Any]", str] | None:
    # A typical network softirq, of median length among its like: stolen from the victim and with a
    # poll, else any with a poll, else any network softirq, else any. Returns its row and which of
    # these it is; None where no softirq was seen from entry to exit.
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    network = whole[whole["action"].astype(object) == "NET_RX"]
    polled = network[network["polls"] > 0]
    own = polled[:0] if victim is None else rows_of(polled, victim)
    wanted = (
        (own[own["cost_class"] == "stolen"], "stolen"),
        (own, "its own"),
        (polled, "another's"),
        (network, "without poll"),
        (whole, "no NET_RX"),
    )
    return next(((typical(some), what) for some, what in wanted if len(some)), None)


def typical(irqs: pd.DataFrame) -> "pd.Series[Any]":
    length = (irqs["exit_ns"] - irqs["entry_ns"]).astype("int64").to_numpy()
    # Of several the one in mid-capture, where something came before and after.
    entry = irqs["entry_ns"].astype("int64").to_numpy()
    middle = np.abs(entry - np.median(entry))
    return irqs.iloc[int(np.lexsort((middle, np.abs(length - np.median(length))))[0])]


def _began(hardirqs: pd.DataFrame, row: "pd.Series[Any]", entry: int) -> int:
    # When the interrupt that raised it began; the softirq's own entry where no raise was recorded.
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


def _around(timeline: Timeline, row: "pd.Series[Any]", first: int) -> dict[str, Any]:
    # From the interrupt that raised it to the softirq's exit, with a margin on both sides, cut
    # where the window ends.
    window, cpu, origin = bounds_of(timeline), int(row["cpu"]), timeline.capture.start_ns
    whole = first, int(row["exit_ns"])
    first, last = max(whole[0], window.start_ns), min(whole[1], window.end_ns)
    margin = max(int((last - first) * _MARGIN), _LEAST_MARGIN_NS)
    start, end = max(first - margin, window.start_ns), min(last + margin, window.end_ns)
    near = timeline.capture.timeline((start - origin) / 1e9, (end - origin) / 1e9)
    tables = {
        name: table[list(_TABLES[name])]
        for name, table in zip(_TABLES, rows(near, *_TABLES, are_few=True), strict=True)
    }
    segments = tables["segments"]
    ns = (segments["end_ns"] - segments["start_ns"]).rename("ns")
    is_interrupt = ~segments["context"].isin(["task", "idle", "unknown"])
    busy = ns[is_interrupt].groupby(segments["cpu"]).sum()
    busy = busy.sort_values(ascending=False, kind="stable")
    is_within = (
        (segments["cpu"] == cpu) & (segments["start_ns"] >= first) & (segments["end_ns"] <= last)
    )
    scheduled = segments["cost_class"] == "scheduled"
    kinds = ns[is_within].groupby(kinds_of(segments).rename("segment_kind")).sum()
    return {
        **tables,
        "cpu": cpu,
        "start_ns": start,
        "end_ns": end,
        "first_ns": first,
        "last_ns": last,
        "others": [int(number) for number in busy.index if number != cpu][:_NEIGHBOURS],
        "comm": None if pd.isna(row["comm"]) else str(row["comm"]),
        "cut": (first, last) != whole,
        "in_all": {
            "at_ns": first - origin,
            "span_ns": last - first,
            "interrupted_ns": int(ns[is_within & is_interrupt].sum()),
        },
        "kinds": kinds.reset_index(),
        "is_scheduled": bool((scheduled & is_within & is_interrupt).any()),
    }


def _title(answer: Answer) -> str:
    comm = answer["comm"] or "an unnamed task"
    return f"Interrupts, polls, softirqs and task on CPU {answer['cpu']}, on top of {comm}"


@example.plot(
    title=_title,
    height=lambda answer: 3.1 + 0.55 * len(answer["others"]),
    panels=lambda answer: [] if answer["cpu"] is None else [{}],
)
def _lanes(ax: "plots.Axes", answer: Answer) -> None:
    segments = answer["segments"].assign(kind=kinds_of(answer["segments"]))
    window = (answer["start_ns"], answer["end_ns"])
    taken = (answer["first_ns"], answer["last_ns"], answer["in_all"]["interrupted_ns"])
    tables = (segments, answer["softirqs"], answer["polls"])
    plots.lanes.lanes(ax, *tables, answer["cpu"], window, taken, tuple(answer["others"]))

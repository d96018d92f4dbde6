# One interrupt as an example: which, and everything around it.

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.kinds import kinds_of
from ...timeline.reading import rows, window_of
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ..victim import one_asked_or_chosen, victim_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of what is shown, how much is the time before and after.
_MARGIN = 0.3
# An interrupt this much before a softirq's entry may still have raised it.
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


@dataclass(frozen=True)
class Example:
    """One interrupt and a short window around it; columns: docs/columns.md.

    cpu and times are None, and tables empty, where no interrupt was seen from its entry to its
    exit.

    Attributes
    ----------
    segments, softirqs, polls : DataFrame
        Of the window, on all CPUs, as the timeline has them.
    cpu : int or None
        The interrupt's.
    start_ns, end_ns : int or None
        The window.
    first_ns, last_ns : int or None
        From the interrupt that began it to the softirq's exit.
    others : tuple of int
        CPUs shown beside it, busiest with interrupts first.
    example_of : str
        Which softirq this is: "stolen" (a NET_RX with a poll, on top of the victim), "its own" (of
        another class), "another's" (of another task), "without poll" (a NET_RX), "no NET_RX" (of
        another kind), or "interrupt", no softirq at all.
    comm : str or None
        The task that it ran on top of.
    cut : bool
        Whether it reaches out of the timeline's window: its times are then of the part inside.
    """

    segments: pd.DataFrame
    softirqs: pd.DataFrame
    polls: pd.DataFrame
    cpu: int | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    others: tuple[int, ...] = ()
    example_of: str = ""
    comm: str | None = None
    cut: bool = False

    @property
    def within(self) -> pd.DataFrame:
        """The segments of that CPU from first_ns to last_ns."""
        rows = self.segments[self.segments["cpu"] == self.cpu]
        return rows[(rows["start_ns"] >= self.first_ns) & (rows["end_ns"] <= self.last_ns)]


@question(
    inputs=("softirqs", "hardirqs"),
    main="segments",
    columns=("cpu", "start_ns", "end_ns", "context", "comm"),
    rows=0,
)
def example(timeline: Timeline, victim: Task | None = None) -> Example:
    """One typical interrupt of a victim, with everything around it.

    The interrupt, and the tables of a short window around it.

    Source: softirqs and hardirqs, of a large capture those of a part from its middle; one more pass
    for the window's tables. Of the victim's stolen NET_RX softirqs with a poll it is the one of
    median length, in mid-capture among equals; where there is none the next best, and example_of
    says which; where no softirq was recorded a hardirq or vector.
    """
    victim = one_asked_or_chosen(timeline, victim)
    part = timeline.excerpt
    softirqs, hardirqs = rows(part, "softirqs", "hardirqs")
    chosen = choose(_inside(softirqs, part), victim) or choose(softirqs, victim)
    if chosen:
        row, what = chosen
        first = _began(hardirqs, row, int(row["entry_ns"]))
    else:
        irqs = hardirqs.dropna(subset=["entry_ns", "exit_ns"])
        inside = _inside(irqs, part)
        irqs = inside if len(inside) else irqs
        if not len(irqs):
            segments, softirqs, polls = (
                pd.DataFrame(columns=list(names)) for names in _TABLES.values()
            )
            return Example(segments, softirqs, polls)
        own = irqs[:0] if victim is None else rows_of(irqs, victim)
        row, what = typical(own if len(own) else irqs), "interrupt"
        first = int(row["entry_ns"])
    return _around(part, row, first, what)


def _inside(irqs: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # Those that the window holds whole: of another there is a part.
    window = window_of(timeline)
    whole = (irqs["entry_ns"] >= window.start_ns) & (irqs["exit_ns"] <= window.end_ns)
    return irqs[whole.fillna(False).astype(bool)]


def choose(softirqs: pd.DataFrame, victim: Task | None) -> tuple["pd.Series[Any]", str] | None:
    # A typical network softirq, of median length among those like it: stolen from the victim with a
    # poll, else any with a poll, else any network softirq, else any. Returns its row and which of
    # these it is, None where no softirq was seen from entry to exit.
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
    # Of several the one in mid-capture: what came before and after it is there to be shown.
    entry = irqs["entry_ns"].astype("int64").to_numpy()
    middle = np.abs(entry - np.median(entry))
    return irqs.iloc[int(np.lexsort((middle, np.abs(length - np.median(length))))[0])]


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


def _around(timeline: Timeline, row: "pd.Series[Any]", first: int, what: str) -> Example:
    window, cpu = window_of(timeline), int(row["cpu"])
    whole = first, int(row["exit_ns"])
    first, last = max(whole[0], window.start_ns), min(whole[1], window.end_ns)
    comm = None if pd.isna(row["comm"]) else str(row["comm"])
    origin = timeline.capture.start_ns
    margin = max(int((last - first) * _MARGIN), _LEAST_MARGIN_NS)
    start, end = max(first - margin, window.start_ns), min(last + margin, window.end_ns)
    near = timeline.capture.timeline((start - origin) / 1e9, (end - origin) / 1e9)
    around = rows(near, *_TABLES, are_few=True)
    segments, softirqs, polls = (
        table[list(names)] for table, names in zip(around, _TABLES.values(), strict=True)
    )
    busy = _interrupts(segments)
    order = (busy["end_ns"] - busy["start_ns"]).groupby(busy["cpu"]).sum()
    order = order.sort_values(ascending=False, kind="stable")
    others = tuple(int(number) for number in order.index if number != cpu)[:_NEIGHBOURS]
    seen = (segments, softirqs, polls, cpu, start, end, first, last, others, what, comm)
    return Example(*seen, cut=(first, last) != whole)


@example.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # in_all: when the interrupt began, what it took in all; kinds: of that CPU by kind, both from
    # the first interrupt to the last's end. Nothing where none was seen.
    found = answer.result
    if found.first_ns is None or found.last_ns is None:
        return {}
    within = found.within
    ns = (within["end_ns"] - within["start_ns"]).groupby(kinds_of(within)).sum()
    total = {
        "at_ns": found.first_ns - answer.start_ns,
        "span_ns": found.last_ns - found.first_ns,
        "interrupted_ns": int(ns.drop(["task", "idle", "unknown"], errors="ignore").sum()),
    }
    return {"in_all": total, "kinds": ns.rename("ns").rename_axis("segment_kind").reset_index()}


@example.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # parts: ns by kind; cpu None for none.
    # looked_at_ns, offset_ns: of a large capture the stretch it was chosen from.
    found, timeline = answer.result, answer.timeline
    part = timeline.excerpt
    figures: dict[str, Any] = {
        "cpu": found.cpu,
        "example_of": found.example_of,
        "cut": found.cut,
        "comm": found.comm or "an unnamed task",
        "victim": label_of(timeline, victim_of(answer)),
        "unseen": unrecorded(timeline.capture, *_SOFTIRQS),
        "silent": [one for one in _SOFTIRQS if not timeline.capture.info["events"].get(one)],
        "looked_at_ns": None if part is timeline else part.duration_ns,
        "looked_from_ns": part.offset_ns,
        "polls_unseen": bool(unrecorded(timeline.capture, "napi:napi_poll")),
    }
    if "in_all" not in answer.parts:
        return figures
    kinds = answer.tables["kinds"]
    return figures | {
        **answer.parts["in_all"],
        "parts": dict(zip(kinds["segment_kind"], kinds["ns"], strict=True)),
        "scheduled": bool((_interrupts(found.within)["cost_class"] == "scheduled").any()),
    }


def _interrupts(segments: pd.DataFrame) -> pd.DataFrame:
    return segments[~segments["context"].isin(["task", "idle", "unknown"])]


def _seen(answer: "Answer") -> list[dict[str, Any]]:
    return [] if answer.result.cpu is None else [{}]


@example.plot(
    title=lambda answer: (
        f"Interrupts, polls, softirqs and task on CPU {answer.result.cpu}, on top of "
        f"{answer.figures['comm']}"
    ),
    height=lambda answer: 3.1 + 0.55 * len(answer.result.others),
    panels=_seen,
)
def _lanes(ax: "Axes", answer: "Answer") -> None:
    from ...plots.lanes import lanes

    one: Example = answer.result
    assert one.cpu is not None
    assert one.start_ns is not None
    assert one.end_ns is not None
    assert one.first_ns is not None
    assert one.last_ns is not None
    segments = one.segments.assign(kind=kinds_of(one.segments))
    window = (one.start_ns, one.end_ns)
    taken = (one.first_ns, one.last_ns, answer.figures["interrupted_ns"])
    lanes(ax, segments, one.softirqs, one.polls, one.cpu, window, taken, one.others)

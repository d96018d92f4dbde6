# The answer of the report: whose CPU time, how much of it was taken, by what.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...capture.requires import unrecorded
from ...timeline.owners import INTERRUPT_CONTEXTS, of_tasks
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ...units import absent
from ..beyond_trace import beyond_trace
from ..first_words import first_words
from ..network_cost import INTERRUPTS, network_cost
from ..stolen import loss_of, monitor_ends, shares_of
from ..victim import one_asked_or_chosen, victim_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...answers.answer import Answer

# Of the time on CPU: less than this waited is left to the tables.
_WORTH_SAYING = 0.005
# A victim's time on CPU in the order it is told: its own, then what was taken, then the rest.
PARTS = (
    *("own", "stolen_network", "stolen_maybe_network", "stolen_other", "stolen_or_synchronous"),
    *("synchronous", "scheduled", "unknown"),
)


@question(columns=("part", "ns", "share"), shares=("share",), rows=0)
def headline(timeline: Timeline, victim: Task | None = None) -> pd.DataFrame:
    """How much of a victim's time on CPU packet processing took, and which devices did.

    A row per part of its time on CPU, a partition of it: part (own, stolen_network,
    stolen_maybe_network, stolen_other, stolen_or_synchronous, synchronous, scheduled, unknown, in
    that order, those that occur), ns (int64), share (of them all; NaN without sched_switch). Empty
    where no task was seen.

    Source: the timeline's sums. ns adds up to the victim's on_cpu_ns of stolen(), where that is
    known.
    """
    return parts_of(timeline, one_asked_or_chosen(timeline, victim))


def parts_of(timeline: Timeline, victim: Task | None) -> pd.DataFrame:
    # headline() of a victim that ran; None: nobody did.
    rows = of_tasks(timeline.sums_by_thief())
    rows = rows[:0] if victim is None else rows_of(rows, victim)
    part = pd.Series("own", index=rows.index, dtype=object)
    part[rows["context"] == "unknown"] = "unknown"
    inside = rows["context"].isin(INTERRUPT_CONTEXTS)
    network = rows["is_network"].map({"yes": "network", "unknown": "maybe_network"}).fillna("other")
    for cost_class in ("synchronous", "scheduled", "stolen_or_synchronous"):
        part[inside & (rows["cost_class"] == cost_class)] = cost_class
    part[inside & (rows["cost_class"] == "stolen")] = "stolen_" + network
    ns = rows.groupby(part)["ns"].sum()
    present = [name for name in PARTS if ns.get(name, 0)]
    values = pd.Series([int(ns[name]) for name in present], dtype="int64")
    frame = pd.DataFrame({"part": pd.Series(present, dtype=object), "ns": values})
    whole = frame["ns"].sum() if not timeline.missing["on_cpu"] else float("nan")
    return frame.assign(share=frame["ns"] / whole)


@dataclass(frozen=True)
class Beyond:
    # What the headline says of a victim beyond its row of stolen().
    # task_min_share, task_share: of its time on CPU, what it ran itself; NaN where that is unknown.
    # unseen_ns, unrecorded_ns: what else may have been its time, what the kernel counted and no
    # event shows; each 0 where that is too little to be said. undercharged_ns: what of its time on
    # CPU a monitor leaves out; overcharged_ns: what it shows that the victim did not run; None
    # where a monitor's is unknown.
    task_min_share: float
    task_share: float
    unseen_ns: int
    unrecorded_ns: int
    undercharged_ns: int | None
    overcharged_ns: int | None


def beyond(row: "Mapping[str, Any] | pd.Series[Any]") -> Beyond:
    # row: of stolen(), the victim's.
    shares = dict(shares_of(row))
    whole = 0 if absent(row["on_cpu_ns"]) else int(row["on_cpu_ns"])

    def worth(ns: Any) -> int:
        ns = 0 if absent(ns) else int(ns)
        return ns if ns >= _WORTH_SAYING * whole else 0

    shown = row["monitor_ns"]
    known = not absent(shown)
    return Beyond(
        task_min_share=shares["task_min"],
        task_share=shares["task"],
        unseen_ns=worth(row["unknown_max_ns"] - row["unknown_ns"]) if whole else 0,
        unrecorded_ns=worth(row["stolen_unrecorded_ns"]),
        undercharged_ns=whole - int(shown) if known else None,
        overcharged_ns=int(shown) - int(row["task_ns"]) if known else None,
    )


@headline.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # beyond: what else is known of the victim; beyond_trace: of its work. Nothing where nobody ran.
    timeline = answer.timeline
    victim = victim_of(answer)
    if victim is None:
        return {}
    return {
        "beyond": beyond(loss_of(timeline, victim).row),
        "beyond_trace": beyond_trace(timeline, victim),
    }


@headline.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # row: of stolen(), None where nobody ran. unseen: events of interrupts that were not recorded.
    timeline = answer.timeline
    victim = victim_of(answer)
    unseen = unrecorded(timeline.capture, *INTERRUPTS)
    figures: dict[str, Any] = {
        "victim": label_of(timeline, victim),
        "row": None,
        "unseen": unseen,
        "blind": len(unseen) == len(INTERRUPTS),
        "window_ns": timeline.duration_ns,
    }
    if victim is None:
        return figures
    cost, found = network_cost(timeline), answer.parts["beyond_trace"]
    row = loss_of(timeline, victim).row
    return figures | {
        "row": row,
        "beyond": answer.parts["beyond"],
        "first": first_words(timeline, victim, cost, found),
        "monitor": monitor_ends(timeline, row),
    }


def _told(answer: "Answer") -> "list[dict[str, Any]]":
    return [{}] if answer.figures["victim"] is not None else []


@headline.plot(
    title=lambda answer: f"Where the CPU time of {answer.figures['victim']} went",
    height=2.6,
    panels=_told,
)
def _bar(ax: "Axes", answer: "Answer") -> None:
    from ...plots.answer import answer as draw

    row = answer.figures["row"]
    draw(ax, answer.frame, answer.figures["victim"], row["monitor_ns"], row["displaced_ns"] or 0)

# The answer of the report: whose CPU time, how much of it was taken, by what.

from typing import Any

import pandas as pd

from ... import plots
from ...answers.question import Answer, question
from ...timeline.owners import INTERRUPT_CONTEXTS, of_tasks
from ...timeline.task import Task, label_of, rows_of
from ...timeline.timeline import Timeline
from ...units import absent
from ..beyond_trace import beyond_trace
from ..first_words import first_words
from ..network_cost import cost_of
from ..stolen import monitor_ends, stolen_from
from ..stolen_sums import shares_of
from ..victim import one_asked_or_chosen

# Of the time on CPU: less than this waited is left to the tables.
_WORTH_SAYING = 0.005
# A victim's time on CPU in the order it is told: its own, then what was taken, then the rest.
PARTS = (
    *("own", "stolen_network", "stolen_maybe_network", "stolen_other", "stolen_or_synchronous"),
    *("synchronous", "scheduled", "unknown"),
)


@question(columns=("part", "ns", "share"), shares=("share",), rows=0)
def headline(timeline: Timeline, victim: Task | None = None) -> Answer:
    """How much of a victim's time on CPU packet processing took, and which devices did.

    A row per part of its time on CPU. The parts do not overlap: ns adds up to the victim's
    on_cpu_ns of stolen(), where that is known. Empty if no task was seen. of_victim: its row of
    stolen(); beyond: what else is known about it; beyond_trace: what is known about its work.

    Source: the timeline's sums.
    """
    victim = one_asked_or_chosen(timeline, victim)
    frame, cost = parts_of(timeline, victim), cost_of(timeline)
    known = {
        "victim": label_of(timeline, victim),
        "window_ns": timeline.duration_ns,
        "not_recorded": cost.not_recorded,
    }
    if victim is None:
        return Answer(frame, of_victim=None, **known)
    row, work = stolen_from(timeline, victim).row, beyond_trace(timeline, victim)
    return Answer(
        frame,
        beyond=beyond(row, monitor_ends(timeline, row)),
        beyond_trace=work,
        lines=first_words(timeline, victim, cost, work),
        of_victim=row,
        **known,
    )


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
    ns = rows["ns"].groupby(part).sum().reindex(PARTS, fill_value=0)
    frame = ns[ns > 0].rename_axis("part").reset_index()
    whole = frame["ns"].sum() if not timeline.missing["on_cpu"] else float("nan")
    return frame.assign(share=frame["ns"] / whole)


def beyond(row: dict[str, Any], shown_ends: tuple[int, int] | None) -> dict[str, Any]:
    # What is known of a victim beside its row of stolen(): shares of its time on CPU, NaN where
    # that is unknown; times that are too little to be said are 0; None what a monitor leaves out
    # and shows too much where it is not known what it shows.
    shares = shares_of(row)
    whole = 0 if absent(row["on_cpu_ns"]) else row["on_cpu_ns"]
    shown, least = row["monitor_ns"], _WORTH_SAYING * whole
    unseen_ns = row["unknown_max_ns"] - row["unknown_ns"] if whole else 0
    unrecorded_ns = row["stolen_unrecorded_ns"]
    low, high = shown_ends or (None, None)
    return {
        "task_min_share": shares["task_min"],
        "task_share": shares["task"],
        "unseen_ns": unseen_ns if unseen_ns >= least else 0,
        "unrecorded_ns": unrecorded_ns if unrecorded_ns >= least else 0,
        "undercharged_ns": None if shown is None else whole - shown,
        "overcharged_ns": None if shown is None else shown - row["task_ns"],
        "shown_min_ns": low,
        "shown_max_ns": high,
    }


@headline.plot(
    title=lambda answer: f"Where the CPU time of {answer['victim']} went",
    height=2.6,
    panels=lambda answer: [] if answer["victim"] is None else [{}],
)
def _bar(ax: "plots.Axes", answer: Answer) -> None:
    row, victim = answer["of_victim"], answer["victim"]
    plots.victim.answer(ax, answer.frame, victim, row["monitor_ns"], row["displaced_ns"] or 0)

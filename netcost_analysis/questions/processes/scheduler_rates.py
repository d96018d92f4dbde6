# How often the scheduler switched client, server and all others, and woke them.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...answers.question import question
from ...display.tables import listed
from ...timeline.timeline import Timeline
from .context_switches import context_switches
from .endpoints import endpoints
from .run_queue import run_queue

if TYPE_CHECKING:
    from ...answers.answer import Answer

_RATES = ("switches_per_s", "voluntary_per_s", "involuntary_per_s", "wake_ups_per_s")


class SchedulerRates(NamedTuple):
    """Returned by scheduler_rates().

    sides: a row for client, server and all other tasks: side, tasks, switches_per_s,
    voluntary_per_s, involuntary_per_s, wake_ups_per_s, woken_wait_ns, runnable_wait_ns. rates: the
    same of each task, with tid and comm.
    """

    sides: pd.DataFrame
    rates: pd.DataFrame


@question(
    needs=("sched:sched_switch",),
    inputs=(*context_switches.grouped, *run_queue.grouped, "softirqs", "polls"),
    main="sides",
    columns=("side", "tasks", *_RATES),
)
def scheduler_rates(timeline: Timeline) -> SchedulerRates:
    """How often the scheduler switched, preempted and woke client, server and others.

    Rates a second by side, and by task.

    Source: context_switches() and run_queue(). Preemptions are the involuntary switches; wake-ups
    are those of sleepers that then ran. Where no two tasks are seen to talk, all are "other".
    """
    frame = context_switches(timeline)[["tid", "comm", *_RATES[:3]]]
    waits = run_queue(timeline)
    for name, column, reason in (
        ("wake_ups_per_s", "waits", "wake-up"),
        ("woken_wait_ns", "ns", "wake-up"),
        ("runnable_wait_ns", "ns", "runnable"),
    ):
        found = waits[(waits["waited_after"] == reason).to_numpy()][["tid", "comm", column]]
        frame = frame.merge(found.rename(columns={column: name}), how="outer", on=["tid", "comm"])
    frame["wake_ups_per_s"] /= timeline.duration_ns / 1e9 or float("nan")
    frame[list(_RATES)] = frame[list(_RATES)].astype("float64").fillna(0.0)
    for name in ("woken_wait_ns", "runnable_wait_ns"):
        frame[name] = frame[name].astype("Int64").fillna(0)
    pair = dict(zip(endpoints(timeline), ("client", "server"), strict=False))
    frame.insert(0, "side", frame["tid"].map(pair).astype(object).fillna("other"))
    frame = frame.sort_values("switches_per_s", ascending=False, kind="stable", ignore_index=True)
    groups = frame.groupby("side")
    sides = groups[[*_RATES, "woken_wait_ns", "runnable_wait_ns"]].sum()
    sides.insert(0, "tasks", groups["tid"].nunique())
    order = [side for side in ("client", "server", "other") if side in sides.index]
    return SchedulerRates(sides.loc[order].reset_index(), frame)


@scheduler_rates.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    return {"sides": listed(answer.frame)}

# How often the scheduler switched client, server and all others, and woke them.

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from .context_switches import context_switches
from .endpoints import endpoints
from .run_queue import run_queue

_RATES = ("switches_per_s", "voluntary_per_s", "involuntary_per_s", "wake_ups_per_s")


@question(
    needs=("sched:sched_switch",),
    inputs=(*context_switches.grouped, *run_queue.grouped, OF_EXCERPT),
    columns=("side", "tasks", *_RATES),
)
def scheduler_rates(timeline: Timeline) -> Answer:
    """How often the scheduler switched, preempted and woke client, server and others.

    `sides`: a row for client, server and all other tasks; `rates`: the same for each task.
    Preemptions are the involuntary switches; wake-ups are those of sleepers that then ran. Where no
    two tasks are seen to talk, all are "other". Source: context_switches() and run_queue().
    """
    frame = context_switches(timeline).frame[["tid", "comm", *_RATES[:3]]]
    waits = run_queue(timeline).frame
    for name, column, reason in (
        ("wake_ups_per_s", "waits", "wake-up"),
        ("woken_wait_ns", "ns", "wake-up"),
        ("runnable_wait_ns", "ns", "runnable"),
    ):
        some = waits[(waits["waited_after"] == reason).to_numpy()][["tid", "comm", column]]
        frame = frame.merge(some.rename(columns={column: name}), how="outer", on=["tid", "comm"])
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
    return Answer(sides=sides.loc[order].reset_index(), rates=frame)

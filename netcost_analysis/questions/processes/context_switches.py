# How often each task left a CPU, and whether it wanted to.

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import TaskBy, check_by, victim_keys
from ...timeline.group import KNOWN, Groups, Range
from ...timeline.owners import plain_names
from ...timeline.timeline import Timeline
from ...timeline.traffic import OF_EXCERPT
from .endpoints import endpoints

# Below this bit all kernels show the same states; the bit for "preempted", above it, has moved four
# times.
_FIRST_MOVING_BIT = 0x100
# All but the idle task.
OF_TASKS: Range = (1, None)
_SWITCHED = Grouped(
    "slices",
    by=("cpu", "tid", "comm", "prev_state"),
    where=lambda timeline: {
        "tid": OF_TASKS,
        "prev_state": KNOWN,
        **in_window("out_ns")(timeline),
    },
)
# The ledger reads the bit for "preempted" from the recorded format: a task that left its CPU
# runnable waits from then on, and no wake-up began that wait.
LEFT = Grouped(
    "slices",
    by=("left_state", "is_woken"),
    where={"left_state": (_FIRST_MOVING_BIT, None), "wait_ns": KNOWN},
)


@question(needs=("sched:sched_switch",), inputs=(_SWITCHED, LEFT, OF_EXCERPT))
def context_switches(timeline: Timeline, by: TaskBy = "tid") -> Answer:
    """How often each task left a CPU, and whether it did so voluntarily.

    A row per task, or per CPU, most switches first. Voluntary is as /proc/PID/status and pidstat -w
    count it (kernel/sched/core.c, __schedule: nvcsw where the task was not runnable). undecided
    counts switches whose recorded state does not tell. The idle task is left out. `tasks`: the rows
    of client and server where two tasks talk, else of the two that switched most. Source: slices.
    """
    check_by(by, TaskBy)
    keys = victim_keys(by)
    rows = _SWITCHED(timeline).frame.rename(columns={"slices": "switches"})
    rows["comm"] = plain_names(rows["comm"])
    kind = kinds_of(rows["prev_state"].astype("int64"), LEFT(timeline))
    for name in ("voluntary", "involuntary", "undecided"):
        rows[name] = rows["switches"].where(kind == name, 0)
    names = ["switches", "voluntary", "involuntary", "undecided"]
    frame = rows.groupby(keys, dropna=False)[names].sum()
    seconds = timeline.duration_ns / 1e9 or float("nan")
    for name in names[:3]:
        frame[f"{name}_per_s"] = frame[name] / seconds
    frame = frame.reset_index()
    frame = frame.sort_values("switches", ascending=False, kind="stable", ignore_index=True)
    tids = list(endpoints(timeline))
    tasks = frame[:0]
    if by == "tid":
        talking = frame[frame["tid"].isin(tids).to_numpy(dtype=bool)]
        tasks = (talking if len(talking) else frame[:2]).drop_duplicates("tid")
    return Answer(frame, tasks=tasks, endpoints=tids)


def kinds_of(state: "pd.Series[int]", left: Groups) -> "pd.Series[str]":
    # Why a task left a CPU, by the state that was recorded. left: LEFT, which decides for the
    # states that it has.
    slept = left.frame["is_woken"].astype(bool)
    decided = {int(bits): "voluntary" for bits in left.frame["left_state"][slept]}
    decided |= {int(bits): "involuntary" for bits in left.frame["left_state"][~slept]}
    kind = state.map(decided).astype(object).fillna("undecided")
    kind = kind.mask(state < _FIRST_MOVING_BIT, "voluntary")
    return kind.mask(state == 0, "involuntary")

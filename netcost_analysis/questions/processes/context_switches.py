# How often each task left a CPU, and whether it wanted to.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...timeline.aggregates import Grouped, in_window
from ...timeline.by import TaskBy
from ...timeline.group import KNOWN, Groups, Range
from ...timeline.owners import plain_names
from ...timeline.timeline import Timeline
from .endpoints import endpoints
from .keys import task_keys

if TYPE_CHECKING:
    from ...answers.answer import Answer

# States that every kernel shows below this; above it the bit for "preempted" has moved
# four times.
_FIRST_MOVING_BIT = 0x100


# Not of the idle task.
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
# The ledger read the bit for "preempted" in the recorded format: whom it saw leave runnable waits
# from then on until its next stay, and no wake-up began that wait.
LEFT = Grouped(
    "slices",
    by=("left_state", "is_woken"),
    where={"left_state": (_FIRST_MOVING_BIT, None), "wait_ns": KNOWN},
)


@question(needs=("sched:sched_switch",), inputs=(_SWITCHED, LEFT))
def context_switches(timeline: Timeline, by: TaskBy = "tid") -> pd.DataFrame:
    """How often each task left a CPU, and whether it wanted to.

    - by: What tells rows apart; "tid" and name.

    A row per task, falling by switches. Counts (int64) in the window: switches (it was switched
    out), voluntary (it had nothing more to do: it slept, waited for something or ended),
    involuntary (it was still runnable: preempted, or its time was up), undecided (the recorded
    state does not say). switches_per_s, voluntary_per_s, involuntary_per_s: over the window.

    Source: slices. As /proc/PID/status and pidstat -w count them (kernel/sched/core.c, __schedule:
    nvcsw where the task was not runnable). The idle task is left out.
    """
    keys = task_keys(by)
    counted = _SWITCHED(timeline).frame.rename(columns={"slices": "switches"})
    counted["comm"] = plain_names(counted["comm"])
    counted["kind"] = kinds_of(counted["prev_state"].astype("int64"), LEFT(timeline))
    frame = counted.groupby(keys, dropna=False)["switches"].sum().to_frame()
    for kind in ("voluntary", "involuntary", "undecided"):
        of_kind = counted[counted["kind"] == kind].groupby(keys, dropna=False)["switches"].sum()
        frame[kind] = of_kind.reindex(frame.index, fill_value=0).astype("int64")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    for name in ("switches", "voluntary", "involuntary"):
        frame[f"{name}_per_s"] = frame[name] / seconds
    frame = frame.reset_index()
    return frame.sort_values("switches", ascending=False, kind="stable", ignore_index=True)


def kinds_of(state: "pd.Series[int]", left: Groups) -> "pd.Series[str]":
    # Why a task left a CPU, by the state that was recorded. left: LEFT, one of whose waits decides
    # for a state.
    slept = left.frame["is_woken"].astype(bool)
    decided = {int(one): "voluntary" for one in left.frame["left_state"][slept]}
    decided |= {int(one): "involuntary" for one in left.frame["left_state"][~slept]}
    kind = pd.Series("voluntary", index=state.index, dtype=object)
    kind[state == 0] = "involuntary"
    high = state >= _FIRST_MOVING_BIT
    kind[high] = state[high].map(decided).astype(object).fillna("undecided")
    return kind


@context_switches.totals
def _totals(answer: "Answer") -> dict[str, list[int]]:
    return {"endpoints": list(endpoints(answer.timeline))}


@context_switches.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    # tasks: of client and server where two tasks talk, else of those that switched most.
    rows = answer.frame
    if "tid" not in rows:
        return {"switches": len(rows), "tasks": []}
    tids = answer.parts["endpoints"]
    own = rows[rows["tid"].isin(tids).to_numpy(dtype=bool)]
    chosen = own if len(own) else rows[:2]
    return {"switches": len(rows), "tasks": chosen.drop_duplicates("tid").to_dict("records")}

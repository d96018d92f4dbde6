# How often each task left a CPU, and whether it wanted to.

from typing import TYPE_CHECKING, Any

import pandas as pd

from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.by import TaskBy
from ...timeline.timeline import Timeline
from ..inputs import in_window, rows
from ..question import question
from .endpoints import endpoints
from .keys import task_keys

if TYPE_CHECKING:
    from ..answer import Answer

# States that every kernel shows below this; above it the bit for "preempted" has moved
# four times.
_FIRST_MOVING_BIT = 0x100


@question(needs=("sched:sched_switch",), inputs=("slices",))
def context_switches(timeline: Timeline, by: TaskBy = "tid") -> pd.DataFrame:
    """How often each task left a CPU, and whether it wanted to.

    Parameters
    ----------
    timeline : Timeline
        What is asked.
    by : {"tid", "comm", "cpu"}
        What tells rows apart; "tid" and name.

    Returns
    -------
    DataFrame
        A row per task, falling by switches. Counts (int64) in the window: switches (it was switched
        out), voluntary (it had nothing more to do: it slept, waited for something or ended),
        involuntary (it was still runnable: preempted, or its time was up), undecided (the recorded
        state does not say). switches_per_s, voluntary_per_s, involuntary_per_s: over the window.

    Raises
    ------
    ArgumentError
        For another by.
    MissingEventsError
        Without sched_switch.

    Notes
    -----
    Source: slices. As /proc/PID/status and pidstat -w count them (kernel/sched/core.c, __schedule:
    nvcsw where the task was not runnable). The idle task is left out.
    """
    keys = task_keys(by)
    counted = switch_kinds(*rows(timeline, "slices"))
    counted = counted[in_window(counted["out_ns"], timeline)]
    frame = counted.groupby(keys, dropna=False).size().rename("switches").to_frame()
    for kind in ("voluntary", "involuntary", "undecided"):
        of_kind = counted[counted["kind"] == kind].groupby(keys, dropna=False).size()
        frame[kind] = of_kind.reindex(frame.index, fill_value=0).astype("int64")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    for name in ("switches", "voluntary", "involuntary"):
        frame[f"{name}_per_s"] = frame[name] / seconds
    frame = frame.reset_index()
    return frame.sort_values("switches", ascending=False, kind="stable", ignore_index=True)


def switch_kinds(slices: pd.DataFrame) -> pd.DataFrame:
    # Why each stay of a task ended.
    # slices: of a timeline. Returns the stays that a switch ended, of tasks: cpu, tid, comm, in_ns,
    # out_ns, kind ("voluntary", "involuntary" or "undecided"); index as slices.
    rows = of_tasks(slices)
    rows = rows[rows["prev_state"].notna().to_numpy()]
    state = rows["prev_state"].astype("int64")
    kind = pd.Series("voluntary", index=rows.index, dtype=object)
    kind[state == 0] = "involuntary"
    high = state >= _FIRST_MOVING_BIT
    if high.any():
        preempted = _preempted_states(slices, rows, state)
        kind[high] = state[high].map(preempted).astype(object).fillna("undecided")
    return pd.DataFrame(
        {
            "cpu": rows["cpu"].astype("int64"),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
            "in_ns": rows["in_ns"],
            "out_ns": rows["out_ns"],
            "kind": kind,
        }
    )


def _preempted_states(
    slices: pd.DataFrame, rows: pd.DataFrame, state: "pd.Series[int]"
) -> dict[int, str]:
    # The ledger read the bit in the recorded format: whom it saw leave runnable waits from then on
    # until its next stay, and no wake-up began that wait. One such pair decides for a state.
    order = slices.sort_values(["tid", "in_ns"], kind="stable")
    following = order.groupby("tid", observed=True)[["wake_ns", "wait_ns"]].shift(-1)
    following = following.loc[rows.index]
    known = following["wait_ns"].notna() & (state >= _FIRST_MOVING_BIT)
    woken = following["wake_ns"].notna()
    decided: dict[int, str] = {}
    for name, chosen in (("voluntary", known & woken), ("involuntary", known & ~woken)):
        decided |= dict.fromkeys(map(int, state[chosen.to_numpy()].unique()), name)
    return decided


@context_switches.totals
def _totals(answer: "Answer[pd.DataFrame]") -> dict[str, list[int]]:
    return {"endpoints": list(endpoints(answer.timeline))}


@context_switches.figures
def _figures(answer: "Answer[pd.DataFrame]") -> dict[str, Any]:
    # tasks: of client and server where two tasks talk, else of those that switched most.
    rows = answer.frame
    if "tid" not in rows:
        return {"switches": len(rows), "tasks": []}
    tids = answer.parts["endpoints"]
    own = rows[rows["tid"].isin(tids).to_numpy(dtype=bool)]
    chosen = own if len(own) else rows[:2]
    return {"switches": len(rows), "tasks": chosen.drop_duplicates("tid").to_dict("records")}

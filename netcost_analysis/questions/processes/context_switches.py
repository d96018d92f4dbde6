# How often each task left a CPU, and whether it wanted to.

from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.by import TaskBy
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import Window, added, window_of
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
    found = _switches(timeline, window=window_of(timeline))
    counted = found.counts.reset_index()
    counted["kind"] = kinds_of(counted["state"], decided_by(found.waits))
    frame = counted.groupby(keys, dropna=False)["switches"].sum().to_frame()
    for kind in ("voluntary", "involuntary", "undecided"):
        of_kind = counted[counted["kind"] == kind].groupby(keys, dropna=False)["switches"].sum()
        frame[kind] = of_kind.reindex(frame.index, fill_value=0).astype("int64")
    seconds = timeline.duration_ns / 1e9 or float("nan")
    for name in ("switches", "voluntary", "involuntary"):
        frame[f"{name}_per_s"] = frame[name] / seconds
    frame = frame.reset_index()
    return frame.sort_values("switches", ascending=False, kind="stable", ignore_index=True)


class _Switches(NamedTuple):
    # counts: switches (in the window) by cpu, tid, comm and prev_state. waits: of states whose bits
    # have moved those seen, each with whether a wake-up began the wait that followed. last: the
    # last stay of each task.
    counts: pd.DataFrame
    waits: frozenset[tuple[int, bool]]
    last: pd.DataFrame


@fold("slices")
def _switches(before: _Switches | None, slices: pd.DataFrame, window: Window) -> _Switches:
    rows = of_tasks(slices)
    ended = rows[rows["prev_state"].notna() & window.has(rows["out_ns"])]
    part = _named(ended).assign(state=ended["prev_state"].astype("int64"))
    keys = list(part)
    counts = part.groupby(keys, dropna=False).size().rename("switches").to_frame()
    stays = rows[["tid", "in_ns", "wake_ns", "wait_ns", "prev_state"]]
    if before is not None:
        counts, stays = added(before.counts, counts), pd.concat([before.last, stays])
    stays = stays.sort_values(["tid", "in_ns"], kind="stable")
    known = frozenset() if before is None else before.waits
    last = stays.drop_duplicates("tid", keep="last")
    return _Switches(counts, known | waits_after(stays), last)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cpu": rows["cpu"].astype("int64"),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
        }
    )


def switch_kinds(slices: pd.DataFrame) -> pd.DataFrame:
    # Why each stay of a task ended.
    # slices: of a timeline. Returns the stays that a switch ended, of tasks: cpu, tid, comm, in_ns,
    # out_ns, kind ("voluntary", "involuntary" or "undecided"); index as slices.
    rows = of_tasks(slices)
    decided = decided_by(waits_after(rows.sort_values(["tid", "in_ns"], kind="stable")))
    rows = rows[rows["prev_state"].notna().to_numpy()]
    kind = kinds_of(rows["prev_state"].astype("int64"), decided)
    return _named(rows).assign(in_ns=rows["in_ns"], out_ns=rows["out_ns"], kind=kind)


def kinds_of(state: "pd.Series[int]", decided: dict[int, str]) -> "pd.Series[str]":
    kind = pd.Series("voluntary", index=state.index, dtype=object)
    kind[state == 0] = "involuntary"
    high = state >= _FIRST_MOVING_BIT
    kind[high] = state[high].map(decided).astype(object).fillna("undecided")
    return kind


def waits_after(stays: pd.DataFrame) -> frozenset[tuple[int, bool]]:
    # Of each stay that ended in a state whose bits have moved, and of a known wait after it: that
    # state, and whether a wake-up began the wait. stays: of each task in order.
    following = stays.groupby("tid", observed=True)[["wake_ns", "wait_ns"]].shift(-1)
    known = following["wait_ns"].notna() & (stays["prev_state"] >= _FIRST_MOVING_BIT).fillna(False)
    state = stays["prev_state"][known.to_numpy(dtype=bool)].astype("int64")
    woken = following["wake_ns"][known.to_numpy(dtype=bool)].notna()
    return frozenset(zip(state.tolist(), woken.tolist(), strict=True))


def decided_by(waits: frozenset[tuple[int, bool]]) -> dict[int, str]:
    # The ledger read the bit in the recorded format: whom it saw leave runnable waits from then on
    # until its next stay, and no wake-up began that wait. One such pair decides for a state.
    slept = {state: "voluntary" for state, woken in waits if woken}
    return slept | {state: "involuntary" for state, woken in waits if not woken}


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

# What the scheduler did to each task of a timeline, block by block of its time.

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from ...capture.requires import unrecorded
from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ..folds import fold
from ..inputs import Window, added, window_of
from ..migration.migrations import incomparable, migrations
from ..processes.context_switches import decided_by, kinds_of, waits_after
from ..processes.run_queue import waits_of

_KEYS = ["block", "tid", "comm", "what"]
Blocks = Callable[["pd.Series[int]"], "pd.Series[int]"]


def scheduled(timeline: Timeline, block_of: Blocks) -> pd.DataFrame | None:
    # count and ns by block, tid, comm and what: "voluntary", "involuntary", "undecided" (switches
    # out, as context_switches() has them), "wake-up", "runnable" (waits for a CPU, as run_queue()
    # has them), "asleep" (stretches between a task's stays in which it did not wait), "migration"
    # (ns until the task ran). None where nobody knows when tasks waited and slept.
    if unrecorded(timeline.capture, "sched:sched_switch") or timeline.missing["clocks"]:
        return None
    window = window_of(timeline)
    found = _stays(timeline, window=window, block_of=block_of)
    switches = found.switches.reset_index()
    switches["what"] = kinds_of(switches["state"], decided_by(found.waits))
    parts = [switches.drop(columns="state"), found.sums.reset_index()]
    if not unrecorded(timeline.capture, "sched:sched_migrate_task"):
        moved = migrations(timeline)
        if incomparable(timeline, moved):
            return None
        rows = moved.assign(ns=moved["until_run_ns"], what="migration")
        parts.append(_summed(rows, moved["time_ns"], window, block_of).reset_index())
    every = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return every.groupby(_KEYS, dropna=False)[["count", "ns"]].sum().reset_index()


class _Stays(NamedTuple):
    # By block, tid and comm count and ns. switches: by state too, in which a task was left; waits:
    # as waits_after(). sums: by what too. last: the last stay of each task.
    switches: pd.DataFrame
    waits: frozenset[tuple[int, bool]]
    sums: pd.DataFrame
    last: pd.DataFrame


@fold("slices")
def _stays(before: _Stays | None, slices: pd.DataFrame, window: Window, block_of: Blocks) -> _Stays:
    stays = of_tasks(slices)[["tid", "comm", "in_ns", "out_ns", "wake_ns", "wait_ns", "prev_state"]]
    stays = stays.assign(comm=plain_names(stays["comm"]), is_new=True)
    if before is not None:
        stays = pd.concat([before.last.assign(is_new=False), stays])
    stays = stays.sort_values(["tid", "in_ns"], kind="stable", ignore_index=True)
    waits = waits_after(stays) | (frozenset() if before is None else before.waits)
    asleep = _asleep(stays, window)
    new = stays[stays["is_new"]]
    left = new[new["prev_state"].notna()]
    left = left.assign(state=left["prev_state"].astype("int64"), ns=0)
    switches = _summed(left, left["out_ns"], window, block_of, "state")
    parts = [_waits(slices, window), asleep]
    sums = added(*(_summed(part, part["in_ns"], window, block_of) for part in parts))
    if before is not None:
        switches, sums = added(before.switches, switches), added(before.sums, sums)
    last = stays.drop(columns="is_new").drop_duplicates("tid", keep="last")
    return _Stays(switches, waits, sums, last)


def _summed(
    rows: pd.DataFrame, at: "pd.Series[int]", window: Window, block_of: Blocks, by: str = "what"
) -> pd.DataFrame:
    # Rows with tid, comm, ns and `by`, of those times in the window.
    inside = window.has(at).fillna(False).to_numpy(dtype=bool)
    rows, at = rows[inside], at[inside]
    table = pd.DataFrame(
        {
            "block": block_of(at),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
            by: rows[by],
            "count": 1,
            "ns": rows["ns"].astype("Int64").fillna(0).astype("int64"),
        }
    )
    return table.groupby(["block", "tid", "comm", by], dropna=False).sum()


def _waits(slices: pd.DataFrame, window: Window) -> pd.DataFrame:
    waits = waits_of(slices)
    waits = waits[waits["wait_ns"].notna().to_numpy()]
    within = (waits["in_ns"] - window.start_ns).clip(lower=0)
    ns = waits["wait_ns"].clip(upper=within)
    found: pd.DataFrame = waits.assign(what=waits["waited_after"], ns=ns)
    return found


def _asleep(stays: pd.DataFrame, window: Window) -> pd.DataFrame:
    # What client_and_server() calls asleep_between_ns, gap by gap. stays: of each task in order.
    end = (stays["in_ns"] - stays["wait_ns"].fillna(0)).astype("Int64")
    begin = stays.groupby("tid")["out_ns"].shift(1).astype("Int64")
    within = (window.start_ns, window.end_ns)
    ns = end.clip(*within) - begin.clip(*within)
    here = (ns > 0).fillna(False).to_numpy(dtype=bool) & stays["is_new"].to_numpy(dtype=bool)
    found: pd.DataFrame = stays.assign(what="asleep", ns=ns)[here]
    return found

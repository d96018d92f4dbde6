# What the scheduler did to each task of a timeline, block by block of its time.

from collections.abc import Callable

import pandas as pd

from ...capture.requires import unrecorded
from ...timeline.aggregate import of_tasks, plain_names
from ...timeline.timeline import Timeline
from ..inputs import in_window, rows
from ..migration.migrations import incomparable, migrations
from ..processes.context_switches import switch_kinds
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
    (slices,) = rows(timeline, "slices")
    parts = [_switches(slices), _waits(slices, timeline), _asleep(slices, timeline)]
    if not unrecorded(timeline.capture, "sched:sched_migrate_task"):
        moved = migrations(timeline)
        if incomparable(timeline, moved):
            return None
        parts.append(
            pd.DataFrame(
                {
                    "at": moved["time_ns"],
                    "tid": moved["tid"].astype("Int64"),
                    "comm": plain_names(moved["comm"]),
                    "what": "migration",
                    "ns": moved["until_run_ns"],
                }
            )
        )
    every = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    every = every[in_window(every["at"], timeline)]
    every = every.assign(
        block=block_of(every["at"]), count=1, ns=every["ns"].astype("Int64").fillna(0).astype(int)
    )
    return every.groupby(_KEYS, dropna=False)[["count", "ns"]].sum().reset_index()


def _switches(slices: pd.DataFrame) -> pd.DataFrame:
    kinds = switch_kinds(slices)
    kept = kinds[["tid", "comm"]].assign(at=kinds["out_ns"], what=kinds["kind"], ns=0)
    found: pd.DataFrame = kept
    return found


def _waits(slices: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    waits = waits_of(slices)
    waits = waits[waits["wait_ns"].notna().to_numpy()]
    within = (waits["in_ns"] - int(timeline.summary["start_ns"])).clip(lower=0)
    ns = waits["wait_ns"].clip(upper=within)
    found: pd.DataFrame = waits[["tid", "comm"]].assign(
        at=waits["in_ns"], what=waits["waited_after"], ns=ns
    )
    return found


def _asleep(slices: pd.DataFrame, timeline: Timeline) -> pd.DataFrame:
    # What client_and_server() calls asleep_between_ns, gap by gap.
    stays = of_tasks(slices).sort_values(["tid", "in_ns"], kind="stable")
    end = (stays["in_ns"] - stays["wait_ns"].fillna(0)).astype("Int64")
    begin = stays.groupby("tid", observed=True)["out_ns"].shift(1).astype("Int64")
    start_ns, end_ns = (int(timeline.summary[name]) for name in ("start_ns", "end_ns"))
    ns = end.clip(start_ns, end_ns) - begin.clip(start_ns, end_ns)
    found = pd.DataFrame(
        {
            "at": stays["in_ns"],
            "tid": stays["tid"].astype("Int64"),
            "comm": plain_names(stays["comm"]),
            "what": "asleep",
            "ns": ns,
        }
    )
    return found[(ns > 0).fillna(False).to_numpy(dtype=bool)]

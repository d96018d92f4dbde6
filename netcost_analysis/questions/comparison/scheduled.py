# What the scheduler did to each task of a timeline, block by block of its time.

from typing import NamedTuple

import pandas as pd

from ...capture.requires import unrecorded
from ...timeline.aggregates import groups
from ...timeline.group import KNOWN, Grouping, Range
from ...timeline.owners import plain_names
from ...timeline.reading import window_of
from ...timeline.timeline import Timeline
from ..migration.migrations import incomparable, migrations
from ..processes.context_switches import LEFT, OF_TASKS, kinds_of

_KEYS = ["block", "tid", "comm", "what"]


class Blocks(NamedTuple):
    # Of one file of a run: they lie on multiples of their width, wherever the window begins.
    # width_ns: of each; first: the number of the first; number: how many.
    width_ns: int
    first: int
    number: int

    def of(self, times: "pd.Series[int]") -> "pd.Series[int]":
        return self.placed(times.dropna().astype("int64") // self.width_ns)

    def placed(self, blocks: "pd.Series[int]") -> "pd.Series[int]":
        # What happens at the window's end is the last block's. blocks: by time 0.
        return (blocks - self.first).clip(0, self.number - 1).astype("int64")


def scheduled(timeline: Timeline, blocks: Blocks) -> pd.DataFrame | None:
    # count and ns by block, tid, comm and what: "voluntary", "involuntary", "undecided" (switches
    # out, as context_switches() has them), "wake-up", "runnable" (waits for a CPU, as run_queue()
    # has them), "asleep" (stretches between a task's stays in which it did not wait), "migration"
    # (ns until the task ran). None where nobody knows when tasks waited and slept.
    if unrecorded(timeline.capture, "sched:sched_switch") or timeline.missing["clocks"]:
        return None
    window = window_of(timeline)

    def of(at: str, by: str | None, known: str, ns: str | None) -> Grouping:
        where: dict[str, Range] = {"tid": OF_TASKS, known: KNOWN, at: window.range}
        keys = ("tid", "comm", *([by] if by else []))
        block, sums = (at, blocks.width_ns), (ns,) if ns else ()
        return Grouping("slices", keys, block, sums=sums, where=tuple(where.items()))

    switches, waits, asleep, left = groups(
        timeline,
        of("out_ns", "prev_state", "prev_state", None),
        of("in_ns", "is_woken", "wait_ns", "waited_ns"),
        of("in_ns", None, "asleep_ns", "asleep_ns"),
        LEFT.of(timeline),
    )
    states = switches.frame["prev_state"].astype("int64")
    woken = waits.frame["is_woken"].map({True: "wake-up", False: "runnable"})
    parts = [
        _counted(switches.frame, blocks, kinds_of(states, left), 0),
        _counted(waits.frame, blocks, woken, waits.frame["waited_ns"]),
        _counted(asleep.frame, blocks, "asleep", asleep.frame["asleep_ns"]),
    ]
    if not unrecorded(timeline.capture, "sched:sched_migrate_task"):
        moved = migrations(timeline).frame
        if incomparable(timeline, moved):
            return None
        moved = moved[window.has(moved["time_ns"]).fillna(False).to_numpy(dtype=bool)]
        moved = moved.assign(slices=1, block=moved["time_ns"].astype("int64") // blocks.width_ns)
        until_run_ns = moved["until_run_ns"].astype("Int64").fillna(0).astype("int64")
        parts.append(_counted(moved, blocks, "migration", until_run_ns))
    every = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return every.groupby(_KEYS, dropna=False)[["count", "ns"]].sum().reset_index()


def _counted(
    rows: pd.DataFrame, blocks: Blocks, what: "pd.Series[str] | str", ns: "pd.Series[int] | int"
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "block": blocks.placed(rows["block"]),
            "tid": rows["tid"].astype("Int64"),
            "comm": plain_names(rows["comm"]),
            "what": what,
            "count": rows["slices"],
            "ns": ns,
        }
    )

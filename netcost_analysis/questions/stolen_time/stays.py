# The stays of all tasks on the CPUs, as small as can be, and the stretches that nobody is known to
# have had: what lives are cut from.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...spans import Spans
from ...timeline.aggregate import plain_names
from ..inputs import rows, windows
from .waiting import runnable

if TYPE_CHECKING:
    from ...timeline.timeline import Timeline

# EXIT_DEAD and EXIT_ZOMBIE, in either order: a task that leaves its CPU so never comes back.
_DEAD = 0x30
# Which field of an event says to which CPU a task comes.
_WHERE_TO = {
    "sched:sched_migrate_task": "dest_cpu",
    "sched:sched_wakeup": "target_cpu",
    "sched:sched_waking": "target_cpu",
}
# In Spans: of any CPU.
ANY_CPU = -1


def everywhere(timeline: "Timeline") -> "Timeline":
    """The timeline with all recorded CPUs: a life is not of one CPU."""
    if timeline.cpus is None:
        return timeline
    return timeline.capture.timeline(timeline.start_s, timeline.end_s)


def stays_of(timeline: "Timeline") -> pd.DataFrame:
    """Every stay on a CPU, the idle tasks' too, in order of task and of when it ended.

    Columns: cpu, tid, in_ns, out_ns (int64, whole, also beyond the window), comm (object), wait_ns
    (int64, -1 where it is not known), dead, runnable, asleep (bool: how it left; none of them where
    that was not recorded).
    """
    parts = [_plain(*rows(window, "slices")) for window in windows(timeline)]
    stays = pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]
    # One that lies across the edge of two windows is in both.
    stays = stays.drop_duplicates(["cpu", "tid", "in_ns"], keep="last")
    # A switch that was not recorded can let a stay begin early, before others of its task are over.
    stays = stays.sort_values(["tid", "out_ns", "in_ns"], kind="stable", ignore_index=True)
    # Who then came to a CPU that was not recorded may have run there: how it left says no more.
    away = _last_away(timeline)
    gone = stays["tid"].map(away).fillna(-1) >= stays["out_ns"]
    gone &= ~stays["tid"].duplicated(keep="last")
    stays.loc[gone, ["runnable", "asleep"]] = False
    return stays


def _last_away(timeline: "Timeline") -> dict[int, int]:
    # When each task was last woken on a CPU that was not recorded, or moved there, as far as seen.
    capture, found = timeline.capture, dict[int, int]()
    if capture.info.get("nr_cpus") == len(capture.info["cpus"]):
        return found
    for event, field in _WHERE_TO.items():
        if capture.info["events"].get(event):
            frame = capture.events(event)
            if {"pid", "time_ns", field} <= set(frame):
                frame = frame[(frame["time_ns"] <= int(timeline.summary["end_ns"])).fillna(False)]
                frame = frame[~frame[field].isin(capture.info["cpus"]).to_numpy()]
                for tid, at in frame.groupby("pid")["time_ns"].max().items():
                    found[int(str(tid))] = max(int(at), found.get(int(str(tid)), -1))
    return found


def _plain(slices: pd.DataFrame) -> pd.DataFrame:
    stays = slices[slices["tid"].notna().to_numpy()]
    state = stays["prev_state"]
    wanted = runnable(state)
    return pd.DataFrame(
        {
            "cpu": stays["cpu"].to_numpy("int64"),
            "tid": stays["tid"].to_numpy("int64"),
            "comm": plain_names(stays["comm"]),
            "in_ns": stays["in_ns"].to_numpy("int64"),
            "out_ns": stays["out_ns"].to_numpy("int64"),
            "wait_ns": stays["wait_ns"].fillna(-1).to_numpy("int64"),
            "runnable": wanted.to_numpy(),
            "dead": ((state & _DEAD) != 0).fillna(False).to_numpy(dtype=bool),
            "asleep": (state.notna() & ~wanted).to_numpy(dtype=bool),
        }
    )


def ownerless(stays: pd.DataFrame, cpus: list[int], window: tuple[int, int]) -> Spans:
    """When nobody is known to have had a CPU: group by CPU; and of any CPU, joined, as ANY_CPU."""
    found = []
    for cpu in cpus:
        on = stays[stays["cpu"] == cpu].sort_values("in_ns", kind="stable")
        ends = np.maximum.accumulate(np.append(window[0], on["out_ns"].to_numpy()))
        begins = np.append(on["in_ns"].to_numpy(), window[1])
        begins, ends = begins.clip(*window), ends.clip(*window)
        hole = begins > ends
        found.append((np.full(hole.sum(), cpu), ends[hole], begins[hole]))
    groups, starts, ends = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(starts, kind="stable")
    first, until = starts[order], np.maximum.accumulate(ends[order])
    new = np.append(True, first[1:] > until[:-1])[: len(first)]
    last = np.append(new[1:], True)[: len(first)]
    return Spans(
        np.concatenate([groups, np.full(new.sum(), ANY_CPU)]).astype("int64"),
        np.concatenate([starts, first[new]]).astype("int64"),
        np.concatenate([ends, until[last]]).astype("int64"),
    )

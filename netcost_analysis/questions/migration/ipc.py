# Instructions and cycles by task and time, where a recording sampled them.

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from .lives import Counts, Lives

if TYPE_CHECKING:
    from ...capture.capture import Capture

_NAMES = ("instructions", "cycles")


def instructions_and_cycles(capture: "Capture") -> tuple[Counts | None, Counts | None]:
    """Instructions and cycles of every task over time; None where they were not sampled.

    From samples of both events, each of which stands for `period` occurrences in the task that it
    hit; or from a group's samples (`{cycles,instructions}:S`), which hold the counts of all its
    events on that CPU, so what grew since the CPU's sample before is this sample's task's.
    Modifiers (`cycles:u`) do not matter, as long as both have the same.
    """
    events = {event["name"]: event for event in capture.header.get("events") or ()}
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in _NAMES}
    for name, event in events.items():
        bare = bare_name(name)
        if bare not in parts or event.get("tracepoint") or not capture.info["events"].get(name):
            continue
        frame = capture.samples(name)
        columns = [str(column) for column in frame]
        read = {bare_name(column[5:]): column for column in columns if column.startswith("read:")}
        if set(_NAMES) <= set(read):
            for counter in _NAMES:
                parts[counter].append(_grown(frame, read[counter]))
        elif "period" in frame:
            parts[bare].append(_weighed(frame))
    counts = (pd.concat(parts[name]) if parts[name] else pd.DataFrame() for name in _NAMES)
    instructions, cycles = (_counts(frame) if len(frame) else None for frame in counts)
    return instructions, cycles


def with_counters(lives: Lives, capture: "Capture") -> Lives:
    # Lives with what was sampled of the tasks' instructions and cycles.
    instructions, cycles = instructions_and_cycles(capture)
    if instructions is None or cycles is None:
        return lives
    return replace(lives, instructions=instructions, cycles=cycles)


def bare_name(event: str) -> str:
    """An event's name without modifiers and PMU: "cpu/cycles/u", "cycles:ppp" are "cycles"."""
    name = event.split("/")[1] if event.count("/") >= 2 else event.split(":")[0]
    return {"cpu-cycles": "cycles"}.get(name.strip("{}"), name.strip("{}"))


def _weighed(frame: pd.DataFrame) -> pd.DataFrame:
    rows = frame[["time_ns", "tid", "period"]].dropna()
    return rows.rename(columns={"period": "count"}).astype("int64")


def _grown(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    rows = frame[["time_ns", "tid", "cpu", column]].dropna()
    rows = rows.sort_values("time_ns", kind="stable")
    grown = rows.groupby("cpu", observed=True)[column].diff()
    known = (grown.notna() & (grown >= 0)).to_numpy(dtype=bool)
    rows = rows[known].assign(count=grown[known])
    return rows[["time_ns", "tid", "count"]].astype("int64")


def _counts(frame: pd.DataFrame) -> Counts:
    columns = (frame[name].to_numpy(dtype=np.int64) for name in ("tid", "time_ns", "count"))
    return Counts(*columns)

# Instructions and cycles by task and time, where a recording sampled them.

from typing import TYPE_CHECKING

import pandas as pd

from ...spans import columns
from .lifetimes import Amounts, RunningTotal

if TYPE_CHECKING:
    from ...capture.capture import Capture

_NAMES = ("instructions", "cycles")
_COLUMNS = ["tid", "time_ns", "count"]


def instructions_and_cycles(capture: "Capture") -> Amounts:
    """Instructions and cycles of every task over time; nothing where one was not sampled.

    From samples of both events, each of which stands for `period` occurrences in the task that it
    hit; or from a group's samples (`{cycles,instructions}:S`), which hold the counts of all its
    events on that CPU, so what grew since the CPU's sample before is this sample's task's.
    Modifiers (`cycles:u`) do not matter, as long as both have the same.
    """
    events = {event["name"]: event for event in capture.header.get("events") or ()}
    counts: dict[str, list[pd.DataFrame]] = {name: [] for name in _NAMES}
    for name, event in events.items():
        bare = _bare_name(name)
        if bare not in counts or event.get("tracepoint") or not capture.info["events"].get(name):
            continue
        samples = capture.samples(name)
        columns_read = [str(column) for column in samples if str(column).startswith("read:")]
        read = {_bare_name(column.removeprefix("read:")): column for column in columns_read}
        if set(_NAMES) <= set(read):
            for counter in _NAMES:
                counts[counter].append(_grown(samples.assign(count=samples[read[counter]])))
        elif "period" in samples:
            counts[bare].append(samples.assign(count=samples["period"])[_COLUMNS].dropna())
    rows = {name: pd.concat(frames) for name, frames in counts.items() if frames}
    rows = {name: frame for name, frame in rows.items() if len(frame)}
    return {name: _running_total(rows[name]) for name in rows} if len(rows) == 2 else {}


def _bare_name(event: str) -> str:
    # Without modifiers and PMU: of "cpu/cycles/u" and "cycles:ppp" "cycles".
    name = event.split("/")[1] if event.count("/") >= 2 else event.split(":")[0]
    return {"cpu-cycles": "cycles"}.get(name.strip("{}"), name.strip("{}"))


def _grown(samples: pd.DataFrame) -> pd.DataFrame:
    rows = samples.dropna(subset=["time_ns", "tid", "cpu", "count"])
    rows = rows.sort_values("time_ns", kind="stable")
    grown = rows.groupby("cpu", observed=True)["count"].diff()
    known = (grown.notna() & (grown >= 0)).to_numpy(dtype=bool)
    return rows[known].assign(count=grown[known])[_COLUMNS]


def _running_total(rows: pd.DataFrame) -> RunningTotal:
    rows = rows.astype("int64").sort_values(["tid", "time_ns"], kind="stable")
    tids, times = columns(rows, "tid", "time_ns")
    # The end of a stretch is not in it.
    return RunningTotal(tids, times + 1, rows["count"].cumsum().to_numpy("float64"))

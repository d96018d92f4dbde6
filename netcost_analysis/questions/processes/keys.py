# What the rows of the tables are told apart by, as plain columns.

import pandas as pd

from ...timeline.by import TaskBy, check_by
from ...timeline.timeline import Timeline


def task_keys(by: str) -> list[str]:
    check_by(by, TaskBy)
    return {"tid": ["tid", "comm"], "comm": ["comm"], "cpu": ["cpu"]}[by]


def in_window(times: "pd.Series[int]", timeline: Timeline) -> "pd.Series[bool]":
    # What happens at the end of a window is the next one's, where the recording goes on: windows
    # that meet add up.
    start, end = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    last = timeline.capture.info["end_ns"]
    goes_on = timeline.end_s is not None and last is not None and end < last
    return times.between(start, end, inclusive="left" if goes_on else "both")

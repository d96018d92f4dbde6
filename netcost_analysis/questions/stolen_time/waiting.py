# Who waited, runnable, while scheduled network work held the CPU: the pairs behind displaced. Pure
# functions of frames.

import numpy as np
import pandas as pd

from ...spans import Ints, Spans, columns

# Bits of prev_state above these say that the task was preempted (TASK_REPORT_MAX); it was 0x80 to
# 0x1000 in kernels until 4.14 and is 0x100 since.
_ASLEEP = 0xFF


def runnable(prev_state: "pd.Series[int]") -> "pd.Series[bool]":
    # Whether a task that left its CPU still wanted it; False where that was not recorded.
    state = prev_state.astype("Int64")
    return ((state & _ASLEEP) == 0).fillna(False).astype(bool)


def held_in(held: Spans, stretches: pd.DataFrame) -> Ints:
    # How much of each stretch (cpu, start_ns, end_ns) its CPU was held by work, ns. held: by CPU.
    return held.within(*columns(stretches, "cpu", "start_ns", "end_ns"))


def displaced_in(stays: pd.DataFrame, waits: pd.DataFrame, held: Spans) -> pd.DataFrame:
    # Each wait against each stay that it overlaps.
    # stays: cpu, in_ns, out_ns, and handover (a number), of a CPU in order and disjoint.
    # Returns handover, tid, comm, ns: how much of the stay's held time lies in the wait, above 0.
    parts = []
    for cpu, some in waits.groupby("cpu"):
        on = stays[stays["cpu"] == cpu].sort_values("in_ns", kind="stable")
        first = np.searchsorted(on["out_ns"].to_numpy(), some["start_ns"].to_numpy(), side="right")
        after = np.searchsorted(on["in_ns"].to_numpy(), some["end_ns"].to_numpy(), side="left")
        many = np.maximum(after - first, 0)
        of_wait = np.repeat(np.arange(len(some)), many)
        offset = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        place = np.repeat(first, many) + offset
        waited, stay = some.iloc[of_wait], on.iloc[place]
        start = np.maximum(waited["start_ns"].to_numpy(), stay["in_ns"].to_numpy())
        end = np.minimum(waited["end_ns"].to_numpy(), stay["out_ns"].to_numpy())
        pair = pd.DataFrame(
            {
                "handover": stay["handover"].to_numpy(),
                "tid": waited["tid"].to_numpy(),
                "comm": waited["comm"].to_numpy(),
                "cpu": cpu,
                "start_ns": start,
                "end_ns": end,
            }
        )
        pair["ns"] = held_in(held, pair)
        parts.append(pair[pair["ns"] > 0][["handover", "tid", "comm", "ns"]])
    columns = ["handover", "tid", "comm", "ns"]
    every = pd.concat([pd.DataFrame(columns=columns, dtype="int64"), *parts])
    found = every.groupby(columns[:3], dropna=False)["ns"].sum().reset_index()
    return found.astype({"handover": "int64", "tid": "int64", "comm": object, "ns": "int64"})

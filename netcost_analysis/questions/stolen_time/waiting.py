# Who waited, runnable, while scheduled network work held the CPU: the pairs behind displaced. Pure
# functions of frames.

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ...spans import Ints, Spans, columns, spans_of
from ...stats.grouped import is_any

# Bits of prev_state above these say that the task was preempted (TASK_REPORT_MAX); it was 0x80 to
# 0x1000 in kernels until 4.14 and is 0x100 since.
_ASLEEP = 0xFF


def runnable(prev_state: "pd.Series[int]") -> "pd.Series[bool]":
    # Whether a task that left its CPU still wanted it; False where that was not recorded.
    state = prev_state.astype("Int64")
    return ((state & _ASLEEP) == 0).fillna(False).astype(bool)


def held_of(segments: pd.DataFrame, cpus: Sequence[int]) -> pd.DataFrame:
    # Stretches in which scheduled network work had one of the CPUs: cpu, start_ns, end_ns (int64).
    work = is_any(segments["cost_class"], ("scheduled",))
    work &= is_any(segments["context"], ("task", "softirq", "poll"))
    work &= is_any(segments["is_network"], ("yes",))
    rows = segments.loc[work, ["cpu", "start_ns", "end_ns"]].astype("int64")
    rows = rows[rows["cpu"].isin(cpus)]
    # Of those that meet one is made.
    apart = (rows["cpu"] != rows["cpu"].shift()) | (rows["start_ns"] != rows["end_ns"].shift())
    ends = rows["end_ns"].to_numpy()[apart.shift(-1, fill_value=True).to_numpy(dtype=bool)]
    return rows[apart].assign(end_ns=ends)


def waits_of(slices: pd.DataFrame) -> pd.DataFrame:
    # A row per wait that ended: cpu (where it then ran), tid, comm, start_ns, end_ns.
    waited = slices[slices["wait_ns"].notna() & slices["tid"].notna() & (slices["tid"] != 0)]
    waited = waited[waited["wait_ns"] > 0]
    end = waited["in_ns"].astype("int64")
    return pd.DataFrame(
        {
            "cpu": waited["cpu"].astype("int64"),
            "tid": waited["tid"].astype("int64"),
            "comm": waited["comm"].astype(object),
            "start_ns": end - waited["wait_ns"].astype("int64"),
            "end_ns": end,
        }
    )


def moved(waits: pd.DataFrame, migrations: pd.DataFrame) -> pd.DataFrame:
    # The waits, cut where the task was moved: each part on the CPU that it waited for.
    moves = migrations[migrations["tid"].isin(waits["tid"])]
    moves = moves[["tid", "time_ns", "orig_cpu"]].astype("int64")
    numbered = waits.rename_axis("wait").reset_index()
    numbered = numbered.sort_values(["tid", "start_ns"], kind="stable", ignore_index=True)
    # A task waits for one CPU at a time.
    wait = spans_of(numbered).last_begun(*columns(moves, "tid", "time_ns"))
    inside = numbered.iloc[wait].reset_index(drop=True)
    for name in ("time_ns", "orig_cpu"):
        inside[name] = moves[name].to_numpy()
    inside = inside[
        (wait >= 0)
        & (inside["time_ns"] > inside["start_ns"])
        & (inside["time_ns"] < inside["end_ns"])
    ]
    if not len(inside):
        return waits
    inside = inside.sort_values(["wait", "time_ns"], kind="stable")
    before = inside.groupby("wait")["time_ns"].shift().fillna(inside["start_ns"]).astype("int64")
    parts = inside.assign(cpu=inside["orig_cpu"], start_ns=before, end_ns=inside["time_ns"])
    last = inside.groupby("wait")["time_ns"].max()
    rest = waits.copy()
    rest.loc[last.index, "start_ns"] = last
    return pd.concat([rest, parts[list(waits)]], ignore_index=True)


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

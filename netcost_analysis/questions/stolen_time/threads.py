# Slices of ksoftirqd and of NAPI threads, joined into stretches of work: what they were woken for,
# and who was runnable meanwhile.

from typing import Any

import numpy as np
import pandas as pd

from ...frames import to_frame
from ...spans import Ints, Spans, columns
from ...timeline.aggregates import Aggregate
from ...timeline.lives import StaysOf, everywhere
from ...timeline.reading import once
from ...timeline.timeline import Timeline
from ..batches.kernel_limits import KernelLimits
from ..batches.paired import stopped_by

# ktimers (timers on PREEMPT_RT) and vhost are scheduled too, but network softirqs are not handed
# over to them; irq threads run their work from the start.
THREADS = ("ksoftirqd/", "napi/", "backlog_napi/")
# From the last softirq's exit, or the raise, to the wake-up: 3 us in the samples, 15 emulated.
WAKE_NS = 50_000
# Higher bits of prev_state say that the task was preempted (TASK_REPORT_MAX, 0x100 since 4.14 and
# 0x80 to 0x1000 before).
_ASLEEP = 0xFF
STAYS = Aggregate(lambda timeline: StaysOf(names_begin=THREADS), on=everywhere)


@once
def stays_of(timeline: Timeline) -> pd.DataFrame:
    """The slices of these threads on the timeline's CPUs, by tid and time."""
    rows = to_frame(STAYS(timeline)["stays"])
    rows = rows[rows["cpu"].isin(timeline.summary["cpus"])].astype({"comm": object, "tid": "int64"})
    return rows.sort_values(["tid", "in_ns"], kind="stable", ignore_index=True)


def handovers_of(
    rows: pd.DataFrame, held: Spans, limits: KernelLimits
) -> tuple[pd.DataFrame, pd.DataFrame]:
    # The slices of stretches with network work, numbered by stretch (handover), and these
    # stretches. rows: of stays_of(), with native's columns.
    stays = rows.copy()
    spans = stays.rename(columns={"in_ns": "start_ns", "out_ns": "end_ns"})
    stays["network_ns"] = held_in(held, spans)
    same = (stays["tid"] == stays["tid"].shift()) & (stays["cpu"] == stays["cpu"].shift())
    goes_on = same & runnable(stays["prev_state"]).shift(fill_value=False)
    stays["stretch"] = (~goes_on).cumsum()
    worked = stays.groupby("stretch")["network_ns"].transform("sum") > 0
    stays = stays[worked].copy()
    # In the order in which they begin.
    began = stays.groupby("stretch")["in_ns"].min().sort_values(kind="stable")
    numbers = pd.Series(range(len(began)), began.index, dtype="int64")
    stays["handover"] = stays["stretch"].map(numbers)
    return stays, _described(stays, limits)


def _described(stays: pd.DataFrame, limits: KernelLimits) -> pd.DataFrame:
    group = stays.assign(on_cpu_ns=stays["out_ns"] - stays["in_ns"]).groupby("handover")
    frame = group[["cpu", "tid", "comm", "wake_ns"]].first()
    frame["start_ns"], frame["end_ns"] = group["in_ns"].first(), group["out_ns"].last()
    frame["wall_ns"] = frame["end_ns"] - frame["start_ns"]
    for name in ("on_cpu_ns", "network_ns", "softirq_ns"):
        frame[name] = group[name].sum()
    frame["stays"] = group.size()
    # Of the first slice alone, and of the last; may be NA.
    first = stays.drop_duplicates("handover").set_index("handover").loc[frame.index]
    frame["wake_ns"] = first["wake_ns"].astype("Int64")
    frame["wake_delay_ns"] = first["wait_ns"].astype("Int64")
    state = stays.drop_duplicates("handover", keep="last").set_index("handover")["prev_state"]
    frame["cut"] = (state.isna() | runnable(state)).reindex(frame.index)
    sums = group[["polls", "packets", "unknown"]].sum()
    frame["polls"] = sums["polls"]
    frame["packets"] = sums["packets"].astype("Int64").mask(sums["unknown"] > 0)
    asked = frame[["comm", "wake_ns"]].join(first[["call_ns", "raised_ns"]])
    rounds, call_ns = first["rounds"].fillna(0), first["call_ns"].fillna(0)
    asked["limit"] = stopped_by(rounds, call_ns, limits)
    frame["wake_reason"] = [_wake_reason(*row) for row in asked.itertuples(index=False)]
    return frame.join(first[["rounds", "call_ns", "on_comm"]])


def _wake_reason(comm: str, wake_ns: Any, call_ns: Any, raised_ns: Any, limit: str) -> str:
    if not comm.startswith("ksoftirqd/"):
        return "napi_schedule"
    if pd.isna(wake_ns):
        return "unknown"
    if pd.notna(call_ns):
        return limit
    # raise_softirq_irqoff wakes it where no interrupt exit would run the softirq.
    near = pd.notna(raised_ns) and 0 <= int(wake_ns) - int(raised_ns) <= WAKE_NS
    return "raise" if near else "unknown"


def runnable(prev_state: "pd.Series[int]") -> "pd.Series[bool]":
    # Whether a task that left its CPU was still runnable; False where that was not recorded.
    state = prev_state.astype("Int64")
    return ((state & _ASLEEP) == 0).fillna(False).astype(bool)


def held_in(held: Spans, stretches: pd.DataFrame) -> Ints:
    # How long, in ns, work held the CPU in each stretch (cpu, start_ns, end_ns). held: by CPU.
    return held.within(*columns(stretches, "cpu", "start_ns", "end_ns"))


def displaced_in(stays: pd.DataFrame, waits: pd.DataFrame, held: Spans) -> pd.DataFrame:
    # Each wait against each slice that it overlaps. stays: in order and disjoint on each CPU. ns of
    # a row: how much of the slice's held time lies in the wait, if any.
    parts, names = [], ["handover", "tid", "comm", "ns"]
    for cpu, some in waits.groupby("cpu"):
        on = stays[stays["cpu"] == cpu].sort_values("in_ns", kind="stable")
        first = np.searchsorted(on["out_ns"].to_numpy(), some["start_ns"].to_numpy(), side="right")
        after = np.searchsorted(on["in_ns"].to_numpy(), some["end_ns"].to_numpy(), side="left")
        many = np.maximum(after - first, 0)
        of_wait = np.repeat(np.arange(len(some)), many)
        offset = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        place = np.repeat(first, many) + offset
        pair, stay = (
            rows.iloc[at].reset_index(drop=True) for rows, at in ((some, of_wait), (on, place))
        )
        pair["start_ns"] = pair["start_ns"].clip(lower=stay["in_ns"])
        pair["end_ns"] = pair["end_ns"].clip(upper=stay["out_ns"])
        pair = pair.assign(handover=stay["handover"], ns=held_in(held, pair))
        parts.append(pair.loc[pair["ns"] > 0, names])
    every = pd.concat([pd.DataFrame(columns=names, dtype="int64"), *parts])
    found = every.groupby(names[:3], dropna=False)["ns"].sum().reset_index()
    return found.astype({"handover": "int64", "tid": "int64", "comm": object, "ns": "int64"})

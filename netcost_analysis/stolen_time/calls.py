# Softirqs that ran one after the other without returning to the task: one call of the kernel's
# handle_softirqs (__do_softirq before 6.10), and why it stopped. Pure functions of frames.

import numpy as np
import pandas as pd

# kernel/softirq.c: MAX_SOFTIRQ_RESTART, and MAX_SOFTIRQ_TIME, which is msecs_to_jiffies(2).
MOST_ROUNDS = 10
_LIMIT_MS = 2
_HERTZ = (100, 1000)


def calls_of(softirqs: pd.DataFrame, gap_ns: int) -> pd.DataFrame:
    """Softirqs gathered into calls.

    softirqs: of a timeline. gap_ns: two belong to one call where the second of them had been raised
    when the first ended (or its raise is not known), it is on the same task and begins no later
    than this after it. Returns a row per call: cpu, tid (Int64), comm, entry_ns, exit_ns, softirqs,
    rounds (int64): a round handles what is pending in the order of the vectors, so one begins
    wherever a vector is not above the one before it.
    """
    whole = softirqs[softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()]
    rows = whole[["cpu", "tid", "comm", "entry_ns", "exit_ns", "raise_ns", "vec"]]
    rows = rows.sort_values(["cpu", "entry_ns"], kind="stable", ignore_index=True)
    entry, exit_ = rows["entry_ns"].to_numpy("int64"), rows["exit_ns"].to_numpy("int64")
    cpu, tid = rows["cpu"].to_numpy(), rows["tid"].astype("float64").to_numpy()
    pending = rows["raise_ns"].astype("Int64").shift(-1)[:-1] <= exit_[:-1]
    follows = np.zeros(len(rows), dtype=bool)
    follows[1:] = (
        (cpu[1:] == cpu[:-1])
        & (tid[1:] == tid[:-1])
        & (entry[1:] - exit_[:-1] <= gap_ns)
        & pending.fillna(True).to_numpy(bool)
    )
    vec = rows["vec"].to_numpy()
    again = np.zeros(len(rows), dtype=bool)
    again[1:] = vec[1:] <= vec[:-1]
    rows["rounds"] = (~follows | again).astype("int64")
    group = rows.groupby(np.cumsum(~follows))
    frame = group[["cpu", "tid", "comm", "entry_ns"]].first()
    frame["exit_ns"] = group["exit_ns"].last()
    frame["softirqs"], frame["rounds"] = group.size(), group["rounds"].sum()
    return frame.astype({"entry_ns": "int64", "exit_ns": "int64"}).reset_index(drop=True)


def limit_ns(hertz: int | None) -> tuple[int, int]:
    """How long a call runs at least and at most before its time is up.

    hertz: CONFIG_HZ, None where unknown. The limit is counted in jiffies from whenever in one the
    call began: at 250 Hz in one tick, which comes after 0 to 4 ms.
    """
    spans = []
    for rate in _HERTZ if hertz is None else (hertz, hertz):
        ticks = -(-_LIMIT_MS * rate // 1000)
        spans.append(((ticks - 1) * 1_000_000_000 // rate, ticks * 1_000_000_000 // rate))
    return min(low for low, _ in spans), max(high for _, high in spans)


def why_ended(rounds: int, ns: int, hertz: int | None) -> str:
    """Why a call stopped: "rounds", "time", "need_resched" or "time or need_resched"."""
    least, most = limit_ns(hertz)
    if rounds >= MOST_ROUNDS:
        return "rounds"
    if ns >= most:
        return "time"
    return "need_resched" if ns < least else "time or need_resched"

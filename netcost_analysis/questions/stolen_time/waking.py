# What kernel threads were woken for, batch by batch: the run of softirqs that ended right before
# each wake-up, and what the thread ran first.
#
#   softirqs of a CPU   | run, told | run, told | the last one may go on: carried |
#   wake-ups                       ^ within _WAKE_NS

import numpy as np
import pandas as pd

from ...spans import Flags, Ints, columns, spans_of
from ..batches.rounds import AT_ONCE_NS, runs_of
from ..carried import appended, behind

# From the last softirq's exit, or the raise, to the wake-up: 3 us in the sample data, 15 emulated.
WAKE_NS = 50_000
# What runs_of() reads.
_SOFTIRQ = [
    *("cpu", "ordinal", "entry_ns", "exit_ns", "raise_ns", "vec", "action", "origin"),
    *("tid", "comm", "in_kthread", "packets"),
]
_HARDIRQ = ["cpu", "entry_ns", "exit_ns"]
_RUN = {"end_ns": "exit_ns", "wall_ns": "call_ns", "rounds_made": "rounds", "comm": "on_comm"}


class Wakes:
    # stays: of such threads, with cpu, tid, wake_ns, in_ns.
    def __init__(self, stays: pd.DataFrame) -> None:
        woken = stays[stays["wake_ns"].notna()][["cpu", "tid", "wake_ns", "in_ns"]].astype("int64")
        self._woken = woken.sort_values("wake_ns", kind="stable", ignore_index=True)
        self._times = spans_of(self._woken, "wake_ns", "wake_ns", "cpu")
        # By the index of woken: what each thread ran first.
        self._first: list[pd.DataFrame] = []
        self._open = self._woken.sort_values("in_ns", kind="stable")[["tid", "in_ns"]]
        self._softirqs: pd.DataFrame | None = None
        self._hardirqs: pd.DataFrame | None = None
        self._runs: list[pd.DataFrame] = []

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> None:
        # The next batch of the two tables.
        self._run_first(softirqs)
        whole = softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()
        rows = appended(self._softirqs, softirqs[whole.to_numpy(dtype=bool)][_SOFTIRQ])
        rows = rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable", ignore_index=True)
        irqs = appended(self._hardirqs, hardirqs[_HARDIRQ])
        rows = rows[self._wanted(rows)]
        # Of whole softirqs in this order: row for row.
        numbered, runs = runs_of(rows, irqs)
        is_last = ~runs["cpu"].duplicated(keep="last").to_numpy()
        self._told(runs[~is_last])
        kept = rows[numbered["call"].isin(runs["call"][is_last]).to_numpy()]
        self._softirqs = kept
        since = kept.groupby("cpu")["entry_ns"].min()
        irqs = irqs[irqs["cpu"].isin(since.index)]
        self._hardirqs = irqs[behind(irqs, "exit_ns", since)]

    def _run_first(self, softirqs: pd.DataFrame) -> None:
        ran = softirqs[(softirqs["entry_ns"].notna() & softirqs["tid"].notna()).to_numpy(bool)]
        ran = ran[ran["tid"].isin(self._open["tid"]).to_numpy(dtype=bool)]
        if not len(ran):
            return
        ran = ran[["tid", "entry_ns", "raise_ns"]].astype({"tid": "int64", "entry_ns": "int64"})
        begun = self._open[self._open["in_ns"] <= ran["entry_ns"].max()]
        found = pd.merge_asof(
            begun.rename_axis("wake").reset_index(),
            ran.sort_values("entry_ns", kind="stable"),
            left_on="in_ns",
            right_on="entry_ns",
            by="tid",
            direction="forward",
        ).set_index("wake")
        found = found[found["entry_ns"].notna().to_numpy()]
        self._first.append(found[["raise_ns"]].astype("Int64"))
        self._open = self._open.drop(index=found.index)

    def _wanted(self, rows: pd.DataFrame) -> Flags:
        # Softirqs that follow each other at once, where they may be of a run right before a wake-up
        # or are the last of their CPU. Those of a run are together: questions/batches/rounds.py.
        cpu, entry, leave = columns(rows, "cpu", "entry_ns", "exit_ns")
        apart = np.ones(len(rows), dtype=bool)
        apart[1:] = (cpu[1:] != cpu[:-1]) | (entry[1:] - leave[:-1] > AT_ONCE_NS)
        group = np.cumsum(apart)
        last = np.ones(len(rows), dtype=bool)
        last[:-1] = cpu[1:] != cpu[:-1]
        wanted: Flags = np.isin(group, group[last | self._before_a_wake(cpu, leave)])
        return wanted

    def _before_a_wake(self, cpu: Ints, ends: Ints) -> Flags:
        until = self._times.begun(cpu, ends + WAKE_NS)[1]
        before: Flags = until > self._times.begun(cpu, ends - 1)[1]
        return before

    def _told(self, runs: pd.DataFrame) -> None:
        near = self._before_a_wake(*columns(runs, "cpu", "end_ns"))
        rows = runs[near].rename(columns=_RUN)[["cpu", *_RUN.values()]]
        self._runs.append(
            rows.astype({"cpu": "int64", "on_comm": object, "call_ns": "Int64", "rounds": "Int64"})
        )

    def frame(self) -> pd.DataFrame:
        # What came right before each wake-up: cpu, tid, wake_ns; call_ns, rounds, on_comm of the
        # run of softirqs that ended then, NA where none did or what the thread ran first was raised
        # after them; and raised_ns, when that was.
        if self._softirqs is not None and self._hardirqs is not None:
            self._told(runs_of(self._softirqs, self._hardirqs)[1])
            self._softirqs = None
        found = pd.merge_asof(
            self._woken,
            pd.concat(self._runs).sort_values("exit_ns", kind="stable"),
            left_on="wake_ns",
            right_on="exit_ns",
            by="cpu",
            tolerance=WAKE_NS,
        )
        first = pd.concat([pd.DataFrame({"raise_ns": []}, dtype="Int64"), *self._first])
        found["raised_ns"] = first["raise_ns"].reindex(found.index)
        later = (found["raised_ns"] > found["exit_ns"]) & (found["raised_ns"] <= found["wake_ns"])
        later = later.fillna(False).astype(bool)
        for name in ("call_ns", "rounds", "on_comm"):
            found[name] = found[name].mask(later)
        return found[["cpu", "tid", "wake_ns", "call_ns", "rounds", "on_comm", "raised_ns"]]

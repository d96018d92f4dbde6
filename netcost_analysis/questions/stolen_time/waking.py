# What kernel threads were woken for, batch by batch: the run of softirqs that ended right before
# each wake-up, and what the thread ran first.
#
#   softirqs of a CPU   | run, told | run, told | the last one may go on: carried |
#   wake-ups                       ^ within _WAKE_NS

import numpy as np
import pandas as pd

from ...spans import Flags, Ints, columns, spans_of
from ..batches.common import in_order
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
READ = {"softirqs": _SOFTIRQ, "hardirqs": _HARDIRQ}
_ORDER = ("cpu", "entry_ns", "ordinal", "exit_ns")
# So many softirqs without a pause may be carried whole.
_MANY = 4_096
_RUN = {"end_ns": "exit_ns", "wall_ns": "call_ns", "rounds_made": "rounds", "comm": "on_comm"}


class Wakes:
    # stays: of such threads, with cpu, tid, wake_ns, in_ns.
    def __init__(self, stays: pd.DataFrame) -> None:
        woken = stays[stays["wake_ns"].notna()][["cpu", "tid", "wake_ns", "in_ns"]].astype("int64")
        self._woken = woken.sort_values("wake_ns", kind="stable", ignore_index=True)
        self._times = spans_of(self._woken, "wake_ns", "wake_ns", "cpu")
        # By the index of woken when what each thread ran first was raised, and where that is yet
        # to come.
        self._first: list[pd.Series[int]] = []
        self._open = np.arange(len(self._woken))
        self._softirqs: pd.DataFrame | None = None
        self._hardirqs: pd.DataFrame | None = None
        self._runs: list[pd.DataFrame] = []

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> None:
        # The next batch of the two tables.
        if not len(self._woken) and self._softirqs is not None:
            return
        self._run_first(softirqs)
        rows = self._wanted(softirqs)
        irqs = appended(self._hardirqs, hardirqs[_HARDIRQ])
        is_told = bool(self._before_a_wake(*columns(rows, "cpu", "exit_ns")).any())
        if is_told or len(rows) > _MANY:
            # Of whole softirqs in this order: row for row.
            numbered, runs = runs_of(rows, irqs)
            is_last = ~runs["cpu"].duplicated(keep="last").to_numpy()
            self._told(runs[~is_last])
            rows = rows[numbered["call"].isin(runs["call"][is_last]).to_numpy()]
        self._softirqs = rows
        since = rows.groupby("cpu")["entry_ns"].min()
        irqs = irqs[irqs["cpu"].isin(since.index)]
        self._hardirqs = irqs[behind(irqs, "exit_ns", since)]

    def _run_first(self, softirqs: pd.DataFrame) -> None:
        tids = softirqs["tid"].astype("Int64").to_numpy("int64", na_value=-1)
        ran = np.isin(tids, self._woken["tid"].to_numpy()[self._open])
        ran &= softirqs["entry_ns"].notna().to_numpy()
        if not ran.any():
            return
        tids, entries = tids[ran], softirqs.loc[ran, "entry_ns"].to_numpy("int64")
        raised = softirqs.loc[ran, "raise_ns"].astype("Int64")
        of, begun = columns(self._woken.iloc[self._open], "tid", "in_ns")
        is_over = np.zeros(len(of), dtype=bool)
        for tid in np.unique(tids):
            own, here = np.flatnonzero(of == tid), np.flatnonzero(tids == tid)
            here = here[np.argsort(entries[here], kind="stable")]
            first = np.searchsorted(entries[here], begun[own])
            own, first = own[first < len(here)], first[first < len(here)]
            is_over[own] = True
            told = raised.iloc[here[first]]
            self._first.append(told.set_axis(self._open[own]))
        self._open = self._open[~is_over]

    def _wanted(self, softirqs: pd.DataFrame) -> pd.DataFrame:
        # Whole softirqs, these and those that are carried, in order: those that follow each other
        # at once, where they may be of a run right before a wake-up or are the last of their CPU.
        # Those of a run are together: questions/batches/rounds.py.
        seen = softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()
        whole = np.flatnonzero(seen.to_numpy(dtype=bool))
        more = softirqs[list(_ORDER)].take(whole)
        rest = softirqs[:0][_SOFTIRQ] if self._softirqs is None else self._softirqs
        pairs = zip(columns(rest, *_ORDER), columns(more, *_ORDER), strict=True)
        cpu, entry, ordinal, leave = (np.concatenate(pair) for pair in pairs)
        order = np.lexsort((ordinal, entry, cpu))
        cpu, entry, leave = cpu[order], entry[order], leave[order]
        apart = np.ones(len(cpu), dtype=bool)
        apart[1:] = (cpu[1:] != cpu[:-1]) | (entry[1:] - leave[:-1] > AT_ONCE_NS)
        group = np.cumsum(apart)
        last = np.ones(len(cpu), dtype=bool)
        last[:-1] = cpu[1:] != cpu[:-1]
        is_any = np.zeros(len(cpu) + 1, dtype=bool)
        is_any[group[last | self._before_a_wake(cpu, leave)]] = True
        wanted = np.zeros(len(cpu), dtype=bool)
        wanted[order] = is_any[group]
        new = whole[wanted[len(rest) :]]
        rows = appended(rest[wanted[: len(rest)]], softirqs[_SOFTIRQ].take(new))
        return in_order(rows, "cpu", "entry_ns", "ordinal")

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
        first = pd.concat([pd.Series([], dtype="Int64"), *self._first])
        found["raised_ns"] = first.reindex(found.index)
        later = (found["raised_ns"] > found["exit_ns"]) & (found["raised_ns"] <= found["wake_ns"])
        later = later.fillna(False).astype(bool)
        for name in ("call_ns", "rounds", "on_comm"):
            found[name] = found[name].mask(later)
        return found[["cpu", "tid", "wake_ns", "call_ns", "rounds", "on_comm", "raised_ns"]]

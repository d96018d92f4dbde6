# Which NET_RX stopped at a limit, summed over batches.

import numpy as np
import pandas as pd

from ...spans import columns
from ...stats.grouped import is_any, sums_by
from ...stats.histogram import Histogram, histogram, merged
from ..inputs import added
from .common import in_order, int64
from .kernel_limits import KernelLimits
from .softnet import Times

# A mark: of squeezes those by the budget, those that surely and that perhaps were, and of these
# those by time.
MARKS = ("budget", "low", "high", "time_low", "time_high")
_KEYS = ["cpu", "ordinal"]
_POLL = ["cpu", "softirq_ordinal", "end_ns", "work", "budget"]
_ROW = [*_KEYS, "entry_ns", "exit_ns", "polls", "packets", "in_kthread"]


class Squeezed:
    # by_cpu: as summed(); lengths: of NET_RX with polls, from entry to exit, by in_kthread and
    # packets; has_work: whether napi_poll said how many packets, of any poll.
    def __init__(self, limits: KernelLimits, times: Times | None) -> None:
        self._limits, self._times = limits, times
        self.has_work = self._has_polls = False
        # Of softirqs that are yet to come: no poll comes after its own.
        self._waiting: pd.DataFrame | None = None
        self._sums: pd.DataFrame | None = None
        # The same where no poll has work, while none had.
        self._without_work: pd.DataFrame | None = None
        self.lengths: Histogram | None = None

    def add(self, softirqs: pd.DataFrame, polls: pd.DataFrame) -> None:
        # The next batch of both.
        self._has_polls |= len(polls) > 0
        self.has_work |= bool(polls["work"].notna().any())
        polled = _together(pd.concat([self._waiting, _polled(polls)], ignore_index=True))
        rows = marked(softirqs, polled, self._limits)
        self._sums = added(self._sums, summed(rows, self._times))
        if not self.has_work:
            unknown = marked(softirqs, polled, self._limits, has_work=False)
            self._without_work = added(self._without_work, summed(unknown, self._times))
        known = rows[(rows["polls"] > 0).fillna(False).astype(bool) & rows["packets"].notna()]
        ns = (known["exit_ns"] - known["entry_ns"]).astype("int64")
        lengths = histogram(ns, known[["in_kthread", "packets"]].astype({"packets": "int64"}))
        self.lengths = merged(self.lengths, lengths)
        last = softirqs.groupby("cpu")["ordinal"].max()
        came = polled["cpu"].map(last).fillna(-1).to_numpy(dtype="int64")
        self._waiting = polled[polled["ordinal"].to_numpy() > came]

    @property
    def by_cpu(self) -> pd.DataFrame:
        sums = self._sums if self.has_work or not self._has_polls else self._without_work
        assert sums is not None
        return sums


def _polled(polls: pd.DataFrame) -> pd.DataFrame:
    # Of polls of softirqs, when each ended and whether it used its budget.
    inside = polls.loc[polls["softirq_ordinal"].notna(), _POLL]
    full = (inside["work"] == inside["budget"]) & (inside["budget"] > 0)
    return pd.DataFrame(
        {
            "cpu": inside["cpu"],
            "ordinal": int64(inside["softirq_ordinal"]),
            "last_ns": inside["end_ns"],
            "full": full.fillna(False).astype("int64"),
        }
    )


def _together(polled: pd.DataFrame) -> pd.DataFrame:
    # By softirq, in order: when its last poll ended, and how many used their budget.
    rows = in_order(polled, *_KEYS)
    cpu, ordinal, ends, full = columns(rows, *_KEYS, "last_ns", "full")
    first = np.flatnonzero(np.diff(cpu, prepend=-1) | np.diff(ordinal, prepend=-1))
    found = rows[_KEYS].take(first).reset_index(drop=True)
    if not len(first):
        return found.assign(last_ns=ends, full=full)
    return found.assign(last_ns=np.maximum.reduceat(ends, first), full=np.add.reduceat(full, first))


def marked(
    softirqs: pd.DataFrame, polled: pd.DataFrame, limits: KernelLimits, has_work: bool = True
) -> pd.DataFrame:
    # NET_RX with cpu, entry_ns, exit_ns, packets, polls, full (polls that used their budget), and
    # whether it was squeezed: MARKS (boolean, NA where the limits are unknown). polled: cpu,
    # ordinal, last_ns (when its last poll ended), full.
    whole = (softirqs["entry_ns"].notna() & softirqs["exit_ns"].notna()).to_numpy(dtype=bool)
    rows = softirqs.loc[is_any(softirqs["action"], ("NET_RX",)) & whole, _ROW]
    polled = polled.astype({"cpu": rows["cpu"].dtype, "ordinal": "int64"})
    rows = rows.merge(polled, on=_KEYS, how="left")
    # The check stands after a poll: a NET_RX without one is never squeezed.
    has_polls = rows["polls"] > 0
    elapsed = (rows["last_ns"] - rows["entry_ns"]).astype("Int64").fillna(0)
    longest = (rows["exit_ns"] - rows["entry_ns"]).astype("Int64")
    none = pd.Series(pd.NA, index=rows.index, dtype="boolean")
    by_budget = none
    if limits.netdev_budget is not None and has_work:
        by_budget = (has_polls & (rows["packets"] >= limits.netdev_budget)).astype("boolean")
    surely, perhaps = none, none
    if limits.net_rx_jiffies is not None and limits.tick_ns is not None:
        # Of J jiffies between J - 1 and J ticks must pass: the first began before.
        span = limits.net_rx_jiffies * limits.tick_ns
        surely = (has_polls & (elapsed >= span)).astype("boolean")
        perhaps = (has_polls & (longest > span - limits.tick_ns)).astype("boolean")
    shown = ["cpu", "entry_ns", "exit_ns", "polls", "packets", "full", "in_kthread"]
    return rows[shown].assign(
        full=rows["full"].astype("Int64").fillna(0),
        budget=by_budget,
        low=by_budget | surely,
        high=by_budget | perhaps,
        time_low=surely & ~by_budget,
        time_high=perhaps & ~by_budget,
    )


def summed(rows: pd.DataFrame, times: Times | None) -> pd.DataFrame:
    # By CPU, of marked() rows: with_polls, full; of each mark how many have it, and, behind its
    # name and _unknown, of how many it is not known. The same as inner_low of those that ended
    # between the readings of softnet_stat, as outer_high of those that ended in one of them too,
    # with their packets; entered: those that began between the readings of /proc/softirqs.
    table = rows[["cpu"]].assign(with_polls=rows["polls"] > 0, full=rows["full"])
    marks = {name: rows[name] for name in MARKS}
    if times is not None:
        inner = rows["exit_ns"].between(times.inner_from_ns, times.inner_to_ns)
        outer = rows["exit_ns"].between(times.from_ns, times.to_ns)
        begun = rows["entry_ns"].between(times.softirqs_from_ns, times.softirqs_to_ns)
        table["entered"] = begun
        table["packets"] = rows["packets"].where(outer, 0)
        marks["inner_low"] = rows["low"].mask(~inner.astype(bool), False)
        marks["outer_high"] = rows["high"].mask(~outer.astype(bool), False)
    for name, mark in marks.items():
        table[name] = mark.fillna(False)
        table[f"{name}_unknown"] = mark.isna()
    values = {
        str(name): column.astype("Int64").fillna(0).to_numpy("int64")
        for name, column in table.drop(columns="cpu").items()
    }
    return sums_by(table[["cpu"]], values).sort_index()

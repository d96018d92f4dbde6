# Softirqs and the interrupts before them, over batches: a softirq waits until no interrupt around
# it can be yet to come, and of interrupts the last ones of each CPU are kept.

import pandas as pd

from .common import in_order

# So many interrupts before a softirq's exit its raise is looked for: three at most in the samples.
BACK = 4_096
# Softirqs may run inside of an interrupt, as in scheduler_ipi() before Linux 5.8: they wait for its
# exit, or for so many others.
_INSIDE = 256


class Arrivals:
    # waiting: softirqs that wait; None before the first.
    def __init__(self) -> None:
        self.waiting: pd.DataFrame | None = None
        self._irqs: pd.DataFrame | None = None

    def add(self, softirqs: pd.DataFrame, irqs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        # Either with cpu, entry_ns and exit_ns, softirqs with ordinal. Returns the softirqs of
        # which all is there, in order, and the interrupts, by CPU and entry.
        irqs = pd.concat([self._irqs, irqs], ignore_index=True)
        irqs = in_order(irqs, "cpu", "entry_ns")
        rows = pd.concat([self.waiting, softirqs], ignore_index=True)
        rows = in_order(rows, "cpu", "entry_ns", "ordinal")
        now = rows.groupby("cpu").cumcount(ascending=False) >= _INSIDE
        latest = rows["cpu"].map(irqs.groupby("cpu")["entry_ns"].max())
        now |= (latest >= rows["exit_ns"]).fillna(False).astype(bool)
        # All before one that is there are.
        now = now[::-1].groupby(rows["cpu"][::-1]).cummax()[::-1].astype(bool)
        self.waiting = rows[~now]
        self._irqs = irqs.groupby("cpu").tail(BACK).reset_index(drop=True)
        return rows[now], irqs

    def rest(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        # The same when nothing comes any more.
        assert self.waiting is not None
        assert self._irqs is not None
        return self.waiting, self._irqs

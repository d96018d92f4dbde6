# Which interrupt raised each NET_RX, which ended before each softirq, and whether one came right
# before it: found when a softirq arrives, so that no more interrupts are kept than a raise may lie
# back.

import numpy as np
import pandas as pd

from ...spans import Spans, spans_of
from .common import int64, plain
from .line_gaps import LineGaps
from .rounds import interrupted

# Hardirqs nest: the interrupt that holds a raise may have had so many others inside.
_NESTED = 4
# So many interrupts before a softirq's exit its raise is looked for: three at most in the samples.
_BACK = 4_096
# Softirqs may run inside of an interrupt, as in scheduler_ipi() before Linux 5.8: they wait for its
# exit, or for so many others.
_INSIDE = 256
# What is told of an interrupt.
PAYLOAD = ("irq", "irq_name", "irq_context", "irq_ns", "irq_gap_ns", "irq_exit_ns")
_NUMBERS = dict.fromkeys(("irq", "irq_ns", "irq_gap_ns", "irq_exit_ns"), "Int64")
_NAMES = {
    "name": "irq_name",
    "context": "irq_context",
    "self_ns": "irq_ns",
    "gap_ns": "irq_gap_ns",
    "exit_ns": "irq_exit_ns",
}


class Raisers:
    # Takes softirqs and interrupts as they come. record: as LineGaps takes it.
    def __init__(self, record: Spans | None) -> None:
        self._gaps = LineGaps(record)
        self._irqs: pd.DataFrame | None = None
        # Softirqs that wait for interrupts around them.
        self.waiting: pd.DataFrame | None = None
        # The last softirq of each CPU that was matched.
        self._last: pd.DataFrame | None = None

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> pd.DataFrame:
        # softirqs: whole ones. Returns those that are matched now, in order, with PAYLOAD, the same
        # of `at_...`, and between (whether an interrupt came since the one before).
        irqs = self._with(hardirqs)
        rows = pd.concat([self.waiting, softirqs], ignore_index=True)
        rows = rows.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable", ignore_index=True)
        now = rows.groupby("cpu").cumcount(ascending=False) >= _INSIDE
        latest = irqs.groupby("cpu")["entry_ns"].max()
        now |= (rows["cpu"].map(latest) >= rows["exit_ns"]).fillna(False).astype(bool)
        # All before one that is matched are.
        now = now[::-1].groupby(rows["cpu"][::-1]).cummax()[::-1].astype(bool)
        self.waiting = rows[~now]
        found = self._matched(rows[now], irqs)
        last = pd.concat([self._last, found[softirqs.columns]])
        self._last = last.drop_duplicates("cpu", keep="last")
        self._irqs = irqs.groupby("cpu").tail(_BACK).reset_index(drop=True)
        return found

    def rest(self) -> pd.DataFrame:
        # Those that wait when nothing comes any more.
        if self.waiting is None or self._irqs is None:
            return pd.DataFrame()
        return self._matched(self.waiting, self._irqs)

    def _with(self, hardirqs: pd.DataFrame) -> pd.DataFrame:
        both = hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()
        irqs = self._gaps.add(plain(hardirqs[both])).rename(columns=_NAMES)
        irqs = irqs[["cpu", "entry_ns", *PAYLOAD]].astype(_NUMBERS)
        irqs = pd.concat([self._irqs, irqs], ignore_index=True)
        return irqs.sort_values(["cpu", "entry_ns"], kind="stable", ignore_index=True)

    def _matched(self, rows: pd.DataFrame, irqs: pd.DataFrame) -> pd.DataFrame:
        before = 0 if self._last is None else len(self._last)
        rows = pd.concat([self._last, rows])
        order = rows.assign(new=np.arange(len(rows)) >= before)
        order = order.sort_values(["cpu", "entry_ns", "ordinal"], kind="stable", ignore_index=True)
        ended = irqs.rename(columns={"irq_exit_ns": "exit_ns"})
        order["between"] = interrupted(order, ended)
        rows = order[order["new"]].drop(columns="new").reset_index(drop=True)
        return _with_raisers(rows, irqs)


def _with_raisers(rows: pd.DataFrame, irqs: pd.DataFrame) -> pd.DataFrame:
    # The innermost interrupt that holds a raise; and, for softirqs without one, the last that had
    # ended when they began. irqs: by CPU and entry.
    cpus, raised = rows["cpu"].to_numpy(dtype="int64"), int64(rows["raise_ns"])
    which = np.full(len(rows), -1)
    here = np.flatnonzero((raised >= 0) & (rows["action"] == "NET_RX").to_numpy(dtype=bool))
    spans = spans_of(irqs, "entry_ns", "irq_exit_ns", "cpu")
    which[here] = spans.innermost(cpus[here], raised[here], _NESTED)
    begun = spans.last_begun(cpus[here], int64(rows["exit_ns"])[here])
    which[here[begun - which[here] >= _BACK]] = -1
    at = np.full(len(rows), -1)
    by_exit = irqs.sort_values(["cpu", "irq_exit_ns"], kind="stable").index.to_numpy()
    last = spans_of(irqs, "irq_exit_ns", "irq_exit_ns", "cpu").last_begun(
        cpus, int64(rows["entry_ns"])
    )
    at[last >= 0] = by_exit[last[last >= 0]]
    for prefix, places in (("", which), ("at_", at)):
        taken = irqs[list(PAYLOAD)].reindex(places).reset_index(drop=True)
        rows = rows.join(taken.add_prefix(prefix))
    return rows

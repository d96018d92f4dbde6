# Which interrupt raised each NET_RX, which ended before each softirq, and whether one came right
# before it: found when a softirq arrives.

import numpy as np
import pandas as pd

from ...spans import Spans, spans_of
from .arrivals import BACK, Arrivals
from .common import in_order, int64, plain
from .line_gaps import LineGaps
from .rounds import interrupted

# Hardirqs nest: the interrupt that holds a raise may have had so many others inside.
_NESTED = 4
_NUMBERS = dict.fromkeys(("irq", "irq_ns", "irq_gap_ns", "irq_exit_ns"), "Int64")
_NAMES = {"name": "irq_name", "context": "irq_context", "self_ns": "irq_ns", "gap_ns": "irq_gap_ns"}
# Where a softirq stands.
_PLACE = ["cpu", "ordinal", "entry_ns", "exit_ns"]
# What is told of an interrupt.
PAYLOAD = ("irq", "irq_name", "irq_context", "irq_ns", "irq_gap_ns", "irq_exit_ns")


class Raisers:
    # Takes softirqs and interrupts as they come. record: as LineGaps takes it.
    def __init__(self, record: Spans | None) -> None:
        self._gaps, self._arrivals = LineGaps(record), Arrivals()
        # The last softirq of each CPU that was matched.
        self._last: pd.DataFrame | None = None

    @property
    def waiting(self) -> pd.DataFrame | None:
        return self._arrivals.waiting

    def add(self, softirqs: pd.DataFrame, hardirqs: pd.DataFrame) -> pd.DataFrame:
        # softirqs: whole ones. Returns those that are matched now, in order, with PAYLOAD, the same
        # of `at_...`, and between (whether an interrupt came since the one before).
        both = hardirqs["entry_ns"].notna() & hardirqs["exit_ns"].notna()
        irqs = self._gaps.add(plain(hardirqs[both])).rename(columns=_NAMES)
        irqs = irqs.assign(irq_exit_ns=irqs["exit_ns"])
        irqs = irqs[["cpu", "entry_ns", "exit_ns", *PAYLOAD]].astype(_NUMBERS)
        found = self._matched(*self._arrivals.add(softirqs, irqs))
        last = pd.concat([self._last, found[_PLACE]])
        self._last = last.drop_duplicates("cpu", keep="last")
        return found

    def rest(self) -> pd.DataFrame:
        # Those that wait when nothing comes any more.
        return self._matched(*self._arrivals.rest())

    def _matched(self, rows: pd.DataFrame, irqs: pd.DataFrame) -> pd.DataFrame:
        before = 0 if self._last is None else len(self._last)
        places = pd.concat([self._last, rows[_PLACE]], ignore_index=True)
        places["new"] = np.arange(len(places)) >= before
        places = in_order(places, "cpu", "entry_ns", "ordinal")
        between = interrupted(places, irqs)[places["new"].to_numpy()]
        return _with_raisers(rows.reset_index(drop=True).assign(between=between), irqs)


def _with_raisers(rows: pd.DataFrame, irqs: pd.DataFrame) -> pd.DataFrame:
    # The innermost interrupt that holds a raise; and, for softirqs without one, the last that had
    # ended when they began. irqs: by CPU and entry.
    cpus, raised = rows["cpu"].to_numpy(dtype="int64"), int64(rows["raise_ns"])
    which = np.full(len(rows), -1)
    here = np.flatnonzero((raised >= 0) & rows["is_net_rx"].to_numpy(dtype=bool))
    spans = spans_of(irqs, "entry_ns", "exit_ns", "cpu")
    which[here] = spans.innermost(cpus[here], raised[here], _NESTED)
    begun = spans.last_begun(cpus[here], int64(rows["exit_ns"])[here])
    which[here[begun - which[here] >= BACK]] = -1
    at = np.full(len(rows), -1)
    exits, of_cpu = (irqs[name].to_numpy("int64") for name in ("exit_ns", "cpu"))
    by_exit = np.lexsort([exits, of_cpu])
    last = spans_of(irqs, "exit_ns", "exit_ns", "cpu").last_begun(cpus, int64(rows["entry_ns"]))
    at[last >= 0] = by_exit[last[last >= 0]]
    for prefix, places in (("", which), ("at_", at)):
        taken = irqs[list(PAYLOAD)].reindex(places).reset_index(drop=True)
        rows = rows.join(taken.add_prefix(prefix))
    return rows

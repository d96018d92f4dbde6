# Time between interrupts of a line, over batches: of each line the last one is carried.

import pandas as pd

from ...spans import Spans
from .common import gaps_between, in_order

_LINE = ["cpu", "context", "irq", "name"]


class LineGaps:
    # record: gaps, across which nothing is measured (record_gaps()); None to measure all.
    def __init__(self, record: Spans | None) -> None:
        self._record = record
        self._last: pd.DataFrame | None = None

    def add(self, irqs: pd.DataFrame) -> pd.DataFrame:
        # The next interrupts, plain and with an entry: by CPU and time, with gap_ns.
        rows = in_order(irqs, "cpu", "entry_ns")
        before = 0 if self._last is None else len(self._last)
        rows = pd.concat([self._last, rows], ignore_index=True)
        lines = rows.groupby(_LINE, dropna=False, sort=False).ngroup()
        rows["gap_ns"] = gaps_between(rows, self._record, lines)
        self._last = rows.loc[~lines.duplicated(keep="last"), [*_LINE, "entry_ns"]]
        return rows[before:].reset_index(drop=True)

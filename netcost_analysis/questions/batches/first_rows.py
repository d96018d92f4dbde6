# The first rows of a window, over batches: examples of what there may be too many of.

import pandas as pd

# Of softirqs or runs, some 250 bytes each. Of a window with more, its rows up to a time are shown.
MAX_ROWS = 200_000


class FirstRows:
    # Keeps those of least `by`, of the same by CPU and their order there.
    def __init__(self, by: str, most: int = MAX_ROWS) -> None:
        self._by, self._most = by, most
        self._parts: list[pd.DataFrame] = []
        self._held = 0
        # Of what comes later than this there are enough before it.
        self._until: int | None = None

    def add(self, rows: pd.DataFrame) -> None:
        # In the order of time on each CPU.
        if not self._most:
            rows = rows[:0]
        if self._until is not None:
            rows = rows[rows[self._by] <= self._until]
        self._parts.append(rows)
        self._held += len(rows)
        if self._held > self._most + self._most // 4:
            self._trim()

    def frame(self) -> pd.DataFrame:
        # By CPU, then time.
        if self._held > self._most:
            self._trim()
        rows = pd.concat(self._parts, ignore_index=True)
        self._parts = [rows]
        return rows.sort_values(["cpu", self._by], kind="stable", ignore_index=True)

    def _trim(self) -> None:
        rows = pd.concat(self._parts, ignore_index=True)
        order = rows[[self._by, "cpu"]].sort_values([self._by, "cpu"], kind="stable").index
        kept = order[: self._most]
        self._until = int(rows[self._by].loc[kept[-1]])
        self._parts, self._held = [rows.loc[kept.sort_values()]], len(kept)

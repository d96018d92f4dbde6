# What softirqs and devices took from each victim, by name. Without pandas.

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..timeline.by import By, victim_keys
from ..timeline.owners import Owned, Victim, by_total, is_device, summed, victim_of

if TYPE_CHECKING:
    import pandas as pd


class Taken:
    """A table of stolen() beside that of victims: what took how much from whom.

    column: what the names are called; rows: of the sums, each with its name, of what was stolen or
    may have been.
    """

    def __init__(self, column: str, rows: Sequence[tuple[str, Owned]], by: By) -> None:
        self.by, self.columns = by, (column, "stolen_ns", "stolen_max_ns")
        self._names = by_total(summed((name, row.ns) for name, row in rows))
        surely = [one for one in rows if one[1].cost_class == "stolen"]
        # What each took from each victim, at least and at most.
        self._ends = [
            summed(((name, victim_of(row, by)), row.ns) for name, row in part)
            for part in (surely, rows)
        ]

    def plain(self, victims: Iterable[Victim]) -> list[dict[str, Any]]:
        """What took time from any of some victims, first what took most from everybody.

        victims: their figures are added up. Returns a row for each name, without the victims' keys.
        """
        victims = list(victims)
        rows = (
            (name, *(sum(ns.get((name, one), 0) for one in victims) for ns in self._ends))
            for name in self._names
        )
        return [dict(zip(self.columns, row, strict=True)) for row in rows if row[-1]]

    def frame(self, victims: Sequence[Victim]) -> "pd.DataFrame":
        """A row per victim, in that order, and name."""
        import pandas as pd

        keys = victim_keys(self.by)
        rows = [
            {**dict(zip(keys, one if self.by == "tid" else [one], strict=True)), **row}
            for one in victims
            for row in self.plain([one])
        ]
        return pd.DataFrame(rows, columns=[*keys, *self.columns])


def by_softirq(rows: Iterable[Owned], by: By) -> Taken:
    """By vector. A poll runs inside NET_RX; with busy polling it has no segment at all."""
    of = [row for row in rows if row.context in ("softirq", "poll")]
    named = [("NET_RX" if row.context == "poll" else row.name or "unnamed", row) for row in of]
    return Taken("action", named, by)


def by_device(rows: Iterable[Owned], by: By) -> Taken:
    """What can be laid at a device: its hardirqs and polls."""
    return Taken("device", [(str(row.device), row) for row in rows if is_device(row.device)], by)

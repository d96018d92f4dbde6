"""A table searched for single rows, without making columns of all the others."""

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from ..arrow import numbers, row

if TYPE_CHECKING:
    from .._native import ArrowTable

Row = dict[str, Any]


class Lookup:
    """A table of a timeline, whole or a batch of it: sorted by cpu, where it has one."""

    def __init__(self, table: "ArrowTable") -> None:
        self._table = table
        self._numbers: dict[str, array[Any]] = {}

    def numbers(self, name: str) -> "array[Any]":
        """A column of numbers, kept; what stands for a null is nothing."""
        if name not in self._numbers:
            self._numbers[name] = numbers(self._table, name)
        return self._numbers[name]

    def of_cpu(self, cpu: int) -> range:
        """The places of a CPU's rows."""
        cpus = self.numbers("cpu")
        return range(bisect_left(cpus, cpu), bisect_right(cpus, cpu))

    def row(self, place: int) -> Row:
        """A row by column."""
        return row(self._table, place)

    def around(self, cpu: int, begin: str, end: str, at_ns: int) -> list[Row]:
        """The rows of a CPU that begin at a time or before it, and end after it."""
        of_cpu = self.of_cpu(cpu)
        some = slice(of_cpu.start, of_cpu.stop)
        begins, ends = self.numbers(begin)[some], self.numbers(end)[some]
        both = zip(of_cpu, begins, ends, strict=True)
        found = (self.row(place) for place, first, last in both if first <= at_ns < last)
        return [row for row in found if row[begin] is not None and row[end] is not None]

    def after(self, begin: str, at_ns: int, tid: int, cpu: int | None = None) -> Row | None:
        """The first row of a task, and of a CPU, that begins at a time or later."""
        tids, begins = self.numbers("tid"), self.numbers(begin)
        places = range(len(tids)) if cpu is None else self.of_cpu(cpu)
        known = (place for place in places if tids[place] == tid and begins[place] >= at_ns)
        rows = (self.row(place) for place in sorted(known, key=begins.__getitem__))
        return next((row for row in rows if row["tid"] == tid and row[begin] is not None), None)

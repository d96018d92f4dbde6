"""The tables of a timeline as data frames, made on first use and cached."""

from functools import cached_property
from typing import TYPE_CHECKING

from .by import By
from .tables import MOST_ROWS, Tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from .group import Groups, Having


class DataFrames(Tables):
    """The part of Timeline that makes data frames."""

    def batches(self, *tables: str, rows: int = MOST_ROWS) -> "Iterator[tuple[pd.DataFrame, ...]]":
        """The rows of tables in batches, in memory that does not grow with the capture.

        For captures whose tables do not fit into memory; a first pass collects the names. Each row
        is in exactly one batch, once it has ended. All batches concatenated and stably sorted by
        cpu, where a table has one, equal the table of that name. Columns: docs/tables.md, times in
        ns.

        Parameters
        ----------
        *tables : str
            Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage.
        rows : int
            The rows of a batch, over all tables; the last batch has the rest.

        Yields
        ------
        tuple of pandas.DataFrame
            A frame per table, in the order of the arguments; its rows are in the table's order.

        Raises
        ------
        ValueError
            For another table, or no rows.
        CaptureError
            For a capture without owners (see Timeline), and if the file changes while it is read:
            then the earlier batches are invalid.
        """
        from ..frames import to_frame

        for batch in self.arrow_batches(*tables, rows=rows):
            yield tuple(to_frame(batch[table]) for table in tables)

    def group(
        self,
        rows: str,
        by: "Sequence[str]",
        *,
        block: tuple[str, int] | None = None,
        edges: "Mapping[str, Sequence[int]] | None" = None,
        sums: "Sequence[str]" = (),
        known: "Sequence[str]" = (),
        ends: "Sequence[str]" = (),
        lengths: str | None = None,
        where: "Having | None" = None,
    ) -> "Groups":
        """Group a table's rows by columns, in memory that grows only with the number of groups.

        Parameters
        ----------
        rows : str
            polls, softirqs, hardirqs, slices, segments or migrations.
        by : sequence of str
            Up to 6 columns, including block and edges. The error for an unknown name lists them
            all: most columns of the table, and these.

            - polls: is_timed (self_ns is known), in_softirq.
            - softirqs: delay_ns (from raise to entry), is_clamped (raised at or after the entry),
              length_ns (from entry to exit), polled_ns (from entry to the end of the last poll),
              full_polls (polls that used their budget), is_dispatch (NET_RX that polled nothing,
              but steers packets to another CPU).
            - hardirqs: gap_ns (since the line's last interrupt on that CPU, null if events are
              missing in between).
            - slices: begun_ns (when the task began to have or want the CPU), is_waited (the wait is
              known), is_woken (a wake-up began it), waited_ns (the part of wait_ns in the window),
              left_state (prev_state of the task's previous stay: 0, or 256 and more, if it was
              runnable), asleep_ns (from then until it wanted a CPU, in the window, or had one if
              the wait is not known; null if that is no time or it may have waited). With cpus= the
              previous stay is the last one on these CPUs.
            - segments: ns.
        block : tuple of str and int, optional
            A column of times and a width in ns. Adds the key block: the number of the time's block
            of that width, counted from time 0 of the clock.
        edges : mapping of str to sequence of int, optional
            Ascending values by column. Adds the key NAME_place: how many of the values the row's
            value has reached.
        sums : sequence of str
            Columns to add up; a null adds nothing.
        known : sequence of str
            Columns whose non-null values are counted.
        ends : sequence of str
            Columns whose minimum and maximum are returned.
        lengths : str, optional
            The column whose values are counted, one by one, or in bins if there are many.
        where : mapping of str to pair of int, str or bool
            By column the first and last value to keep, None for no bound, or a text, or true or
            false. A null is never kept.

        Returns
        -------
        Groups
            frame: a row per group, ordered by its keys: the keys, the number of rows under the name
            of the rows, each sum (packets for work, ns for self_ns), NAME_known, NAME_least and
            NAME_most. lengths: how often each value occurred in each group, exact up to 200,000
            values, then in bins at most a 128th of their values wide.

        Raises
        ------
        ArgumentError
            For unknown rows and malformed arguments.
        CaptureError
            For unknown columns, columns that cannot be added up, and a capture without owners (see
            Timeline).
        """
        from .group import aggregates, asked, grouped

        wanted = asked(rows, by, block, edges, sums, known, ends, lengths, where)
        return grouped(wanted, aggregates(self, [wanted])[0])

    def _frame(self, name: str) -> "pd.DataFrame":
        from ..frames import to_frame

        return to_frame(self.table(name))

    @cached_property
    def segments(self) -> "pd.DataFrame":
        """A row per exclusive stretch of a CPU: its segments partition the window."""
        return self._frame("segments")

    @cached_property
    def softirqs(self) -> "pd.DataFrame":
        """A row per softirq invocation, with origin and cost class."""
        return self._frame("softirqs")

    @cached_property
    def hardirqs(self) -> "pd.DataFrame":
        """A row per hardirq or irq vector."""
        return self._frame("hardirqs")

    @cached_property
    def polls(self) -> "pd.DataFrame":
        """A row per napi poll, with work and budget in packets."""
        return self._frame("polls")

    @cached_property
    def slices(self) -> "pd.DataFrame":
        """A row per stay of a task on a CPU, and the part in which the task itself ran."""
        return self._frame("slices")

    @cached_property
    def migrations(self) -> "pd.DataFrame":
        """A row per sched_migrate_task, with its cause if later events show it."""
        return self._frame("migrations")

    @cached_property
    def coverage(self) -> "pd.DataFrame":
        """A row per stretch of a CPU that the capture cannot account for."""
        return self._frame("coverage")

    @cached_property
    def displaced(self) -> "pd.DataFrame":
        """A row per (cpu, task): ns it waited while scheduled network work held that CPU.

        Empty if times of two CPUs cannot be compared: see missing.
        """
        return self._frame("displaced")

    @cached_property
    def irqs(self) -> "pd.DataFrame":
        """A row per hardirq line seen: irq, name, device, is_network, count."""
        return self._frame("irqs")

    @cached_property
    def _by_thief(self) -> "dict[str, pd.DataFrame]":
        return {}

    @cached_property
    def _sums(self) -> "pd.DataFrame":
        return self._frame("sums")

    def sums(self, bin_ns: int | None = None) -> "pd.DataFrame":
        """Segments summed by owner, without keeping segments in memory.

        Parameters
        ----------
        bin_ns : int, optional
            The width of the time bins; the whole window is one bin unless given.

        Returns
        -------
        pandas.DataFrame
            A row per (cpu, bin, victim, context, id, napi, cost class): ns, and the number of
            segments. Over all rows ns adds up to CPUs x window.

        Raises
        ------
        ValueError
            For a bin without length.
        """
        if bin_ns is None:
            return self._sums
        from ..frames import to_frame
        from .group import binned

        return to_frame(binned(self, bin_ns))

    def sums_by_thief(self, by: By = "comm") -> "pd.DataFrame":
        """The sums with a thief for each row, cached; questions about victims share them.

        Parameters
        ----------
        by : str
            How to name thieves, as for owned_by.

        Returns
        -------
        pandas.DataFrame
            A row per owner: cpu, tid, comm, context, id, name, device, cost_class, is_network,
            thief, ns, segments.
        """
        from .owners import sums_by_thief

        if by not in self._by_thief:
            self._by_thief[by] = sums_by_thief(self.sums(), by)
        return self._by_thief[by]

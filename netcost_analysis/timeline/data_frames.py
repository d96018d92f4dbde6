"""The tables of a timeline as data frames, made on first use and kept."""

from typing import TYPE_CHECKING

from .by import By
from .tables import MOST_ROWS, Tables
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from ..capture.capture import Capture
    from .group import Groups, Having


class DataFrames(Tables):
    """What Timeline is, but for what it says of itself."""

    def __init__(self, capture: "Capture", window: Window, cpus: list[int] | None = None) -> None:
        super().__init__(capture, window, cpus)
        self._frames: dict[str, pd.DataFrame] = {}
        self._by_thief: dict[str, pd.DataFrame] = {}

    def batches(self, *tables: str, rows: int = MOST_ROWS) -> "Iterator[tuple[pd.DataFrame, ...]]":
        """The rows of tables, batch by batch, in memory that does not grow with the capture.

        For captures whose tables do not fit into memory, after one pass for the names. Every row
        is in one batch, no earlier than it has ended; all batches together, sorted by cpu where a
        table has one (stable), are the table of that name. Columns: docs/tables.md, times in ns.

        Parameters
        ----------
        *tables : str
            Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage.
        rows : int
            Of a batch over all tables; the last one has what is left.

        Yields
        ------
        tuple of pandas.DataFrame
            A frame for each table, in the order in which they are named; within one rows are in
            the order of the table.

        Raises
        ------
        ValueError
            For another table, or no rows.
        CaptureError
            For a capture that cannot be told apart into owners, and where the file changes while
            it is read: then the batches before it are void.
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
        """Rows by what they have in common, in memory that grows with the groups alone.

        Parameters
        ----------
        rows : str
            polls, softirqs, hardirqs, slices, segments or migrations.
        by : sequence of str
            Up to 6 columns; block and edges are some of these. A name that is none of them is
            answered with all that there are: most of the table's, and these.

            - polls: is_timed (self_ns is known), in_softirq.
            - softirqs: delay_ns (from raise to entry), is_clamped (raised at the entry or after
              it), length_ns (from entry to exit), polled_ns (from entry to the end of the last
              poll), full_polls (how many used their budget), is_dispatch (NET_RX that polled
              nothing, but steers packets to another CPU).
            - hardirqs: gap_ns (since the line's last interrupt on that CPU, null where the record
              has a gap in between).
            - slices: begun_ns (from when on the task had or wanted the CPU), is_waited (the wait is
              known), is_woken (a wake-up began it), waited_ns (of wait_ns what lies in the window),
              left_state (prev_state of the task's stay before: 0 and from 256 on it was
              runnable), asleep_ns (from then until it wanted a CPU, in the window, or had one where
              the wait is not known; null where that is no time or it may have waited). With cpus=
              the stay before is the last one on these.
            - segments: ns.
        block : tuple of str and int, optional
            A column of times and a width in ns: the number of the block of that width that each
            lies in, counted from time 0 of the clock, is a key, block.
        edges : mapping of str to sequence of int, optional
            By column values in rising order. A key, NAME_place, says how many of them the row's
            value has reached.
        sums : sequence of str
            Columns to add up; a null adds nothing.
        known : sequence of str
            Columns whose known values are counted.
        ends : sequence of str
            Columns whose least and most value is told.
        lengths : str, optional
            The column whose values are counted, each by itself, or in bins where there are many.
        where : mapping of str to pair of int, str or bool
            Of columns the first and the last value that counts, None for no bound, or a text, or
            true or false. A null is never within.

        Returns
        -------
        Groups
            frame: a row a group, ordered by its keys: the keys, how many rows, under their name,
            each sum (of work it is packets, of self_ns it is ns), NAME_known, NAME_least and
            NAME_most. lengths: how often which value occurred in each, exact up to 200,000 values,
            then in bins at most a 128th of their values wide.

        Raises
        ------
        ArgumentError
            For rows that there are not, and arguments of another form.
        CaptureError
            For columns that there are not or that cannot be added up, and a capture that cannot be
            told apart into owners.
        """
        from .group import aggregates, asked, grouped

        wanted = asked(rows, by, block, edges, sums, known, ends, lengths, where)
        return grouped(wanted, aggregates(self, [wanted])[0])

    def _frame(self, name: str) -> "pd.DataFrame":
        if name not in self._frames:
            from ..frames import to_frame

            self._frames[name] = to_frame(self.table(name))
        return self._frames[name]

    @property
    def segments(self) -> "pd.DataFrame":
        """A row per exclusive stretch of a CPU: its segments partition the window."""
        return self._frame("segments")

    @property
    def softirqs(self) -> "pd.DataFrame":
        """A row per softirq invocation, with origin and cost class."""
        return self._frame("softirqs")

    @property
    def hardirqs(self) -> "pd.DataFrame":
        """A row per hardirq or irq vector."""
        return self._frame("hardirqs")

    @property
    def polls(self) -> "pd.DataFrame":
        """A row per napi poll, with work and budget in packets."""
        return self._frame("polls")

    @property
    def slices(self) -> "pd.DataFrame":
        """A row per stay of a task on a CPU, and what of it was the task's own."""
        return self._frame("slices")

    @property
    def migrations(self) -> "pd.DataFrame":
        """A row per sched_migrate_task, with its cause where later events show it."""
        return self._frame("migrations")

    @property
    def coverage(self) -> "pd.DataFrame":
        """A row per stretch of a CPU that the capture cannot account for."""
        return self._frame("coverage")

    @property
    def displaced(self) -> "pd.DataFrame":
        """A row per (cpu, task): ns it waited while scheduled network work held that CPU.

        Empty where times of two CPUs cannot be compared: see missing.
        """
        return self._frame("displaced")

    @property
    def irqs(self) -> "pd.DataFrame":
        """A row per hardirq line seen: irq, name, device, is_network, count."""
        return self._frame("irqs")

    def sums(self, bin_ns: int | None = None) -> "pd.DataFrame":
        """Segments summed by owner, without segments in memory: what ledger() and stolen() read.

        Parameters
        ----------
        bin_ns : int, optional
            Width of the time bins; the whole window is one unless given.

        Returns
        -------
        pandas.DataFrame
            A row per (cpu, bin, victim, context, id, napi, cost class): ns, and segments, how
            many. Over all rows ns adds up to CPUs x window.

        Raises
        ------
        ValueError
            For a bin without length.
        """
        if bin_ns is None:
            return self._frame("sums")
        from ..frames import to_frame
        from .group import binned

        return to_frame(binned(self, bin_ns))

    def sums_by_thief(self, by: By = "comm") -> "pd.DataFrame":
        """The sums read as victims and thieves, kept: what questions about victims share.

        Parameters
        ----------
        by : str
            How thieves are named, as for owned_by.

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

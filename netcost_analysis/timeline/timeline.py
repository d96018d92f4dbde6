"""Who had each CPU when: the tables of the ledger, computed natively when they are asked for."""

import re
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ..accessors import OfTimeline
from ..coverage import coverage_words, recorded_share
from ..display.tables import summary_html, summary_text
from ..errors import ArgumentError
from ..units import duration, ranges, share
from .by import By
from .facts import Missing
from .room import require_room, too_large
from .tables import LAST_NS, MOST_ROWS, TABLES, Tables
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd

    from ..capture.capture import Capture
    from .group import Groups, Having
    from .task import Task

# What questions about waiting read, be it of the sums alone.
_WAITS = ("displaced", "slices")
# What is shown of single interrupts.
_SHOWN = ("segments", "softirqs", "hardirqs", "polls")
# Softirqs, hardirqs and polls of so many take some 400 MB.
_MOST_EVENTS = 5_000_000
# And of a part of one with more: enough of each kind, some 150 MB.
_EXCERPT_EVENTS = 2_000_000


# A note that counts something.
_COUNTED = re.compile(r"\d|the recorder counted")


class Timeline(Tables, OfTimeline):
    """The exclusive ownership of each CPU's time, over a window of a capture.

    Made by Capture.timeline. Each table is a DataFrame computed on first use by a native pass over
    the capture, and kept; load() computes several in one pass. Columns: docs/tables.md. All times
    are int64 ns on the capture's clock. The frames share native's memory: add columns as you like,
    but copy a frame before writing into one of its own. Every attribute raises CaptureError where
    the capture cannot be told apart into owners: events without time or CPU, tracepoints that were
    sampled, a recording of one task.

    Attributes
    ----------
    capture : Capture
        What it is of.
    window : Window
        Which part of it, as window_named() finds it: of whose run, and that in words.
    start_s, end_s : float or None
        The window, in seconds from the capture's start; None for the capture's own.
    cpus : list of int or None
        The CPUs that were asked for; None for every recorded one.
    given_victim : int or str or None
        The task that it is about; None where one is to be chosen (victim).
    """

    def __init__(
        self,
        capture: "Capture",
        window: Window,
        cpus: list[int] | None = None,
        victim: "Task | None" = None,
    ) -> None:
        super().__init__(capture, window, cpus)
        self.given_victim = victim
        self._frames: dict[str, pd.DataFrame] = {}
        self._by_thief: dict[str, pd.DataFrame] = {}
        # The last width of bins that was asked for, and its sums: pictures share one.
        self._binned: tuple[int, pd.DataFrame] | None = None
        self._is_excerpt = False

    def load(self, *tables: str, allow_large: bool = False) -> Self:
        """Compute the named tables, those not yet there, in one pass.

        Parameters
        ----------
        *tables : str
            Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage, displaced.
        allow_large : bool
            Compute them however much memory they take.

        Returns
        -------
        Timeline
            This one.

        Raises
        ------
        ValueError
            For another table.
        CaptureError
            For tables that would take more than half of the memory that there is: how many rows,
            how many GiB, and the ways on.
        """
        unknown = set(tables) - set(TABLES)
        if unknown:
            raise ArgumentError(
                f"no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}"
            )
        missing = self._missing(tables)
        if not missing and self._summary is not None:
            return self
        together = self._missing(self._together(tables))
        if together and not allow_large and too_large(self, together):
            # Perhaps only what nobody has asked for.
            together = missing
            require_room(self, together)
        beside = self._missing(self._beside(tuple(together)))
        return self.read(*together, *beside, for_lives=bool({*together, *beside} & {*_WAITS}))

    def _together(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        if self._is_excerpt and tables:
            waits = _WAITS if "displaced" in tables else ()
            return tuple(dict.fromkeys((*tables, *waits, *_SHOWN)))
        # Of a small capture more tables take less time than another pass. Counting events is one.
        if not tables or set(tables) == set(_WAITS) or not self.capture.is_small:
            return tables
        return _WAITS if set(tables) <= set(_WAITS) else TABLES

    def _beside(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        # Of a large capture a pass takes longer than what many ask for next: waits. Counting events
        # is a pass, too: where nobody has, nobody asks for a whole report.
        is_counted = "_scan" in vars(self.capture)
        if not self.is_whole or not is_counted or self.capture.is_small:
            return ()
        return () if "displaced" in tables else ("displaced",)

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
        if bin_ns <= 0:
            raise ArgumentError(f"a bin of {bin_ns} ns holds no time")
        if self._binned is None or self._binned[0] != bin_ns:
            from ..frames import to_frame

            found = self._pass([], min(bin_ns, LAST_NS))["sums"]
            self._binned = (bin_ns, to_frame(found))
        return self._binned[1]

    @cached_property
    def excerpt(self) -> "Timeline":
        """The part of which single interrupts, softirqs and polls are shown.

        The timeline itself; of a capture whose rows would not fit in memory a window from its
        middle, with about as many events as do.
        """
        # The first pass counts the events besides.
        span, events = self.duration_ns, self.capture.event_count
        if events <= _MOST_EVENTS or not span:
            return self
        width = max(span * min(_MOST_EVENTS, _EXCERPT_EVENTS) // events, 1)
        start = self.offset_ns + (span - width) // 2
        part = Timeline(self.capture, Window(start / 1e9, (start + width) / 1e9), self.cpus)
        # Small enough: what is asked of it is of all of it.
        part.__dict__["excerpt"] = part
        part._is_excerpt = True
        return part

    @property
    def has_victims_run(self) -> bool:
        """Whether all of the bundle's victim's run is in it, on every CPU."""
        return self.is_whole or (self.window.of == "victim" and not self.cpus)

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

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures has to know: contexts not recorded, losses, clocks.

        What native counted is of the whole capture: of a part of it a note says so.
        """
        bundle = self.capture.bundle
        found = [*self.summary["notes"], *(bundle.given if bundle else ())]
        if self.start_s is None and self.end_s is None:
            return found
        return [f"of the whole capture: {note}" if _COUNTED.match(note) else note for note in found]

    @cached_property
    def missing(self) -> Missing:
        """By fact (on_cpu, waits, displaced, ...), why it is not known here, "" where it is."""
        return Missing(self)

    @cached_property
    def unknown_cpu_share(self) -> float | None:
        """The share of CPU time that was not recorded or not owned, 0 to 1; None for no window."""
        total = sum(self._by_context.values())
        return self._by_context.get("unknown", 0) / total if total else None

    @property
    def _by_context(self) -> dict[str, int]:
        from .owners import summed

        if "comm" in self._owned:
            return summed((row.context, row.ns) for row in self._owned["comm"])
        # Rows of all owners would be kept, which an export has no use for.
        sums = self.columns("sums")
        return summed(zip(sums["context"], sums["ns"], strict=True))

    @cached_property
    def recorded(self) -> float | None:
        """The share of the CPUs' window without loss, 0 to 1; None for an empty window."""
        summary = self.summary
        window = (int(summary["start_ns"]), int(summary["end_ns"]))
        return recorded_share(summary["cpus"], self.capture.info["coverage"], window)

    @cached_property
    def owned(self) -> float | None:
        """The share of what was recorded whose owner is known, 0 to 1; None where nothing was."""
        if self.unknown_cpu_share is None or not self.recorded:
            return None
        return min(1.0, (1 - self.unknown_cpu_share) / self.recorded)

    def _lines(self) -> list[tuple[str, str]]:
        summary = self.summary
        by_context = sorted(self._by_context.items(), key=lambda one: -one[1])
        total = sum(ns for _, ns in by_context) or 1
        lines = [
            ("", f"Timeline of {self.capture.path}"),
            (
                "window",
                f"{duration(self.duration_ns)} on CPUs {ranges(summary['cpus'])}",
            ),
            (
                "CPU time",
                ", ".join(f"{name} {share(ns / total)}" for name, ns in by_context if ns),
            ),
            ("coverage", coverage_words(self.recorded, self.owned)),
        ]
        lines.extend(("note", note) for note in self.notes)
        return lines

    def __repr__(self) -> str:
        return summary_text(self._lines())

    def _repr_html_(self) -> str:
        return summary_html(self._lines())

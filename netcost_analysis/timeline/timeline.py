"""Who had each CPU when: the tables of the ledger, computed natively when they are asked for."""

import re
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

from .. import _native
from .._native import CaptureError
from ..coverage import coverage_words, recorded_share
from ..display.tables import summary_html, summary_text
from ..errors import AbsentError, ArgumentError
from ..progress import progress
from ..units import duration, not_recorded, ranges, share
from .by import By
from .facts import Missing
from .group import has_few
from .room import require_room, too_large
from .task_events import task_events
from .window import Window, window_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from .._native import ArrowTable, HostFacts
    from ..capture.capture import Capture
    from ..export.dataset import Exported
    from ..export.perfetto import PerfettoTrace
    from ..questions.accessors import RecordingAsk
    from ..view.widget import TimelineWidget
    from .aggregate import Owned
    from .group import Groups, Having
    from .task import Task
    from .window import Named

TABLES = (
    *("segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage"),
    "displaced",
)
# Every pass returns these, whatever else it was asked for.
_ALWAYS = ("sums", "irqs", "longest")
# When tasks were there, of all recorded CPUs.
_LIVES = ("lives", "twice", "renamed", "holders", "waits", "wait_lengths")
# What questions about waiting read, be it of the sums alone.
_WAITS = ("displaced", "slices")
# What is shown of single interrupts.
_SHOWN = ("segments", "softirqs", "hardirqs", "polls")
# So many events.
_SMALL = 1_000_000
# What 64 bits of nanoseconds reach, and more seconds than they do.
_LAST_NS, _FAR_S = 2**63 - 1, 1e10
# Rows of a batch: some 100 MB.
MOST_ROWS = 1_000_000
# Softirqs, hardirqs and polls of so many take some 400 MB.
_MOST_EVENTS = 5_000_000
# And of a part of one with more: enough of each kind, some 150 MB.
_EXCERPT_EVENTS = 2_000_000


# A note that counts something.
_COUNTED = re.compile(r"\d|the recorder counted")


class Timeline:
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
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        victim: "Task | None" = None,
        window: "Named" = "trace",
    ) -> None:
        if start_s is None and end_s is None:
            self.window = window_named(capture, window, victim)
            start_s, end_s = self.window.start_s, self.window.end_s
        elif window == "trace":
            self.window = Window(start_s, end_s)
        else:
            raise ArgumentError("a window has a name, or a start and an end")
        if not all(isfinite(at) for at in (start_s, end_s) if at is not None):
            raise ArgumentError(f"a window is in seconds: start_s is {start_s}, end_s is {end_s}")
        if start_s is not None and end_s is not None and end_s <= start_s:
            raise ArgumentError(
                f"the window ends at {end_s} s, at or before its start at {start_s} s"
            )
        self.capture = capture
        self.start_s = start_s
        self.end_s = end_s
        self.cpus = cpus
        self.given_victim = victim
        self.require_inside()
        self._tables: dict[str, ArrowTable] = {}
        self._frames: dict[str, pd.DataFrame] = {}
        self._by_thief: dict[str, pd.DataFrame] = {}
        # The last width of bins that was asked for, and its sums: pictures share one.
        self._binned: tuple[int, pd.DataFrame] | None = None
        self.capture.timelines.add(self)
        self._owned: dict[str, list[Owned]] = {}
        self._task_events: dict[str, ArrowTable | None] | None = None
        self._summary: dict[str, Any] | None = None
        self._is_excerpt = False

    def load(self, *tables: str, allow_large: bool = False) -> "Timeline":
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

    def read(self, *tables: str, for_lives: bool = False) -> "Timeline":
        """Compute these tables, those not yet there, and no other, however large they are.

        load() computes more of a small capture at once, for what is asked next.

        Parameters
        ----------
        *tables : str
            As load() takes them.
        for_lives : bool
            When tasks were there is asked next: what tells of them is read in the same pass.

        Returns
        -------
        Timeline
            This one.
        """
        self._share()
        missing = self._missing(tables)
        if missing or self._summary is None:
            result = self._pass(missing, for_lives=for_lives)
            # Those of a pass before stay: frames may have been made of them.
            self._tables = (
                {name: result[name] for name in _ALWAYS} | result["tables"] | self._tables
            )
            if "displaced" in missing:
                self._tables["displaced"] = result["displaced"]
            # Only a pass that followed waits has compared the CPUs' clocks.
            if self._summary is None or "clocks" in result["summary"]["missing"]:
                self._summary = result["summary"]
        return self

    def _share(self) -> None:
        # What another timeline of the same has read: who asks the capture has one of its own. Of a
        # small one a pass takes no time.
        if self.capture.has_at_most(_SMALL):
            return
        others = (one for one in self.capture.timelines if one is not self and one._summary)
        for one in others:
            if one._chosen == self._chosen and one.selection == self.selection:
                self._tables = one._tables | self._tables
                self._task_events = self._task_events or one._task_events
                if self._summary is None or "clocks" not in self._summary["missing"]:
                    self._summary = one._summary

    @property
    def _chosen(self) -> tuple[Any, ...]:
        return (self.start_s, self.end_s, self.cpus)

    def _missing(self, tables: tuple[str, ...]) -> list[str]:
        return [table for table in tables if table not in self._tables]

    def _together(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        if self._is_excerpt and tables:
            waits = _WAITS if "displaced" in tables else ()
            return tuple(dict.fromkeys((*tables, *waits, *_SHOWN)))
        # Of a small capture more tables take less time than another pass. Counting events is one.
        if not tables or set(tables) == set(_WAITS) or not self.capture.has_at_most(_SMALL):
            return tables
        return _WAITS if set(tables) <= set(_WAITS) else TABLES

    def _beside(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        # Of a large capture a pass takes longer than what many ask for next: waits. Counting events
        # is a pass, too: where nobody has, nobody asks for a whole report.
        is_counted = "_scan" in vars(self.capture)
        if not self.is_whole or not is_counted or self.capture.event_count <= _SMALL:
            return ()
        return () if "displaced" in tables else ("displaced",)

    def holds(self, *tables: str) -> bool:
        """Whether tables have been computed, and are in memory.

        Parameters
        ----------
        *tables : str
            As load() takes them.

        Returns
        -------
        bool
            True where load() of them takes no pass.
        """
        return not self._missing(tables)

    def require_inside(self) -> None:
        """Raises CaptureError for a window that lies before or after the capture."""
        if self.start_s is None and self.end_s is None:
            return
        # Raises where the clock counts no seconds.
        _ = self.capture.start_ns
        length_ns = self.capture.info["duration_ns"] or 0
        if self.start_s is not None and self.start_s * 1e9 > length_ns:
            raise CaptureError(
                f"the window begins at {self.start_s:g} s, and the capture is over after "
                f"{duration(length_ns)}"
            )
        if self.end_s is not None and self.end_s < 0:
            raise CaptureError(
                f"the window ends at {self.end_s:g} s: seconds count from the capture's start"
            )

    def _pass(
        self, tables: list[str], bin_ns: int | None = None, for_lives: bool = False
    ) -> dict[str, Any]:
        selection, counts = self.selection, self.capture.ahead.take()
        # When tasks were there is asked of all CPUs' slices.
        has_lives = for_lives and self.cpus is None and self._task_events is None
        keep = has_lives and has_few(self.capture)
        # What tells of tasks is read to the end of the capture: a window's pass may end before.
        has_lives &= self.end_s is None or not self.capture.native.is_surveyed()
        tasks = task_events(self._absolute(self.end_s)) if has_lives else []
        with progress("computing the timeline") as advance:
            result = self.capture.native.timeline(
                tables,
                bin_ns=bin_ns,
                counts=counts,
                task_events=tasks,
                keep=keep,
                progress=advance,
                **selection,
            )
        self.capture.ahead.keep(counts, result["counts"])
        if tasks:
            names = (name for name, *_ in tasks)
            self._task_events = dict(zip(names, result["task_events"], strict=True))
        return result

    @property
    def task_events(self) -> "dict[str, ArrowTable | None]":
        """By event what it tells of tasks (task_events.py), None where that is nothing."""
        if self._task_events is None:
            tasks = task_events(self._absolute(self.end_s))
            with progress("reading the events") as advance:
                found = self.capture.native.task_events(tasks, advance)
            self._task_events = dict(zip((name for name, *_ in tasks), found, strict=True))
        return self._task_events

    @property
    def selection(self) -> dict[str, Any]:
        """What native is given to know of which part of the capture it is, and of what host."""
        self.require_inside()
        recorded = self.capture.info["cpus"] if self.cpus else []
        for cpu in set(self.cpus or ()).difference(recorded):
            raise AbsentError(not_recorded(cpu, recorded))
        return {
            "start_ns": self._absolute(self.start_s),
            "end_ns": self._absolute(self.end_s),
            "cpus": self.cpus,
            "host": self._host_facts,
        }

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

    def arrow_batches(
        self, *tables: str, rows: int = MOST_ROWS
    ) -> "Iterator[dict[str, ArrowTable]]":
        """The same as Arrow, without pandas: for exports.

        Parameters
        ----------
        *tables : str
            As batches() takes them.
        rows : int
            The same.

        Returns
        -------
        iterator of dict
            Table name to an Arrow table, by the Arrow PyCapsule interface.
        """
        from .batches import arrow_batches

        return arrow_batches(self, tables, rows)

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

    @cached_property
    def _host_facts(self) -> "HostFacts | None":
        bundle = self.capture.bundle
        if bundle is None:
            return None
        from ..capture.naming import bundle_lines, device_names

        return bundle.clock_doubt, bundle_lines(bundle), bundle.tickless, device_names(bundle)

    def _absolute(self, seconds: float | None) -> int | None:
        if seconds is None:
            return None
        # Native clips to the capture; what is further than 64 bits reach is clipped here.
        since = round(min(max(seconds, -_FAR_S), _FAR_S) * 1e9)
        return min(max(self.capture.start_ns + since, -_LAST_NS), _LAST_NS)

    def to_parquet(
        self,
        folder: "str | Path",
        tables: "Sequence[str] | None" = None,
        *,
        events: "Sequence[str]" = (),
        samples: "Sequence[str]" = (),
        overwrite: bool = False,
    ) -> "Exported":
        """Write tables as a dataset of Parquet files, whole or not at all; netcost convert does.

        A folder for each table, a file for each CPU, rows by time; pandas, Polars, DuckDB and Spark
        read the folder of a table. Memory does not grow with the capture, but for events and
        samples. What it is of, columns and their units: docs/tables.md#as-parquet.

        Parameters
        ----------
        folder : str or Path
            One that is not there yet.
        tables : sequence of str, optional
            Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage, sums, irqs;
            all of them unless given.
        events : sequence of str
            Tracepoints whose events are written too, a table of each.
        samples : sequence of str
            Other events whose samples are, as Capture.samples() names them.
        overwrite : bool
            Replace a dataset that is there.

        Returns
        -------
        Exported
            What was written: rows, files and bytes by table.

        Raises
        ------
        ValueError
            For another table, and a folder that is there, unless it is a dataset to be replaced.
        CaptureError
            For a capture that cannot be told apart into owners, and events or samples that it does
            not have or that do not fit into memory.
        OSError
            Where it cannot be written: then nothing is.
        """
        from ..export.dataset import write_dataset

        return write_dataset(
            self, folder, tables, events=events, samples=samples, overwrite=overwrite
        )

    def to_perfetto(
        self,
        path: "str | Path",
        victims: "Sequence[Task] | None" = None,
        *,
        overwrite: bool = False,
    ) -> "PerfettoTrace":
        """Write a trace for Perfetto, whole or not at all; netcost convert does.

        Events of the recording, and who owned each CPU. Memory does not grow with the capture.
        What it shows and how to open it: docs/perfetto.md.

        Parameters
        ----------
        path : str or Path
            A file that is not there yet.
        victims : sequence of int or str, optional
            Tasks by tid or comm, of which it has counters. None: the timeline's where it was given
            one, else the bundle's, if it has one that ran.
        overwrite : bool
            Replace a file that is there.

        Returns
        -------
        PerfettoTrace
            What was written.

        Raises
        ------
        ValueError
            For what is there already, unless it is a file to be replaced.
        CaptureError
            For a capture that cannot be told apart into owners.
        AbsentError
            For a victim that did not run.
        OSError
            Where it cannot be written: then nothing is.
        """
        from ..export.perfetto import write_perfetto

        return write_perfetto(self, path, victims, overwrite=overwrite)

    def view(self) -> "TimelineWidget":
        """The timeline to zoom, in JupyterLab: lanes of who had each CPU; docs/view.md.

        Returns
        -------
        TimelineWidget
            A widget, whose ``selected`` is what is selected in it: capture.timeline(*selected) is
            of that.

        Raises
        ------
        AbsentError
            Where anywidget is not installed: extra `lab` brings it.
        CaptureError
            For a capture that cannot be told apart into owners.
        """
        try:
            from ..view.widget import TimelineWidget
        except ImportError as error:
            if error.name not in ("anywidget", "traitlets"):
                raise
            raise AbsentError(
                "a timeline in a notebook needs anywidget: pip install 'netcost-analysis[lab]'; "
                "netcost view PATH shows it in a browser"
            ) from None
        return TimelineWidget(self)

    def table(self, name: str) -> "ArrowTable":
        """A table as Arrow, without pandas.

        Parameters
        ----------
        name : str
            As columns() takes it.

        Returns
        -------
        object
            An Arrow table, by the Arrow PyCapsule interface.
        """
        self.load(*({name} & set(TABLES)))
        if name in _LIVES and name not in self._tables:
            from ..questions.lives import lives_of

            self._tables |= lives_of(self)
        return self._tables[name]

    def _frame(self, name: str) -> "pd.DataFrame":
        if name not in self._frames:
            from ..frames import to_frame

            self._frames[name] = to_frame(self.table(name))
        return self._frames[name]

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A table's columns as plain lists: for small ones, without pandas.

        Parameters
        ----------
        name : str
            One of load()'s, "sums", "irqs", one of lives_of() (questions/lives.py), or "longest":
            by CPU and interrupt or softirq the own time that the longest had in the window.

        Returns
        -------
        dict
            Column name to its values: int, bool, str and None.
        """
        return _native.columns(self.table(name))

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

            found = self._pass([], min(bin_ns, _LAST_NS))["sums"]
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
        part = self.capture.timeline(start / 1e9, (start + width) / 1e9, self.cpus)
        # Small enough: what is asked of it is of all of it.
        part.__dict__["excerpt"] = part
        part._is_excerpt = True
        return part

    @property
    def is_whole(self) -> bool:
        """Whether it is of all of the capture: no window, and every CPU."""
        return self.start_s is None and self.end_s is None and not self.cpus

    @property
    def has_victims_run(self) -> bool:
        """Whether all of the bundle's victim's run is in it, on every CPU."""
        return self.is_whole or (self.window.of == "victim" and not self.cpus)

    @property
    def offset_ns(self) -> int:
        """From the capture's start to the window's."""
        return int(self.summary["start_ns"]) - self.capture.start_ns

    @property
    def nobodys_ns(self) -> int:
        """CPU time whose task is not known."""
        return sum(row.ns for row in self.owned_by() if row.tid is None)

    def owned_by(self, by: By = "comm") -> "list[Owned]":
        """The sums as plain rows, kept: what ledger() and stolen() add up.

        Parameters
        ----------
        by : str
            How thieves are named: by "device" all that is a device's is called as it is, else each
            by what it is.

        Returns
        -------
        list of Owned
            A row per owner, with its ns.
        """
        from .aggregate import owned

        by = "device" if by == "device" else "comm"
        if by not in self._owned:
            self._owned[by] = owned(self.columns("sums"), by)
        return self._owned[by]

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
        from .aggregate import sums_by_thief

        if by not in self._by_thief:
            self._by_thief[by] = sums_by_thief(self.sums(), by)
        return self._by_thief[by]

    @property
    def summary(self) -> dict[str, Any]:
        """The window, its CPUs, losses, and the ledger's checks of itself; keys: docs/tables.md."""
        if self._summary is None:
            self.load()
        assert self._summary is not None
        return self._summary

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

    @property
    def duration_ns(self) -> int:
        """The window's length."""
        return int(self.summary["end_ns"]) - int(self.summary["start_ns"])

    @cached_property
    def unknown_cpu_share(self) -> float | None:
        """The share of CPU time that was not recorded or not owned, 0 to 1; None for no window."""
        total = sum(self._by_context.values())
        return self._by_context.get("unknown", 0) / total if total else None

    @property
    def _by_context(self) -> dict[str, int]:
        from .aggregate import summed

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

    @cached_property
    def lives(self) -> "pd.DataFrame":
        """A row per task and name: when it was there, and what it did; columns: lives.py."""
        return self._frame("lives").astype({"comm": "str"})

    @cached_property
    def victim(self) -> "Task | None":
        """The task that questions about a victim are of unless they are given one: comm or tid.

        The one that Capture.timeline() was given; else the bundle's victim where it has one and it
        ran in the window, else the task that lost most, else the one longest on a CPU; None where
        no task was seen. Raises AbsentError, with the nearest names, where the one given did not.
        """
        from ..questions.victim import choose_victim

        return choose_victim(self, self.given_victim)

    @cached_property
    def ask(self) -> "RecordingAsk":
        """Its questions, of this window and these CPUs: ``timeline.ask.TOPIC.QUESTION()``."""
        from ..questions.ask import Ask

        return Ask(self)  # type: ignore[return-value]

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

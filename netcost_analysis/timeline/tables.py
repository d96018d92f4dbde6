"""The tables of a timeline, each computed by a pass of native's and kept."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary, WeakSet

from .. import _native
from ..capture.within import require_window
from ..errors import AbsentError, ArgumentError
from ..progress import progress
from ..units import not_recorded
from .by import By
from .task_events import task_events
from .window import Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._native import ArrowTable, HostFacts
    from ..capture.capture import Capture
    from ..progress import Amount
    from .owners import Owned

TABLES = (
    *("segments", "softirqs", "hardirqs", "polls", "slices", "migrations", "coverage"),
    "displaced",
)
# Those with a row per event of some kind, which native gives batch by batch: displaced has sums.
STREAMED = TABLES[:-1]
# Every pass returns these, whatever else it was asked for.
_ALWAYS = ("sums", "irqs", "longest")
# Rows of a batch: some 100 MB.
MOST_ROWS = 1_000_000
# What 64 bits of nanoseconds reach, and more seconds than they do.
LAST_NS, _FAR_S = 2**63 - 1, 1e10
# Those of a capture that somebody has: they share what they have read.
_others: "WeakKeyDictionary[Capture, WeakSet[Tables]]" = WeakKeyDictionary()


class Tables:
    """What Timeline is, without pandas: a part of a capture, and what native has made of it."""

    def __init__(self, capture: "Capture", window: Window, cpus: list[int] | None = None) -> None:
        self.capture, self.window, self.cpus = capture, window, cpus
        self.start_s, self.end_s = window.start_s, window.end_s
        require_window(self.capture, self.start_s, self.end_s)
        self._tables: dict[str, ArrowTable] = {}
        self._owned: dict[str, list[Owned]] = {}
        self._task_events: dict[str, ArrowTable | None] | None = None
        self._summary: dict[str, Any] | None = None
        _others.setdefault(capture, WeakSet()).add(self)

    def load(self, *tables: str, allow_large: bool = False) -> Self:
        """Timeline.load(), which says what it takes and raises."""
        raise NotImplementedError

    def read(self, *tables: str, for_lives: bool = False) -> Self:
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
        if self.capture.is_small:
            return
        others = (one for one in _others[self.capture] if one is not self and one._summary)
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

    def _pass(
        self, tables: list[str], bin_ns: int | None = None, for_lives: bool = False
    ) -> dict[str, Any]:
        selection, counts = self.selection, self.capture.event_counts.take()
        # When tasks were there is asked of all CPUs' slices.
        has_lives = for_lives and self.cpus is None and self._task_events is None
        keep = has_lives and self.capture.is_small
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
        self.capture.event_counts.keep(counts, result["counts"])
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
        require_window(self.capture, self.start_s, self.end_s)
        recorded = self.capture.info["cpus"] if self.cpus else []
        for cpu in set(self.cpus or ()).difference(recorded):
            raise AbsentError(not_recorded(cpu, recorded))
        return {
            "start_ns": self._absolute(self.start_s),
            "end_ns": self._absolute(self.end_s),
            "cpus": self.cpus,
            "host": self._host_facts,
        }

    def arrow_batches(
        self, *tables: str, rows: int = MOST_ROWS, of: "Amount | None" = None
    ) -> "Iterator[dict[str, ArrowTable]]":
        """The same as batches() as Arrow, without pandas: for exports.

        Parameters
        ----------
        *tables : str
            As batches() takes them.
        rows : int
            The same.
        of : Amount, optional
            How much there is to read, for whoever watches.

        Returns
        -------
        iterator of dict
            Table name to an Arrow table, by the Arrow PyCapsule interface.
        """
        unknown = set(tables) - set(STREAMED)
        if unknown or not tables:
            named = ", ".join(sorted(unknown)) or "named"
            raise ArgumentError(f"no table {named} in batches; there are {', '.join(STREAMED)}")
        if rows < 1:
            raise ArgumentError(f"a batch of {rows} rows holds none")
        return self._batches(tables, rows, of)

    def _batches(
        self, tables: tuple[str, ...], rows: int, of: "Amount | None"
    ) -> "Iterator[dict[str, ArrowTable]]":
        with progress("reading the timeline", of) as advance:
            stream = self.capture.native.batches(
                tables, rows=rows, progress=advance, **self.selection
            )
            try:
                yield from stream
            finally:
                # Who stops early leaves no thread behind.
                stream.close()

    @cached_property
    def _host_facts(self) -> "HostFacts | None":
        bundle = self.capture.bundle
        if bundle is None:
            return None
        from ..capture.interrupt_devices import bundle_lines, device_names

        return bundle.clock_doubt, bundle_lines(bundle), bundle.tickless, device_names(bundle)

    def _absolute(self, seconds: float | None) -> int | None:
        if seconds is None:
            return None
        # Native clips to the capture; what is further than 64 bits reach is clipped here.
        since = round(min(max(seconds, -_FAR_S), _FAR_S) * 1e9)
        return min(max(self.capture.start_ns + since, -LAST_NS), LAST_NS)

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
        return self._tables[name]

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A table's columns as plain lists: for small ones, without pandas.

        Parameters
        ----------
        name : str
            One of load()'s, "sums", "irqs", or "longest": by CPU and interrupt or softirq the own
            time that the longest had in the window.

        Returns
        -------
        dict
            Column name to its values: int, bool, str and None.
        """
        return _native.columns(self.table(name))

    @property
    def is_whole(self) -> bool:
        """Whether it is of all of the capture: no window, and every CPU."""
        return self.start_s is None and self.end_s is None and not self.cpus

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
        from .owners import owned

        by = "device" if by == "device" else "comm"
        if by not in self._owned:
            self._owned[by] = owned(self.columns("sums"), by)
        return self._owned[by]

    @property
    def summary(self) -> dict[str, Any]:
        """The window, its CPUs, losses, and the ledger's checks of itself; keys: docs/tables.md."""
        if self._summary is None:
            self.load()
        assert self._summary is not None
        return self._summary

    @property
    def duration_ns(self) -> int:
        """The window's length."""
        return int(self.summary["end_ns"]) - int(self.summary["start_ns"])

"""The tables of a timeline, computed by native passes and cached."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary, WeakSet

from ..arrow import columns
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
# Tables with a row per event, which native can stream in batches; displaced has sums.
STREAMED = TABLES[:-1]
# Every pass returns these.
_ALWAYS = ("sums", "irqs", "longest")
# The rows of a batch, about 100 MB.
MOST_ROWS = 1_000_000
# The largest time that fits in 64 bits, and a number of seconds beyond it.
LAST_NS, _FAR_S = 2**63 - 1, 1e10
# The live timelines of each capture, which share tables.
_others: "WeakKeyDictionary[Capture, WeakSet[Tables]]" = WeakKeyDictionary()


class Tables:
    """The part of Timeline without pandas: a window of a capture and its tables."""

    def __init__(
        self,
        capture: "Capture",
        window: Window,
        cpus: list[int] | None = None,
        victim: int | str | None = None,
    ) -> None:
        self.capture, self.window, self.cpus, self.given_victim = capture, window, cpus, victim
        self.start_s, self.end_s = window.start_s, window.end_s
        require_window(self.capture, self.start_s, self.end_s)
        self._is_excerpt = False
        self._tables: dict[str, ArrowTable] = {}
        self._owned: dict[str, list[Owned]] = {}
        self._task_events: dict[str, ArrowTable | None] | None = None
        self._summary: dict[str, Any] | None = None
        # Results by request: Groups for a Grouping, tables for any other aggregate.
        self.aggregated: dict[Any, Any] = {}
        _others.setdefault(capture, WeakSet()).add(self)

    def load(self, *tables: str, allow_large: bool = False) -> Self:
        """Defined by Timeline."""
        raise NotImplementedError

    def read(self, *tables: str, for_lives: bool = False) -> Self:
        """Compute exactly these tables, however large they are.

        load() also computes what is likely to be needed next. for_lives: read the events that show
        when tasks began and ended in the same pass.
        """
        self.share()
        missing = self._missing(tables)
        if missing and "displaced" not in missing and self._summary and self.keeps_rows:
            self._tables |= self.capture.native.kept(missing, **self.selection) or {}
            missing = self._missing(tables)
        if missing or self._summary is None:
            result = self._pass(missing, for_lives=for_lives)
            # Keep tables of an earlier pass: frames may share their memory.
            self._tables = (
                {name: result[name] for name in _ALWAYS} | result["tables"] | self._tables
            )
            if "displaced" in missing:
                self._tables["displaced"] = result["displaced"]
            # Only a pass that follows waits compares the CPUs' clocks.
            if self._summary is None or "clocks" in result["summary"]["missing"]:
                self._summary = result["summary"]
        return self

    def share(self) -> None:
        """Take what another timeline of the same window and CPUs has read."""
        for other in _others[self.capture]:
            if other is self or not other._summary or other._chosen != self._chosen:
                continue
            if other.selection == self.selection:
                self._tables = other._tables | self._tables
                self.aggregated = other.aggregated | self.aggregated
                self._task_events = self._task_events or other._task_events
                if self._summary is None or "clocks" not in self._summary["missing"]:
                    self._summary = other._summary

    @property
    def _chosen(self) -> tuple[Any, ...]:
        return (self.start_s, self.end_s, self.cpus)

    def _missing(self, tables: tuple[str, ...]) -> list[str]:
        return [table for table in tables if table not in self._tables]

    def holds(self, *tables: str) -> bool:
        """Whether these tables are in memory, so that load() takes no pass."""
        return not self._missing(tables)

    def _pass(self, tables: list[str], for_lives: bool = False) -> dict[str, Any]:
        selection, counts = self.selection, self.capture.event_counts.take()
        # Task lifetimes need the slices of all CPUs.
        has_lives = for_lives and self.cpus is None and self._task_events is None
        keep = for_lives and self.keeps_rows
        # Task events are read to the capture's end, but the pass of a window may stop earlier.
        has_lives &= self.end_s is None or not self.capture.native.is_surveyed()
        tasks = task_events(self._absolute(self.end_s)) if has_lives else []
        with progress("computing the timeline") as advance:
            result = self.capture.native.timeline(
                tables,
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
    def keeps_rows(self) -> bool:
        """Whether native keeps all rows after load()'s pass, so that no other pass is needed."""
        return self._is_excerpt or self.capture.is_small

    @property
    def task_events(self) -> "dict[str, ArrowTable | None]":
        """The table of each event about tasks (task_events.py), None if it has none."""
        if self._task_events is None:
            tasks = task_events(self._absolute(self.end_s))
            with progress("reading the events") as advance:
                tables = self.capture.native.task_events(tasks, advance)
            self._task_events = dict(zip((name for name, *_ in tasks), tables, strict=True))
        return self._task_events

    @property
    def selection(self) -> dict[str, Any]:
        """Native's arguments: the part of the capture, and facts about its host."""
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
        """batches() as Arrow tables by name, without pandas; of: the total, for the progress."""
        unknown = set(tables) - set(STREAMED)
        if unknown or not tables:
            named = ", ".join(sorted(unknown)) or "named"
            raise ArgumentError(f"no table {named} in batches; there are {', '.join(STREAMED)}")
        if rows < 1:
            raise ArgumentError(f"a batch must have at least one row, not {rows}")
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
                # Stopping early must leave no thread behind.
                stream.close()

    @cached_property
    def _host_facts(self) -> "HostFacts | None":
        bundle = self.capture.bundle
        if bundle is None:
            return None
        from ..capture.interfaces import bundle_lines, device_names

        return bundle.clock_doubt, bundle_lines(bundle), bundle.tickless, device_names(bundle)

    def _absolute(self, seconds: float | None) -> int | None:
        if seconds is None:
            return None
        # Native clips to the capture; times beyond 64 bits are clipped here.
        since = round(min(max(seconds, -_FAR_S), _FAR_S) * 1e9)
        return min(max(self.capture.start_ns + since, -LAST_NS), LAST_NS)

    def table(self, name: str) -> "ArrowTable":
        """A table as Arrow; the names are those of columns()."""
        self.load(*({name} & set(TABLES)))
        return self._tables[name]

    def columns(self, name: str) -> dict[str, list[Any]]:
        """A small table's columns as lists of int, bool, str and None, without pandas.

        name: one of load()'s, "sums", "irqs", or "longest": by CPU and interrupt or softirq, the
        self time of the longest one in the window.
        """
        return columns(self.table(name))

    @property
    def is_whole(self) -> bool:
        """Whether it covers the whole capture: no window, every CPU."""
        return self.start_s is None and self.end_s is None and not self.cpus

    @property
    def offset_ns(self) -> int:
        """From the capture's start to the window's."""
        return int(self.summary["start_ns"]) - self.capture.start_ns

    def owned_by(self, by: By = "comm") -> "list[Owned]":
        """The sums as plain rows, cached.

        by: how to name thieves. With "device" all that a device did has the device's name.
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

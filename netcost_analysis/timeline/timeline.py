"""Who had each CPU when: the tables of the ledger, computed natively when they are asked for."""

import re
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ..accessors import OfTimeline
from ..coverage import coverage_words, recorded_share
from ..display.tables import summary_html, summary_text
from ..errors import ArgumentError
from ..units import duration, ranges, share
from .data_frames import DataFrames
from .facts import Missing
from .memory import require_memory, too_large
from .tables import TABLES
from .window import Window

if TYPE_CHECKING:
    from ..capture.capture import Capture
    from .task import Task

# What questions about waiting read, be it of the sums alone.
_WAITS = ("displaced", "slices")
# Softirqs, hardirqs and polls of so many take some 400 MB.
_MOST_EVENTS = 5_000_000
# And of a part of one with more: enough of each kind, some 150 MB.
_EXCERPT_EVENTS = 2_000_000


# A note that counts something.
_COUNTED = re.compile(r"\d|the recorder counted")


class Timeline(DataFrames, OfTimeline):
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
        self.share()
        missing = self._missing(tables)
        if not missing and self._summary is not None:
            return self
        # Native then keeps all rows of what fits into memory: other tables take no pass.
        follows = self._is_excerpt or (tables and self.keeps_rows)
        kept = ("displaced",) if follows else ()
        together = self._missing(tuple(dict.fromkeys((*tables, *kept))))
        may_be_large = together and not allow_large and not self._is_excerpt
        if may_be_large and too_large(self, together):
            # Perhaps only what nobody has asked for.
            together = missing
            require_memory(self, together)
        beside = self._missing(self._beside(tuple(together)))
        return self.read(*together, *beside, for_lives=bool({*together, *beside} & {*_WAITS}))

    def _beside(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        # Of a large capture a pass takes longer than what many ask for next: waits. Counting events
        # is a pass, too: where nobody has, nobody asks for a whole report.
        is_counted = "_scan" in vars(self.capture)
        if not self.is_whole or not is_counted or self.capture.is_small:
            return ()
        return () if "displaced" in tables else ("displaced",)

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

"""Who had each CPU when: the ledger's tables, computed by native on first use."""

import re
from functools import cached_property
from typing import Self

from ..accessors import OfTimeline
from ..capture.recording import SMALL
from ..coverage import coverage_words, recorded_share
from ..display.tables import summary_html, summary_text
from ..errors import ArgumentError
from ..units import duration, ranges, share
from .data_frames import DataFrames
from .facts import Missing
from .memory import require_memory, too_large
from .tables import TABLES
from .window import Window

# Tables of questions about waiting, which need task lifetimes as well.
_WAITS = ("displaced", "slices")
# Softirqs, hardirqs and polls of this many events take about 400 MB.
_MOST_EVENTS = 5_000_000


# Matches a note with a count.
_COUNTED = re.compile(r"\d|the recorder counted")


class Timeline(DataFrames, OfTimeline):
    """The exclusive ownership of each CPU's time, over a window of a capture.

    Made by Capture.timeline. Each table is a DataFrame, computed on first use by a native pass over
    the capture and cached; load() computes several in one pass. Columns: docs/tables.md. All times
    are int64 ns on the capture's clock. The frames share native's memory: you may add columns, but
    copy a frame before writing into its existing ones. Every attribute raises CaptureError if CPU
    time cannot be assigned to owners: events without time or CPU, sampled tracepoints, a recording
    of one task.

    Attributes
    ----------
    capture : Capture
        The capture.
    window : Window
        The part of it, from window_named(): whose run it is, also in words.
    start_s, end_s : float or None
        The window, in seconds from the capture's start; None for the capture's own.
    cpus : list of int or None
        The requested CPUs; None for every recorded one.
    given_victim : int or str or None
        The task that questions are about; None to choose one (victim).
    """

    def load(self, *tables: str, allow_large: bool = False) -> Self:
        """Compute those of the named tables that are not yet cached, in one pass.

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
            For tables that would take more than half of the free memory. The message has the rows,
            the GiB and the alternatives.
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
        # A pass that follows waits makes native keep all rows, so that later tables take no pass.
        follows = self._is_excerpt or (tables and self.keeps_rows)
        kept = ("displaced",) if follows else ()
        together = self._missing(tuple(dict.fromkeys((*tables, *kept))))
        may_be_large = together and not allow_large and not self._is_excerpt
        if may_be_large and too_large(self, together):
            # Perhaps only the table that was not requested is too large.
            together = missing
            require_memory(self, together)
        beside = self._missing(self._beside(tuple(together)))
        return self.read(*together, *beside, for_lives=bool({*together, *beside} & {*_WAITS}))

    def _beside(self, tables: tuple[str, ...]) -> tuple[str, ...]:
        # Waits are often needed next, and in a large capture another pass takes longer than
        # following them now. A full report also counts events (a pass of its own): without counts
        # this is not one.
        is_counted = "_scan" in vars(self.capture)
        if not self.is_whole or not is_counted or self.capture.is_small:
            return ()
        return () if "displaced" in tables else ("displaced",)

    @cached_property
    def excerpt(self) -> "Timeline":
        """The part whose single interrupts, softirqs and polls are shown.

        The timeline itself, or for a capture whose rows do not fit in memory a window in its middle
        with about as many events as a small capture has.
        """
        # duration_ns makes the first pass, which also counts the events.
        span, events = self.duration_ns, self.capture.event_count
        if events <= _MOST_EVENTS or not span:
            return self
        width = max(span * min(_MOST_EVENTS, SMALL) // events, 1)
        start = self.offset_ns + (span - width) // 2
        part = Timeline(self.capture, Window(start / 1e9, (start + width) / 1e9), self.cpus)
        # It is small enough to be its own excerpt.
        part.__dict__["excerpt"] = part
        part._is_excerpt = True
        return part

    @property
    def has_victims_run(self) -> bool:
        """Whether it contains all of the run of the bundle's victim, on every CPU."""
        return self.is_whole or (self.window.of == "victim" and not self.cpus)

    @property
    def notes(self) -> list[str]:
        """Caveats for a reader of the figures: contexts not recorded, losses, clocks.

        Native's counts are of the whole capture; in a window their notes say so.
        """
        bundle = self.capture.bundle
        notes = [*self.summary["notes"], *(bundle.given if bundle else ())]
        if self.start_s is None and self.end_s is None:
            return notes
        return [f"of the whole capture: {note}" if _COUNTED.match(note) else note for note in notes]

    @cached_property
    def missing(self) -> Missing:
        """Why each fact (on_cpu, waits, displaced, ...) is not known here, "" if it is."""
        return Missing(self)

    @cached_property
    def unknown_cpu_share(self) -> float | None:
        """The share of CPU time not recorded or without a known owner, 0 to 1; None if empty."""
        by_context = self._by_context
        total = sum(by_context.values())
        return by_context.get("unknown", 0) / total if total else None

    @property
    def _by_context(self) -> dict[str, int]:
        from .owners import summed

        if "comm" in self._owned:
            return summed((row.context, row.ns) for row in self._owned["comm"])
        # Do not cache the rows of all owners: an export never uses them.
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
        """The share of the recorded time whose owner is known, 0 to 1; None if nothing was."""
        if self.unknown_cpu_share is None or not self.recorded:
            return None
        return min(1.0, (1 - self.unknown_cpu_share) / self.recorded)

    def _lines(self) -> list[tuple[str, str]]:
        summary = self.summary
        by_context = sorted(self._by_context.items(), key=lambda item: -item[1])
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

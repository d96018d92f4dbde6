"""A capture: its events, samples, mappings and symbols as data frames."""

from typing import TYPE_CHECKING

from .._native import CaptureError
from ..accessors import OfCapture
from ..display.tables import summary_html, summary_text
from ..errors import ArgumentError
from ..progress import progress
from ..units import duration, plural, share
from .event_rows import Chosen, events_table, samples_table
from .recorder import clock, recorder, require_perf
from .recording import Recording
from .within import within

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import pandas as pd

# Of event_batches(), in memory.
EVENTS_AT_ONCE = 100_000


class Capture(Recording, OfCapture):
    """One recording, and what a bundle holds beside it; open_capture makes one.

    Attributes
    ----------
    path, buffer : str, str or None
        As open_capture took them.
    bundle : Bundle or None
        The one that the recording came in, or that what was given beside it makes; None for a bare
        recording.
    beside : Sidecars
        What was given beside it.
    native : object
        The recording as the native reader has it: no part of what is kept stable.
    event_counts : object
        What is counted beside a timeline's pass: no part of it either.
    """

    def events(
        self,
        name: str,
        limit: int | None = None,
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        fields: list[str] | None = None,
    ) -> "pd.DataFrame":
        """The events of one tracepoint: in file order of a perf.data, else in order of time.

        Parameters
        ----------
        name : str
            As perf names it, "napi:napi_poll", or "napi_poll" where one system alone has such an
            event.
        limit : int, optional
            At most so many rows; all unless given.
        start_s, end_s : float, optional
            Those from then until before then, in seconds from the capture's start. Others take no
            memory, and little more than what lies before the end is read.
        cpus : list of int, optional
            Those that happened on these CPUs.
        fields : list of str, optional
            Of its own fields only these, as far as it has them: millions of events take less
            memory so.

        Returns
        -------
        pandas.DataFrame
            A row per event: time_ns (int64 ns on the capture's clock, masked Int64 where some
            events have none; time_cycles or time_order where the clock does not count ns),
            common_cpu, common_pid, common_comm (category), then every field of the recorded format
            under its own name; of a text the fields that it prints, or `text`.

        Raises
        ------
        CaptureError
            Where the capture has no such event, with the nearest names, and for an event of perf's
            that is no tracepoint: those have samples(). For a window outside the capture, a CPU
            that it does not have, and events that do not say when or where they happened.
        """
        from ..frames import to_frame

        table = events_table(self, name, Chosen(limit, start_s, end_s, cpus or ()), fields)
        found = within(to_frame(table), self, start_s, end_s, cpus)[:limit]
        return found.reset_index(drop=True)

    def event_batches(
        self,
        names: "Sequence[str]",
        fields: "Sequence[str] | None" = None,
        window: "tuple[int, int] | None" = None,
    ) -> "Generator[dict[str, pd.DataFrame]]":
        """The events of some tracepoints, a batch of them after the other: for any number of them.

        Parameters
        ----------
        names : list of str
            In full, "napi:napi_poll".
        fields : list of str, optional
            Of their own fields only these, as far as they have them.
        window : tuple of int, optional
            From when to when, ns on the capture's clock, both included.

        Yields
        ------
        dict of str to pandas.DataFrame
            By name, a frame as events() has it, by time; nothing is before what earlier ones had.
            One at least, which may have no rows; of a recording that is in no order of time, one.

        Raises
        ------
        ArgumentError
            For names that are no list.
        CaptureError
            Where the capture has no such event, and for events that do not say when they happened.
        """
        from ..frames import to_frame

        if isinstance(names, str):
            raise ArgumentError(f"names are a list: ['{names}']")
        batches = self.native.event_batches(names, fields, window, rows=EVENTS_AT_ONCE)
        try:
            for tables in batches:
                yield {name: to_frame(table) for name, table in tables.items()}
        finally:
            # Who stops early leaves no thread behind.
            batches.close()

    def all_events(self) -> "dict[str, pd.DataFrame]":
        """Every tracepoint's events in one pass.

        Returns
        -------
        dict of str to pandas.DataFrame
            By the tracepoint's name, a frame like that of events().
        """
        from ..frames import to_frame

        with progress("decoding") as advance:
            tables = self.native.all_events(advance)
        return {name: to_frame(table) for name, table in tables.items()}

    def samples(self, name: str, limit: int | None = None) -> "pd.DataFrame":
        """The samples of one event, tracepoint or not, in file order.

        Parameters
        ----------
        name : str
            As `netcost info` lists it, "cycles:u".
        limit : int, optional
            At most so many rows; all unless given.

        Returns
        -------
        pandas.DataFrame
            A row per sample: time_ns, cpu, pid, tid, comm, cpu_mode, ip, period, callchain,
            kernel_frames, then what else the event was told to sample; docs/tables.md#samples. The
            callchain is an Arrow-backed list, innermost frame first: `.explode("callchain")` makes
            a row per frame. The text of perf script has time_ns, cpu, tid, comm, period and
            callchain, and beside the addresses symbols and dsos.

        Raises
        ------
        CaptureError
            Where the capture has no such event, with the nearest names, and for a capture that is
            none of perf's: those have events() alone.
        """
        from ..frames import to_frame

        return to_frame(samples_table(self, name, limit))

    def mappings(self) -> "pd.DataFrame":
        """What was mapped where.

        Returns
        -------
        pandas.DataFrame
            A row per MMAP or MMAP2 record; columns: docs/tables.md.

        Raises
        ------
        CaptureError
            For a capture that is none of perf's.
        """
        from ..frames import to_frame

        require_perf(self.header, "mappings")
        with progress("reading the mappings") as advance:
            return to_frame(self.native.mappings(advance))

    def kernel_symbols(self) -> "pd.DataFrame":
        """Kernel code that came and went while recording (BPF programs, trampolines).

        Returns
        -------
        pandas.DataFrame
            A row per KSYMBOL record; columns: docs/tables.md.

        Raises
        ------
        CaptureError
            For a capture that is none of perf's.
        """
        from ..frames import to_frame

        require_perf(self.header, "records of kernel symbols")
        with progress("reading the kernel's symbols") as advance:
            return to_frame(self.native.kernel_symbols(advance))

    def kallsyms(self) -> "pd.DataFrame | None":
        """The recorded /proc/kallsyms, or the one that was given.

        Returns
        -------
        pandas.DataFrame or None
            A row per symbol: address, type (as nm has it), name, module (null for the kernel's
            own). None where it was not recorded.
        """
        from ..parsers.kallsyms import parse_kallsyms

        text = self._kallsyms or self.native.kallsyms() or self.kallsyms_beside()
        return None if text is None else parse_kallsyms(text)

    def __repr__(self) -> str:
        return summary_text(self._lines())

    def _repr_html_(self) -> str:
        return summary_html(self._lines())

    def _lines(self) -> list[tuple[str, str]]:
        try:
            info = self.info
        except CaptureError as error:
            return [("", f"Capture {self.path}"), ("error", str(error))]
        counts = sorted(info["events"].items(), key=lambda item: -item[1])
        events = [f"{name} {count:,}" for name, count in counts[:8] if count]
        more = sum(count > 0 for _, count in counts[8:])
        if more:
            events.append(f"{more} more")
        lines = [
            ("", f"Capture {self.path}"),
            (
                "recorded",
                f"{info['format']}, {recorder(info)}, "
                f"kernel {info.get('kernel') or 'unknown'}, {info.get('arch') or 'unknown arch'}",
            ),
            (
                "window",
                f"{duration(info['duration_ns'])} on "
                f"{plural(len(info['cpus']), 'CPU') if info['cpus'] else 'unknown CPUs'}, "
                f"clock {clock(info)}",
            ),
            (
                "events",
                f"{self.event_count:,}: {', '.join(events)}",
            ),
            (
                "lost",
                plural(info["lost_events"], "event")
                + (", and an unknown number" if info["lost_unknown"] else "")
                + f"; {share(None if self.refusal else info['recorded']) or 'an unknown part'} "
                "of CPU time recorded without loss",
            ),
        ]
        if self.bundle and self._is_bundle:
            lines.append(("bundle", self.bundle.summary))
        notes = [*info["notes"], self.refusal] if self.refusal else info["notes"]
        lines.extend(("note", note) for note in notes)
        return lines

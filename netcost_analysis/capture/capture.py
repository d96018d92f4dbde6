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

# The most events that event_batches() holds in memory.
EVENTS_AT_ONCE = 100_000


class Capture(Recording, OfCapture):
    """One recording, and what a bundle holds beside it; open_capture makes one.

    Attributes
    ----------
    path, buffer : str, str or None
        As given to open_capture.
    bundle : Bundle or None
        The bundle that the recording came in, or one made of the files given beside it; None for a
        bare recording.
    beside : Sidecars
        What was given beside it.
    native : object
        The native reader. Not part of the stable interface.
    event_counts : object
        Event counts taken along with a timeline's pass. Not part of the stable interface either.
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
        """The events of one tracepoint, in file order for a perf.data, else in order of time.

        Parameters
        ----------
        name : str
            As perf names it, "napi:napi_poll"; or "napi_poll" if only one system has that event.
        limit : int, optional
            The most rows to return; all unless given.
        start_s, end_s : float, optional
            Keep events from start_s until just before end_s, in seconds from the capture's start.
            Other events take no memory, and reading stops soon after end_s.
        cpus : list of int, optional
            Keep events on these CPUs.
        fields : list of str, optional
            Of the tracepoint's own fields keep only these, where present, to save memory.

        Returns
        -------
        pandas.DataFrame
            A row per event: time_ns (int64 ns on the capture's clock, masked Int64 where some
            events have none; time_cycles or time_order where the clock does not count ns),
            common_cpu, common_pid, common_comm (category), then every field of the recorded format
            under its own name. A text recording has the fields that it prints, or `text`.

        Raises
        ------
        CaptureError
            For an event that the capture does not have (with the nearest names), a perf event that
            is not a tracepoint (use samples()), a window outside the capture, a CPU that it does
            not have, and events without a time or CPU.
        """
        from ..frames import to_frame

        table = events_table(self, name, Chosen(limit, start_s, end_s, cpus or ()), fields)
        events = within(to_frame(table), self, start_s, end_s, cpus)[:limit]
        return events.reset_index(drop=True)

    def event_batches(
        self,
        names: "Sequence[str]",
        fields: "Sequence[str] | None" = None,
        window: "tuple[int, int] | None" = None,
    ) -> "Generator[dict[str, pd.DataFrame]]":
        """The events of some tracepoints, in batches, so that any number of events fits in memory.

        Parameters
        ----------
        names : list of str
            Full names, "napi:napi_poll".
        fields : list of str, optional
            Of the tracepoints' own fields keep only these, where present.
        window : tuple of int, optional
            First and last time, ns on the capture's clock, both inclusive.

        Yields
        ------
        dict of str to pandas.DataFrame
            By name, a frame like that of events(), sorted by time. No event is earlier than those
            of the batches before. There is at least one batch, which may have no rows, and only one
            for a recording that is not in order of time.

        Raises
        ------
        ArgumentError
            For names that are not a list.
        CaptureError
            For an event that the capture does not have, and for events without a time.
        """
        from ..frames import to_frame

        if isinstance(names, str):
            raise ArgumentError(f"names must be a list: ['{names}']")
        batches = self.native.event_batches(names, fields, window, rows=EVENTS_AT_ONCE)
        try:
            for tables in batches:
                yield {name: to_frame(table) for name, table in tables.items()}
        finally:
            # Stopping early must leave no thread behind.
            batches.close()

    def all_events(self) -> "dict[str, pd.DataFrame]":
        """Every tracepoint's events in one pass.

        Returns
        -------
        dict of str to pandas.DataFrame
            By tracepoint name, a frame like that of events().
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
            The most rows to return; all unless given.

        Returns
        -------
        pandas.DataFrame
            A row per sample: time_ns, cpu, pid, tid, comm, cpu_mode, ip, period, callchain,
            kernel_frames, then whatever else the event sampled; docs/tables.md#samples. The
            callchain is an Arrow-backed list, innermost frame first: `.explode("callchain")` makes
            a row per frame. The text of perf script has time_ns, cpu, tid, comm, period and
            callchain, and symbols and dsos beside the addresses.

        Raises
        ------
        CaptureError
            For an event that the capture does not have (with the nearest names), and for a capture
            that perf did not record: it has only events().
        """
        from ..frames import to_frame

        return to_frame(samples_table(self, name, limit))

    def mappings(self) -> "pd.DataFrame":
        """The recorded memory mappings.

        Returns
        -------
        pandas.DataFrame
            A row per MMAP or MMAP2 record; columns: docs/tables.md.

        Raises
        ------
        CaptureError
            For a capture that perf did not record.
        """
        from ..frames import to_frame

        require_perf(self.header, "mappings")
        with progress("reading the mappings") as advance:
            return to_frame(self.native.mappings(advance))

    def kernel_symbols(self) -> "pd.DataFrame":
        """Kernel code that was loaded or unloaded while recording (BPF programs, trampolines).

        Returns
        -------
        pandas.DataFrame
            A row per KSYMBOL record; columns: docs/tables.md.

        Raises
        ------
        CaptureError
            For a capture that perf did not record.
        """
        from ..frames import to_frame

        require_perf(self.header, "records of kernel symbols")
        with progress("reading the kernel's symbols") as advance:
            return to_frame(self.native.kernel_symbols(advance))

    def kallsyms(self) -> "pd.DataFrame | None":
        """The symbols of /proc/kallsyms, as given beside the recording or else as recorded.

        Returns
        -------
        pandas.DataFrame or None
            A row per symbol: address, type (as in nm), name, module (null for the kernel itself).
            None if there is no kallsyms.
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

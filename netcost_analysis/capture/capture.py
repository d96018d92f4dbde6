"""Opening a recording: what is in it, its events, and the timeline computed from them."""

from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from .. import _native
from .._native import CaptureError
from ..coverage import recorded_share
from ..display.tables import summary_html, summary_text
from ..errors import require_text
from ..progress import progress
from ..units import duration, not_recorded, plural, share
from .ahead import Ahead
from .bundle import bundle_at
from .event_names import require_event
from .given import Beside, kallsyms_text
from .kallsyms import kallsyms_beside, read_kallsyms
from .recorder import clock, is_perf, recorder, require_perf, require_samples

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import pandas as pd

    from ..questions.accessors import RecordingAsk
    from ..timeline.timeline import Timeline
    from ..timeline.window import Named

# Of event_batches(), in memory.
EVENTS_AT_ONCE = 100_000
# Bytes that an event takes at least, on average (docs/capture.md), in recordings of perf or texts,
# and in those of rings; how many bytes a packed one stands for.
_EVENT_BYTES, _RING_EVENT_BYTES, _PACKED = 72, 32, 10


def open_capture(
    path: str | Path,
    buffer: str | None = None,
    *,
    victim_output: str | Path | None = None,
    victim_cpu: int | None = None,
    baseline_output: str | Path | None = None,
    kernel_config: str | Path | None = None,
    before: str | Path | None = None,
    after: str | Path | None = None,
    tsc_hz: float | None = None,
    kallsyms: str | Path | None = None,
    symbols: str | Path | None = None,
) -> "Capture":
    """Open a recording; only its headers are read, and what is given beside it.

    What a bare recording lacks can be given, and all that a bundle can be asked can then be asked
    of it, as far as that goes: docs/bundle.md. What is given beside a bundle goes before its own.

    Parameters
    ----------
    path : str or Path
        A perf.data or trace.dat file, the text of `perf script`, `trace-cmd report` or ftrace, the
        directory `perf record --threads` writes, a copy of tracefs, a bundle directory with a
        manifest.json, such a bundle in one file (.tar.zst, .tar.gz) as netcost-pack makes it, or
        "-" for standard input.
    buffer : str, optional
        Which ftrace instance of a trace.dat; the top one unless given.
    victim_output : str or Path, optional
        What `openssl speed` wrote while it was recorded, and behind it, where that is there, what a
        shell's `time` did.
    victim_cpu : int, optional
        The CPU that it was pinned to; the only one that the trace shows it on unless given.
    baseline_output : str or Path, optional
        What it wrote without the load.
    kernel_config : str or Path, optional
        The kernel's configuration: /boot/config-RELEASE, /proc/config.gz.
    before, after : str or Path, optional
        Folders of copies of files of /proc, named as in a bundle, of before the victim started and
        after it ended.
    tsc_hz : float, optional
        How many cycles of its clock make a second, where that counts cycles (x86-tsc) and the
        recording does not say.
    kallsyms : str or Path, optional
        A copy of /proc/kallsyms since the boot that was recorded, which names the kernel's
        functions; it goes before one in the recording.
    symbols : str or Path, optional
        A folder with the programs that were recorded or what debuggers know of them: by build id
        (.build-id/ab/cdef.debug), by their whole path, or by their name. It is looked at before
        this machine's own files, and only where functions of programs are asked for.

    Returns
    -------
    Capture
        The recording, and what lies beside it.

    Raises
    ------
    CaptureError
        In one line, what is wrong and what to do.
    ArgumentError
        For a number that none can be, or a baseline without a victim.
    OSError
        For a file that is missing or unreadable.
    """
    beside = Beside(
        victim_output,
        victim_cpu,
        baseline_output,
        kernel_config,
        before,
        after,
        tsc_hz,
        kallsyms,
        symbols,
    )
    return Capture(path, buffer, beside.checked())


class Capture:
    """One recording, and what a bundle holds beside it; open_capture makes one.

    Attributes
    ----------
    path, buffer : str, str or None
        As open_capture took them.
    bundle : Bundle or None
        The one that the recording came in, or that what was given beside it makes; None for a bare
        recording.
    beside : Beside
        What was given beside it.
    native : object
        The recording as the native reader has it: no part of what is kept stable.
    ahead : object
        What is counted beside a timeline's pass: no part of it either.
    timelines : object
        Those of it that somebody has, which share what they have read; no part of it either.
    """

    def __init__(
        self, path: str | Path, buffer: str | None = None, beside: Beside | None = None
    ) -> None:
        self.path, self.buffer = str(path), buffer
        require_text(self.path, "path")
        require_text(buffer or "", "buffer's name")
        self.bundle = bundle_at(self.path)
        self._trace = str(self.bundle.trace) if self.bundle else self.path
        if self.bundle and not Path(self._trace).exists():
            name = self.bundle.manifest.trace
            raise CaptureError(
                f"the bundle has no trace: {name} was left out of it, and only its texts are here"
            )
        require_text(self._trace, "path")
        try:
            rolling = self.bundle is not None and self.bundle.manifest.until is not None
            self.native = _native.Capture(
                self._trace, buffer, beside and beside.cycles_per_s, rolling
            )
        except OSError as error:
            from .packed import named

            # Native says what went wrong, not with which file.
            raise type(error)(f"{named(self._trace)}: {error}") from None
        self.ahead = Ahead()
        self.timelines: WeakSet[Timeline] = WeakSet()
        self._is_bundle = self.bundle is not None
        self.beside = beside or Beside()
        self._kallsyms = None
        if self.beside.kallsyms is not None:
            self._kallsyms = kallsyms_text(Path(self.beside.kallsyms))
        if self.beside.symbols is not None and not Path(self.beside.symbols).is_dir():
            raise CaptureError(f"{self.beside.symbols} is no folder of programs")
        if beside and beside.is_of_bundle:
            from .beside import BesideBundle

            self.bundle = BesideBundle(copy(self), beside)

    @cached_property
    def header(self) -> dict[str, Any]:
        """What the headers say, without a pass over the events; fields: docs/cli.md."""
        return self.native.header()

    @cached_property
    def _scan(self) -> dict[str, Any]:
        with progress("reading the events") as advance:
            return self.native.scan(advance)

    @cached_property
    def info(self) -> dict[str, Any]:
        """A summary of plain values, one pass over the records: what `netcost info --json` prints.

        Keys: docs/cli.md. Times are int ns on the capture's clock, None where no event has one.
        Raises CaptureError where the records cannot be walked.
        """
        header, scan = self.header, self._scan
        start, end = scan["start_ns"], scan["end_ns"]
        # Without times in ns a gap has no length.
        coverage = [] if start is None else _rows(scan["coverage"])
        beside: list[str] = []
        if self.bundle:
            beside = self.bundle.notes if scan["lost_unknown"] else self.bundle.mended
            beside = [*beside, *self.bundle.given]
        known_of = {
            "path": self.path,
            "bundle": self._is_bundle,
            "kernel": header.get("os_release"),
            "start_ns": start,
            "end_ns": end,
            "duration_ns": None if start is None else end - start,
            "cpus": scan["cpus"],
            # A recording of some CPUs does not always say how many there are.
            "nr_cpus": (self.bundle and self.bundle.host_cpus) or header.get("nr_cpus"),
            "events": scan["events"],
            "records": scan["records"],
            "lost_events": scan["lost_events"],
            "lost_unplaced": scan["lost_unplaced"],
            "lost_unknown": scan["lost_unknown"],
            "guest_samples": scan["guest_samples"],
            "kallsyms": header["kallsyms"] or self.has_kallsyms_beside,
            "recorded": None
            if start is None
            else recorded_share(scan["cpus"], coverage, (start, end)),
            "coverage": coverage,
            "notes": list(dict.fromkeys([*header.get("notes", ()), *scan["notes"], *beside])),
        }
        formats = {event["name"]: event for event in header.get("events", ())}
        rest = {key: value for key, value in header.items() if key not in ("events", "os_release")}
        return {**rest, **known_of, "event_attrs": list(formats.values())}

    @cached_property
    def refusal(self) -> str | None:
        """Why the lines of a text make no ledger, in native's words; None where they do.

        One pass over the lines. Of other recordings always None: their headers decide, and asking
        for the ledger says so.
        """
        if self.header["format"] != "text":
            return None
        try:
            self.native.timeline([])
        except CaptureError as error:
            return str(error)
        return None

    def has_at_most(self, events: int) -> bool:
        """Whether it holds no more events than so many, as far as its bytes tell: without a pass.

        Parameters
        ----------
        events : int
            How many.

        Returns
        -------
        bool
            False also where nobody knows its bytes.
        """
        path = Path(self._trace)
        if not path.exists():
            return False
        files = path.rglob("*") if path.is_dir() else [path]
        size = sum(one.stat().st_size for one in files if one.is_file())
        is_packed = self.header["compressed"] or self.header["wrapped"]
        is_ring = self.header["format"] in ("trace.dat", "tracefs")
        each = _RING_EVENT_BYTES if is_ring else _EVENT_BYTES
        return size * (_PACKED if is_packed else 1) <= events * each

    @property
    def event_count(self) -> int:
        """How many events of all kinds it holds."""
        return sum(self._scan["events"].values())

    @property
    def start_ns(self) -> int:
        """The first event's time on the capture's clock.

        Raises CaptureError where no event has a time, or the clock does not count it in ns.
        """
        start, unit = self._scan["start_ns"], self.header["time_unit"]
        if unit != "ns":
            cycles = unit == "cycles"
            counts = "cycles of unknown length" if cycles else "events, not time"
            given = "give that length (--tsc-hz), or " if cycles else ""
            raise CaptureError(
                f"{self.path}: clock {self.header['clock']} counts {counts}, so it has no start in "
                f"seconds: {given}record with -C mono"
            )
        if start is None:
            raise CaptureError(
                f"{self.path}: no event has a time, so it has no start: record with -T"
            )
        return int(start)

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
        from .within import require_cpus, within, within_ns

        name = require_event(name, self.header.get("events", ()), fields=is_perf(self.header))
        window = within_ns(self, start_s, end_s)
        require_cpus(self, cpus)
        # Which of those at its very ends are in the window is known behind.
        most = limit if window is None else None
        with progress(f"decoding {name}") as advance:
            table = self.native.events(name, most, advance, window, cpus or None, fields)
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
        from ..errors import ArgumentError
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

        name = require_event(name, self.header.get("events", ()))
        require_samples(self.header, name)
        with progress(f"decoding {name}") as advance:
            return to_frame(self.native.samples(name, limit, advance))

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

    @property
    def has_kallsyms_beside(self) -> bool:
        """Whether /proc/kallsyms was given, or lies beside the recording."""
        return self._kallsyms is not None or kallsyms_beside(self._trace) is not None

    def kallsyms_beside(self) -> str | None:
        """The text of that one; None for none. One that was given goes first."""
        beside = kallsyms_beside(self._trace)
        if self._kallsyms is not None or beside is None:
            return self._kallsyms
        return read_kallsyms(beside)

    def timeline(
        self,
        start_s: float | None = None,
        end_s: float | None = None,
        cpus: list[int] | None = None,
        victim: int | str | None = None,
        window: "Named" = "trace",
    ) -> "Timeline":
        """Who had each CPU when, from the events; computed when its tables are asked for.

        Parameters
        ----------
        start_s, end_s : float, optional
            Seconds from the capture's start. The window clips, with state carried from before it.
        cpus : list of int, optional
            Those to include; every recorded one unless given.
        victim : int or str, optional
            The task, by comm or tid, that questions about a victim are of unless they are given
            one; one is chosen unless given (Timeline.victim).
        window : {"trace", "victim", "load", "auto"}
            Instead of start_s and end_s: all of it, while the victim ran, or while the load did.
            "auto" is the victim's run, else the load's, else the trace.

        Returns
        -------
        Timeline
            Of that window and those CPUs.

        Raises
        ------
        ValueError
            For a window that ends before it starts, or is named and given by its ends.
        CaptureError
            Where it is not known when that victim or load ran.
        """
        from ..timeline.timeline import Timeline

        return Timeline(self, start_s, end_s, cpus, victim, window)

    @cached_property
    def whole(self) -> "Timeline":
        """The timeline of all of it, kept: what several ask of it is computed once."""
        return self.timeline()

    @cached_property
    def ask(self) -> "RecordingAsk":
        """Its questions: ``capture.ask.TOPIC.QUESTION()``; shown by itself, a table of them."""
        from ..questions.ask import Ask

        return Ask(self)  # type: ignore[return-value]

    def victim_timeline(self) -> "Timeline":
        """The timeline of the bundle's victim: the CPU it was pinned to, while it ran.

        Where a part of its run was recorded (netcost-record --trace-for), of that part.

        Returns
        -------
        Timeline
            Of that time; where the bundle does not say when the victim ran, of the whole capture.

        Raises
        ------
        CaptureError
            For a recording without a victim or any event of its CPU, of one that ended before it
            started, or of none of its run.
        """
        victim = self.bundle.victim if self.bundle else None
        if victim is None:
            raise CaptureError(no_victim(self.path))
        cpu = victim.cpu
        if cpu is not None and cpu not in self.info["cpus"]:
            missing = not_recorded(cpu, self.info["cpus"])
            raise CaptureError(f"{self.path} has nothing of the victim's CPU: {missing}")
        known = victim.start_ns is not None and victim.end_ns is not None
        cpus = None if cpu is None else [cpu]
        return self.timeline(cpus=cpus, window="victim" if known else "trace")

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


def no_victim(path: str) -> str:
    """The line about a recording of which nobody knows whose loss was measured."""
    return (
        f"{path} has no victim: record one with --victim, or give what it wrote (--victim-output)"
    )


def _rows(table: Any) -> list[dict[str, Any]]:
    # An Arrow table as plain rows.
    columns = _native.columns(table)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

"""A recording: its headers, a summary from one pass over its records, and files beside it."""

from functools import cached_property
from pathlib import Path
from typing import Any

from .. import _native
from .._native import CaptureError
from ..arrow import rows
from ..coverage import recorded_share
from ..errors import require_text
from ..progress import progress
from ..unpacked import named
from .bundle import bundle_at
from .event_counts import EventCounts
from .sidecars import Sidecars, kallsyms_beside, kallsyms_text, read_kallsyms

# The least average bytes per event (docs/capture.md) of perf and text recordings, and of ring
# buffers; the compression ratio assumed for compressed ones.
_EVENT_BYTES, _RING_EVENT_BYTES, _PACKED = 72, 32, 10

# Rows of this many events take about 100 MB.
SMALL = 1_000_000


class Recording:
    """A Capture without the methods that read events."""

    def __init__(
        self, path: str | Path, buffer: str | None = None, beside: Sidecars | None = None
    ) -> None:
        self.path, self.buffer = str(path), buffer
        require_text(self.path, "path")
        require_text(buffer or "", "buffer's name")
        self.bundle = bundle_at(self.path)
        self._trace = str(self.bundle.trace) if self.bundle else self.path
        if self.bundle and not Path(self._trace).exists():
            name = self.bundle.manifest.trace
            raise CaptureError(
                f"the bundle has no trace: {name} was left out, and only the texts are here"
            )
        require_text(self._trace, "path")
        try:
            rolling = self.bundle is not None and self.bundle.manifest.until is not None
            self.native = _native.Capture(
                self._trace, buffer, beside and beside.cycles_per_s, rolling
            )
        except OSError as error:
            # Native's error does not name the file.
            said = error.strerror or str(error)
            raise OSError(error.errno, said, named(self._trace)) from None
        self.event_counts = EventCounts()
        self._is_bundle = self.bundle is not None
        self.beside = beside or Sidecars()
        self._kallsyms = None
        if self.beside.kallsyms is not None:
            self._kallsyms = kallsyms_text(Path(self.beside.kallsyms))
        if self.beside.symbols is not None and not Path(self.beside.symbols).is_dir():
            raise CaptureError(f"{self.beside.symbols} is not a folder of programs")

    @cached_property
    def header(self) -> dict[str, Any]:
        """The headers' contents, without a pass over the events; fields: docs/cli.md."""
        return self.native.header()

    @cached_property
    def _scan(self) -> dict[str, Any]:
        with progress("reading the events") as advance:
            return self.native.scan(advance)

    @cached_property
    def info(self) -> dict[str, Any]:
        """A summary of plain values from one pass over the records, as in `netcost info --json`.

        Keys: docs/cli.md. Times are int ns on the capture's clock, None if no event has one.
        Raises CaptureError if the records cannot be walked.
        """
        header, scan = self.header, self._scan
        start, end = scan["start_ns"], scan["end_ns"]
        # A gap has no length without times in ns.
        coverage = [] if start is None else rows(scan["coverage"])
        beside: list[str] = []
        if self.bundle:
            beside = self.bundle.notes if scan["lost_unknown"] else self.bundle.mended
            beside = [*beside, *self.bundle.given]
        summary = {
            "path": self.path,
            "bundle": self._is_bundle,
            "kernel": header.get("os_release"),
            "start_ns": start,
            "end_ns": end,
            "duration_ns": None if start is None else end - start,
            "cpus": scan["cpus"],
            # A recording of only some CPUs may not say how many the host has.
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
        return {**rest, **summary, "event_attrs": list(formats.values())}

    @cached_property
    def refusal(self) -> str | None:
        """Why no ledger can be computed from a text recording, in native's words; None if it can.

        Takes a pass over the lines. Always None for other recordings: their headers decide it, and
        computing the ledger raises.
        """
        if self.header["format"] != "text":
            return None
        try:
            self.native.timeline([])
        except CaptureError as error:
            return str(error)
        return None

    def has_at_most(self, events: int) -> bool:
        """Whether it holds at most this many events, estimated from its size without a pass.

        Parameters
        ----------
        events : int
            The limit.

        Returns
        -------
        bool
            False if its size is unknown, too.
        """
        if self._size is None:
            return False
        is_packed = self.header["compressed"] or self.header["wrapped"]
        is_ring = self.header["format"] in ("trace.dat", "tracefs")
        event_bytes = _RING_EVENT_BYTES if is_ring else _EVENT_BYTES
        return self._size * (_PACKED if is_packed else 1) <= events * event_bytes

    @cached_property
    def _size(self) -> int | None:
        # In bytes; None if it is not known, as for standard input.
        path = Path(self._trace)
        if not path.exists():
            return None
        files = path.rglob("*") if path.is_dir() else [path]
        return sum(file.stat().st_size for file in files if file.is_file())

    @cached_property
    def is_small(self) -> bool:
        """Whether it holds so few events, judging by its size, that all their rows are kept."""
        return self.has_at_most(SMALL)

    @property
    def event_count(self) -> int:
        """The number of events of all kinds."""
        return sum(self._scan["events"].values())

    @property
    def start_ns(self) -> int:
        """The first event's time on the capture's clock.

        Raises CaptureError if no event has a time or the clock does not count ns.
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

    @property
    def has_kallsyms_beside(self) -> bool:
        """Whether a copy of /proc/kallsyms was given, or lies beside the recording."""
        return self._kallsyms is not None or kallsyms_beside(self._trace) is not None

    def kallsyms_beside(self) -> str | None:
        """The text of that copy, None if there is none; one that was given takes precedence."""
        beside = kallsyms_beside(self._trace)
        if self._kallsyms is not None or beside is None:
            return self._kallsyms
        return read_kallsyms(beside)

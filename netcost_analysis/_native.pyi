"""The Rust decoder and ledger.

Tables arrive as Arrow: `pyarrow.table(x)` takes them without a copy.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

__version__: str
IS_DEBUG_BUILD: bool

class ArrowTable(Protocol):
    """Anything with the Arrow PyCapsule stream interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

Progress = Callable[[float], object]
# Tracepoints, the field to tell them apart by, a field to add up, windows.
Count = tuple[Sequence[str], str | None, str | None, Sequence[tuple[int, int]]]
# A tracepoint, its fields of the task, of its name and of its CPU, and until when the last counts.
TaskEvent = tuple[str, str, str | None, str | None, int | None]

# Why CPUs may not agree on the time, interrupt lines' devices, CPUs of nohz_full=, and of the
# devices' names how many have it, with how many NAPI instances at most.
HostFacts = tuple[str | None, dict[int, str], list[int], list[tuple[str, int, int | None]]]

class CaptureError(Exception):
    """A capture that cannot give what was asked; one line: what is wrong, where, what to do.

    kind: in a word, by the table in docs/definitions.md. offset: the byte of the file, where one
    is known.
    """

    kind: str
    offset: int | None

class Capture:
    """An opened capture: headers are read at once, samples by each call that needs them."""

    def __init__(
        self,
        path: str,
        buffer: str | None = None,
        cycles_per_s: int | None = None,
        rolling: bool = False,
    ) -> None:
        """rolling: what a kernel's ring lost before its oldest event was to be overwritten."""

    def header(self) -> dict[str, Any]: ...
    def scan(self, progress: Progress | None = None) -> dict[str, Any]: ...
    def is_surveyed(self) -> bool:
        """Whether a pass found out what is said of the whole recording."""

    def events(
        self,
        name: str,
        limit: int | None = None,
        progress: Progress | None = None,
        window: tuple[int, int] | None = None,
        cpus: Sequence[int] | None = None,
        fields: Sequence[str] | None = None,
    ) -> ArrowTable:
        """One tracepoint's events, in ns and of CPUs where these are given, both ends included.

        fields: the only ones of its own that are wanted; common_pid comes in any case.
        """

    def all_events(self, progress: Progress | None = None) -> dict[str, ArrowTable]: ...
    def samples(
        self, name: str, limit: int | None = None, progress: Progress | None = None
    ) -> ArrowTable: ...
    def stacks(
        self,
        name: str,
        kallsyms: str | None = None,
        kernel_only: bool = False,
        programs: bool = False,
        search: Sequence[str] | None = None,
        progress: Progress | None = None,
    ) -> dict[str, ArrowTable]:
        """The samples of one event, each different stack once, and the frames in them.

        kallsyms: the kernel's symbols, where the recording has none. kernel_only: one frame stands
        for user mode, and who called the kernel is left out: far fewer stacks. programs: addresses
        in user mode get their file (dso, build_id, file_offset). search: they get names too, from
        this machine's files: those in these folders, or else at the recorded paths.
        """

    def mappings(self, progress: Progress | None = None) -> ArrowTable: ...
    def kernel_symbols(self, progress: Progress | None = None) -> ArrowTable: ...
    def kallsyms(self) -> str | None: ...
    def fields(self, name: str) -> list[str]:
        """Of a tracepoint, without a pass: time_ns and common_cpu where all events have them."""

    def event_batches(
        self,
        names: Sequence[str],
        fields: Sequence[str] | None = None,
        window: tuple[int, int] | None = None,
        cpus: Sequence[int] | None = None,
        rows: int = 250_000,
        progress: Progress | None = None,
    ) -> Batches:
        """The events of tracepoints by time, some rows after the other; as events() has them.

        Each batch has a table for each name, and nothing that is before what earlier ones had.
        """

    def event_times(
        self, start_ns: int, end_ns: int, cpus: Sequence[int], progress: Progress | None = None
    ) -> ArrowTable:
        """A row per tracepoint's event in a window, ends included: cpu, time_ns, in their order."""

    def counts(
        self,
        wanted: Sequence[Count],
        progress: Progress | None = None,
    ) -> list[list[dict[tuple[int, int], int]] | None]:
        """Events of tracepoints within windows by CPU and a field's value, in one pass.

        wanted: names, the field (None: the key is 0), a field to add up instead of counting, and
        windows in ns. None where a tracepoint lacks a field, or times are not ns.
        """

    def timeline(
        self,
        tables: Sequence[str],
        start_ns: int | None = None,
        end_ns: int | None = None,
        cpus: Sequence[int] | None = None,
        host: HostFacts | None = None,
        counts: Sequence[Count] | None = None,
        task_events: Sequence[TaskEvent] | None = None,
        keep: bool = False,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The ledger in one pass, with what counts() and task_events() would return beside it.

        counts is None there where one of them could not be counted, or none was asked for.
        """

    def kept(
        self,
        tables: Sequence[str],
        start_ns: int | None = None,
        end_ns: int | None = None,
        cpus: Sequence[int] | None = None,
        host: HostFacts | None = None,
    ) -> dict[str, ArrowTable] | None:
        """The same tables without a pass, of rows that timeline() kept; None where it kept none."""

    def aggregates(
        self,
        wanted: Sequence[Any],
        start_ns: int | None = None,
        end_ns: int | None = None,
        cpus: Sequence[int] | None = None,
        host: HostFacts | None = None,
        rows: int | None = None,
        progress: Progress | None = None,
    ) -> list[dict[str, ArrowTable]]:
        """What a pass makes of the ledger's rows, behind one for the names: of each its tables.

        rows: how many are taken at once; None: all, and they stay in memory for what is asked next.
        Which tables come of which aggregate: native/src/ledger/aggregates.rs, enum Wanted.
        """

    def task_events(
        self, wanted: Sequence[TaskEvent], progress: Progress | None = None
    ) -> list[ArrowTable | None]:
        """Events of tasks, in one pass: time_ns, tid, and where the event has them comm and cpu.

        None of an event that tells not when or whom. Of one with a last time only the last of each
        task and CPU until then, in order of time.
        """

    def batches(
        self,
        tables: Sequence[str],
        start_ns: int | None = None,
        end_ns: int | None = None,
        cpus: Sequence[int] | None = None,
        host: HostFacts | None = None,
        rows: int = 1_000_000,
        progress: Progress | None = None,
    ) -> Batches:
        """The tables of timeline() but displaced, a batch of rows after the other.

        A second pass, after one of timeline() over the same part of the capture, which it makes
        itself where the last one was another.
        """

    def perfetto(
        self,
        path: str,
        counters: Sequence[tuple[str, str, Sequence[int], Sequence[float]]],
        start_ns: int | None = None,
        end_ns: int | None = None,
        cpus: Sequence[int] | None = None,
        host: HostFacts | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Writes a trace for Perfetto: bytes, events, slices, slice_bytes and notes.

        counters: name, unit, times, values. Two passes after one of timeline(), which it makes
        itself where there was none over the same part.
        """

class Batches:
    """Tables by name, batch by batch; the pass waits while nobody asks for the next."""

    def __iter__(self) -> Batches: ...
    def __next__(self) -> dict[str, ArrowTable]: ...
    def close(self) -> None:
        """Ends the pass before its end; its thread is gone when this returns."""

# CPU, begin, end, owner, task.
TileSegment = tuple[int, int, int, int, int]

class TileOwners:
    """Which owner and which task rows of segments are of: numbers given to the rows of the sums."""

    def __init__(
        self, sums: ArrowTable, of_rows: Sequence[tuple[int, int]], stolen: Sequence[bool]
    ) -> None:
        """stolen: by owner, whether its time was taken from a task by network work."""

class TileSums:
    """Shares of owners in buckets of time, at levels of which each has buckets twice as wide.

    Times are ns from origin_ns on. most: entries of 16 bytes of the finest level; all levels
    together have at most twice as many, or the last one alone.
    """

    base: int
    entries: int
    def __init__(
        self,
        owners: TileOwners,
        cpus: Sequence[int],
        origin_ns: int,
        duration_ns: int,
        most: int,
    ) -> None: ...
    def add(self, segments: ArrowTable, polls: ArrowTable) -> None: ...
    def finish(self) -> None: ...
    def begun(self, begin: int, end: int) -> int:
        """Segments that begin in a stretch, as whole buckets of the finest level have them."""

    def next(
        self, wanted: Sequence[bool], from_ns: int, cpu: int | None = None
    ) -> tuple[int, int] | None:
        """The next of the finest buckets, from that of from_ns on, with time of wanted owners."""

    def tile(self, level: int, index: int, kept: TileSegments | None = None) -> bytes: ...

class TileSegments:
    """Segments of a timeline, or of a part of it, in 16 bytes each.

    cpus: in order, with the number of segments that each will have, where it is known, or 0.
    """

    span: tuple[int, int]
    def __init__(
        self,
        owners: TileOwners,
        cpus: Sequence[tuple[int, int]],
        origin_ns: int,
        from_ns: int,
        to_ns: int,
    ) -> None: ...
    def __len__(self) -> int: ...
    def add(self, segments: ArrowTable, polls: ArrowTable) -> None: ...
    def finish(self) -> None: ...
    def at(self, cpu: int, time_ns: int) -> TileSegment | None: ...
    def next(
        self,
        wanted: Sequence[bool],
        after_ns: int,
        cpu: int | None = None,
        task: int | None = None,
    ) -> TileSegment | None:
        """The first segment that begins after a time, of wanted owners and on top of a task."""

class Replacements(Protocol):
    """What masking asks: docs/mask.md."""

    def replace(self, kind: str, original: bytes) -> bytes: ...
    def progress(self, fraction: float) -> None: ...

# Component, functions, modules, under, until, timer; functions that end interrupts; their entries.
NativeRule = tuple[int, Sequence[str], Sequence[str], Sequence[str], Sequence[str], str]
NativeRules = tuple[Sequence[NativeRule], Sequence[str], Sequence[str]]

def parts(
    capture: Capture,
    name: str,
    rules: NativeRules,
    is_timed: bool,
    kallsyms: str | None = None,
    programs: bool = False,
    search: Sequence[str] | None = None,
    cpu: int | None = None,
    start_ns: int | None = None,
    end_ns: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Samples of one event, summed up by all that questions about components tell apart.

    parts: (function, module, dso, in_kernel), (component, that by all rules but a timer's, the
    function that decided, the entry of an interrupt that had ended), (samples, weight, squares);
    questions/samples/component_sums.py. cpus: that have samples. has_names: whether any frame has.
    """

def classify(
    begins: bytes,
    places: bytes,
    leaves: bytes,
    samples: bytes,
    in_kernel: Sequence[bool],
    names: Sequence[tuple[str, str]],
    is_timed: bool,
    rules: NativeRules,
) -> list[bytes]:
    """Component, deciding frame, component beneath and ended interrupt of each stack.

    Numbers as bytes, of questions/functions/profile.py's Profile and Classified.
    """

def folded(symbol: str) -> str:
    """A symbol's function: without the endings of what the compiler parted from it."""

def matching(patterns: Sequence[str], names: Sequence[str]) -> list[bool]:
    """Of each name whether one of the patterns, as in a shell, is of it."""

def flame_svg(lines: Sequence[str], title: str, subtitle: str) -> str:
    """A flame graph as SVG, of folded stacks: `outermost;inner 12`.

    lines: in order, so that what has a caller in common stands together; no frame has a space.
    """

def mask_recording(path: str, out: str, replacements: Replacements) -> dict[str, int]: ...
def field_kind(event: str, field: str, shape: str, size: int) -> str:
    """What a tracepoint's field holds: keep, zero, or a kind of name; shape: int, text, bytes."""

def packing(path: str) -> str | None:
    """gzip, zstd, or None for a file that is not compressed."""

def first_bytes(path: str, size: int) -> bytes:
    """Up to `size` bytes of what a file holds, compressed or not."""

def is_archive(path: str) -> bool:
    """Whether a file begins as a tar archive, compressed or not; False if it cannot be read."""

def named_first(path: str) -> list[str] | None:
    """The names in an archive's checksums; None if these do not come first."""

def unpack(path: str, folder: str) -> str:
    """Unpack an archive, compare it with its checksums, and return the one folder in it.

    Raises CaptureError with the archive's name, OSError if a file cannot be read or written.
    """

def pack_file(path: str, out: str, packing: str) -> None: ...

"""A timeline's tables written as a dataset: a folder for each table, files for each CPU.

    DIR/netcost.json                      the recording, and what was written
    DIR/segments/cpu-0000-0000.parquet    CPU 0, first file; a large capture has several
    DIR/segments/cpu-0001-0000.parquet
    DIR/sums/part-0000.parquet            tables that are small or not per CPU

The CPU is a column rather than a folder cpu=3, which pandas would read as a category.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..capture.checksum import file_of
from ..errors import ArgumentError
from ..progress import Amount
from ..timeline.tables import STREAMED
from .folder import identity, require_free, whole, write_mark
from .parquet import SORTED, Described, Partition, described, plain
from .recorded import CPUS, recorded_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# Tables of few rows, written at once.
_SMALL = ("sums", "irqs")
TABLES = (*STREAMED, *_SMALL)
# Bytes of rows waiting for a full row group, over all tables and CPUs.
_MOST_WAITING = 64 << 20
# Rows per batch, over all tables.
_BATCH_ROWS = 100_000


@dataclass(frozen=True)
class ExportedTable:
    """A table that was written.

    Attributes
    ----------
    folder : str
        The path within the dataset's folder.
    rows, files, bytes : int
        Their numbers.
    sorted_by : tuple of str
        The column that sorts the rows of each CPU. The second counts where the first is null.
    """

    folder: str
    rows: int
    files: int
    bytes: int
    sorted_by: tuple[str, ...]


@dataclass(frozen=True)
class Exported:
    """A dataset that was written.

    Attributes
    ----------
    folder : str
        Its path.
    recording : dict
        What netcost.json says of the recording: docs/tables.md#as-parquet.
    tables : dict of str to ExportedTable
        The tables by name.
    """

    folder: str
    recording: dict[str, Any]
    tables: dict[str, ExportedTable]


def to_parquet(
    timeline: "Timeline",
    folder: str | Path,
    tables: Sequence[str] | None = None,
    *,
    events: Sequence[str] = (),
    samples: Sequence[str] = (),
    overwrite: bool = False,
) -> Exported:
    """Write tables as a dataset of Parquet files, all or nothing, like netcost convert.

    Each table is a folder with files for each CPU and rows sorted by time. pandas, Polars, DuckDB
    and Spark read a table's folder. Memory does not grow with the capture, except for events and
    samples. The recording, columns and units: docs/tables.md#as-parquet.

    Parameters
    ----------
    folder : str or Path
        A new folder.
    tables : sequence of str, optional
        Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage, sums, irqs;
        all of them by default.
    events : sequence of str
        Tracepoints whose events are written too, a table for each.
    samples : sequence of str
        Other events whose samples are written too, named as for Capture.samples().
    overwrite : bool
        Replace an existing dataset.

    Returns
    -------
    Exported
        What was written: rows, files and bytes by table.

    Raises
    ------
    ValueError
        For an unknown table, or an existing folder that is not a dataset to be replaced.
    CaptureError
        If CPU time cannot be assigned to owners, or if events or samples are absent or do not fit
        into memory.
    OSError
        If it cannot be written. Then nothing is.
    """
    chosen = TABLES if tables is None else tuple(dict.fromkeys(tables))
    unknown = set(chosen) - set(TABLES)
    if unknown or not (chosen or events or samples):
        named = ", ".join(sorted(unknown)) or "named"
        raise ArgumentError(f"no table {named} to write; there are {', '.join(TABLES)}")
    require_free(folder, overwrite)
    recorded = recorded_of(timeline.capture, events, samples)
    described = identity(timeline, ledger=bool(chosen))
    with whole(folder, overwrite) as draft:
        writer = _Writer(draft, described)
        for name in chosen:
            writer.start(name, name, SORTED.get(name, ()), is_ledgers=True)
        for event in recorded:
            writer.start(event.name, event.folder, event.sorted_by, is_ledgers=False)
        _write_ledger(writer, timeline, chosen)
        for event in recorded:
            writer.add(event.name, event.read(timeline))
        written = {name: table.close(draft) for name, table in writer.tables.items()}
        listed = {name: asdict(table) for name, table in written.items()}
        write_mark(draft, {**described, "tables": listed})
    return Exported(str(folder), described, written)


def _write_ledger(writer: "_Writer", timeline: "Timeline", chosen: tuple[str, ...]) -> None:
    for name in _SMALL:
        if name in chosen:
            writer.add(name, pa.table(timeline.table(name)))
    streamed = tuple(name for name in STREAMED if name in chosen)
    if not streamed:
        return
    path = file_of(timeline.capture)
    amount = Amount(timeline.capture.event_count, path.stat().st_size if path else 0)
    for batch in timeline.arrow_batches(*streamed, rows=_BATCH_ROWS, of=amount):
        for name, rows in batch.items():
            writer.add(name, pa.table(rows))


class _Writer:
    # Adds the rows of each table to the partitions of their CPUs.
    def __init__(self, folder: Path, recording: dict[str, Any]) -> None:
        self._folder, self._recording = folder, recording
        self.tables: dict[str, _Table] = {}

    def start(self, name: str, folder: str, sorted_by: tuple[str, ...], is_ledgers: bool) -> None:
        (self._folder / folder).mkdir(parents=True)
        self.tables[name] = _Table(folder, sorted_by, is_ledgers)

    def add(self, name: str, rows: Any) -> None:
        table = self.tables[name]
        rows = plain(rows, table.names)
        if table.described is None:
            given = (table.sorted_by, table.is_ledgers)
            table.described = described(name, rows.schema, self._recording, *given)
        for stem, part in _by_cpu(rows, name in _SMALL):
            if stem not in table.partitions:
                folder = self._folder / table.folder
                table.partitions[stem] = Partition(folder, stem, table.described)
            table.partitions[stem].add(part)
        self._relieve()

    def _relieve(self) -> None:
        # Write the fullest partition first, for large row groups.
        parts = [part for table in self.tables.values() for part in table.partitions.values()]
        waiting = sum(part.waiting for part in parts)
        for part in sorted(parts, key=lambda part: -part.waiting):
            if waiting <= _MOST_WAITING:
                return
            waiting -= part.waiting
            part.write()


@dataclass
class _Table:
    folder: str
    sorted_by: tuple[str, ...]
    is_ledgers: bool
    described: Described | None = None
    names: dict[str, Any] = field(default_factory=dict)
    partitions: dict[str, Partition] = field(default_factory=dict)

    def close(self, folder: Path) -> ExportedTable:
        parts = list(self.partitions.values())
        if not parts:
            # An empty table still has a file, with its columns.
            assert self.described is not None
            parts = [Partition(folder / self.folder, "part", self.described)]
        for part in parts:
            part.close()
        rows, files, size = (
            sum(getattr(part, name) for part in parts) for name in ("rows", "files", "bytes")
        )
        return ExportedTable(self.folder, rows, files, size, self.sorted_by)


def _by_cpu(rows: Any, small: bool) -> "list[tuple[str, Any]]":
    # The rows of each CPU, which are contiguous, with the stem of their files. Readers take files
    # in the order of their names, so stems sort by CPU.
    column = next((name for name in CPUS if name in rows.column_names), None)
    if not len(rows):
        return []
    if column is None or small:
        return [("part", rows)]
    cpus = rows.column(column).fill_null(-1).to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(cpus)) + 1), len(cpus)]
    return [
        (f"cpu-{cpus[begin]:04}" if cpus[begin] >= 0 else "no-cpu", rows.slice(begin, end - begin))
        for begin, end in pairwise(edges)
    ]

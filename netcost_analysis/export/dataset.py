"""A timeline's tables written as a dataset: a folder for each table, files for each CPU.

    DIR/netcost.json                      what it is of, what was written
    DIR/segments/cpu-0000-0000.parquet    CPU 0, its first file; a large capture has several
    DIR/segments/cpu-0001-0000.parquet
    DIR/sums/part-0000.parquet            tables that no CPU's are, or that are small

The CPU is a column, and not in a folder's name: of cpu=3 pandas would make a category.
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

# Tables of a few rows, written in one go.
_SMALL = ("sums", "irqs")
TABLES = (*STREAMED, *_SMALL)
# Memory for rows whose row group is not full yet, over all tables and CPUs.
_MOST_WAITING = 64 << 20
# Rows of a batch over all tables.
_BATCH_ROWS = 100_000


@dataclass(frozen=True)
class ExportedTable:
    """A table that was written.

    Attributes
    ----------
    folder : str
        Within the dataset's.
    rows, files, bytes : int
        How many there are.
    sorted_by : tuple of str
        The column by which the rows of each CPU are sorted; of two the first where it is known.
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
        Where it is.
    recording : dict
        What it is of, as netcost.json has it: docs/tables.md#as-parquet.
    tables : dict of str to ExportedTable
        By the table's name its folder within the dataset's, rows, files, bytes, and the columns by
        which each CPU's rows are sorted.
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
    """Write tables as a dataset of Parquet files, whole or not at all; netcost convert does.

    A folder for each table, a file for each CPU, rows by time; pandas, Polars, DuckDB and Spark
    read the folder of a table. Memory does not grow with the capture, but for events and
    samples. What it is of, columns and their units: docs/tables.md#as-parquet.

    Parameters
    ----------
    folder : str or Path
        One that is not there yet.
    tables : sequence of str, optional
        Any of segments, softirqs, hardirqs, polls, slices, migrations, coverage, sums, irqs;
        all of them unless given.
    events : sequence of str
        Tracepoints whose events are written too, a table of each.
    samples : sequence of str
        Other events whose samples are, as Capture.samples() names them.
    overwrite : bool
        Replace a dataset that is there.

    Returns
    -------
    Exported
        What was written: rows, files and bytes by table.

    Raises
    ------
    ValueError
        For another table, and a folder that is there, unless it is a dataset to be replaced.
    CaptureError
        For a capture that cannot be told apart into owners, and events or samples that it does
        not have or that do not fit into memory.
    OSError
        Where it cannot be written: then nothing is.
    """
    chosen = TABLES if tables is None else tuple(dict.fromkeys(tables))
    unknown = set(chosen) - set(TABLES)
    if unknown or not (chosen or events or samples):
        named = ", ".join(sorted(unknown)) or "named"
        raise ArgumentError(f"no table {named} to write; there are {', '.join(TABLES)}")
    require_free(folder, overwrite)
    recorded = recorded_of(timeline.capture, events, samples)
    said = identity(timeline, ledger=bool(chosen))
    with whole(folder, overwrite) as draft:
        writer = _Writer(draft, said)
        for name in chosen:
            writer.start(name, name, SORTED.get(name, ()), is_ledgers=True)
        for event in recorded:
            writer.start(event.name, event.folder, event.sorted_by, is_ledgers=False)
        _write_ledger(writer, timeline, chosen)
        for event in recorded:
            writer.add(event.name, event.read(timeline))
        written = {name: table.close(draft) for name, table in writer.tables.items()}
        listed = {name: asdict(table) for name, table in written.items()}
        write_mark(draft, {**said, "tables": listed})
    return Exported(str(folder), said, written)


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
    # Rows of all tables, each to the partition of its CPU.
    def __init__(self, folder: Path, said: dict[str, Any]) -> None:
        self._folder, self._said = folder, said
        self.tables: dict[str, _Table] = {}

    def start(self, name: str, folder: str, sorted_by: tuple[str, ...], is_ledgers: bool) -> None:
        (self._folder / folder).mkdir(parents=True)
        self.tables[name] = _Table(folder, sorted_by, is_ledgers)

    def add(self, name: str, rows: Any) -> None:
        table = self.tables[name]
        rows = plain(rows, table.names)
        if table.described is None:
            given = (table.sorted_by, table.is_ledgers)
            table.described = described(name, rows.schema, self._said, *given)
        for stem, part in _by_cpu(rows, name in _SMALL):
            if stem not in table.partitions:
                folder = self._folder / table.folder
                table.partitions[stem] = Partition(folder, stem, table.described)
            table.partitions[stem].add(part)
        self._relieve()

    def _relieve(self) -> None:
        # The fullest first: it gives the largest row group.
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
    # The rows of each CPU, which are contiguous, and the stem of their files. Readers go through
    # files by name, so stems sort by CPU.
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

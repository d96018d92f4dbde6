"""A table as Parquet files: its schema, which defines each column, and its row groups."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..display.export import notes_for_pandas
from ..frames import is_list, to_frame
from ..schema import column, is_instant

# Columns that sort the rows of a CPU. Where the first is null, the second counts.
SORTED = {
    "segments": ("start_ns",),
    "softirqs": ("entry_ns", "exit_ns"),
    "hardirqs": ("entry_ns", "exit_ns"),
    "polls": ("end_ns",),
    "slices": ("in_ns",),
    "migrations": ("time_ns",),
    "coverage": ("start_ns",),
}
_OF_CLASS = re.compile(r"softirq_(?P<vec>.+?)_(?P<of>from_idle|scheduled|s[a-z_]+)_ns")
# Maximum rows per row group. A reader of a window skips groups by their statistics.
ROW_GROUP = 65_536
# A file's footer stays in memory until it is finished, so bound its row groups.
_MOST_ROW_GROUPS = 256
# Bytes per page. Each page has its own statistics.
_PAGE = 65_536
# Merge more pieces than this: each has its own copy of the names.
_MOST_PIECES = 8
# Cut longer dictionaries to the names that a row group uses.
_MANY_NAMES = 256


@dataclass(frozen=True)
class Described:
    """A table's schema, and how to write its columns.

    schema: Arrow's, with metadata. sorted_by: columns that sort the rows. instants: columns of
    times. dictionaries: columns of repeating values.
    """

    schema: Any
    sorted_by: tuple[str, ...]
    instants: tuple[str, ...]
    dictionaries: list[str]


def plain(table: Any, names: dict[str, Any]) -> Any:
    """An Arrow table without dictionaries of numbers, for which Parquet has no type.

    names: by column, the dictionary of earlier tables. An equal one is reused, because a reference
    to a batch's own dictionary keeps the whole batch in memory.
    """
    for place, field in enumerate(table.schema):
        kind, rows = field.type, table.column(place)
        if not pa.types.is_dictionary(kind):
            continue
        if not pa.types.is_string(kind.value_type):
            kind = kind.value_type
            rows = rows.cast(kind)
        else:
            chunks = [_renamed(chunk, field.name, names) for chunk in rows.chunks]
            rows = pa.chunked_array(chunks, kind)
        table = table.set_column(place, field.with_type(kind), rows)
    return table


def _renamed(rows: Any, column: str, names: dict[str, Any]) -> Any:
    known = names.get(column)
    if known is None or not known.equals(rows.dictionary):
        known = names[column] = rows.dictionary.take(np.arange(len(rows.dictionary)))
    return pa.DictionaryArray.from_arrays(rows.indices, known)


def described(
    table: str, source: Any, recording: dict[str, Any], sorted_by: tuple[str, ...], is_ledgers: bool
) -> Described:
    """The schema to write for a plain() table with Arrow schema source.

    is_ledgers: its columns are declared in columns.toml, unlike those of events.
    """
    fields = [_described(table, field, is_ledgers) for field in source]
    metadata = {
        "netcost": json.dumps({**recording, "table": table, "sorted_by": list(sorted_by)}),
        # This makes pandas read nullable integers and categories.
        "pandas": _for_pandas(source),
    }
    instants = tuple(
        field.name
        for field in fields
        if pa.types.is_int64(field.type)
        and (
            field.name in sorted_by
            or (is_ledgers and (is_instant(f"{table}.{field.name}") or is_instant(field.name)))
        )
    )
    return Described(
        pa.schema(fields, metadata),
        sorted_by,
        instants,
        [field.name for field in fields if field.name not in instants and not is_list(field.type)],
    )


def _described(table: str, field: Any, is_ledgers: bool) -> Any:
    if not is_ledgers and field.name != "time_ns":
        return field.remove_metadata()
    if table == "slices" and (of := _OF_CLASS.fullmatch(field.name)):
        definition = (
            f"time of {of['vec']} softirqs of cost class `{of['of']}` within the slice, with their "
            "polls"
        )
        return field.with_metadata({"unit": "ns", "definition": definition})
    declared = column(f"{table}.{field.name}") or column(field.name)
    if declared is None:
        return field.remove_metadata()
    metadata = {"definition": declared.definition}
    if declared.unit is not None:
        metadata["unit"] = declared.unit
    return field.with_metadata(metadata)


def _for_pandas(source: Any) -> str:
    schema = pa.Schema.from_pandas(to_frame(source.empty_table()), preserve_index=False)
    # Leave out pandas' version, which must not change the bytes.
    creator = {"library": "pyarrow", "version": pa.__version__}
    return json.dumps({**notes_for_pandas(schema), "creator": creator})


class _Sink:
    # A file opened only to append, because there may be more partitions than a process may have
    # open files.
    def __init__(self, path: Path) -> None:
        self.closed = False
        self._path, self._held, self._at = path, bytearray(), 0

    def write(self, data: bytes) -> int:
        self._held += data
        self._at += len(data)
        return len(data)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def append(self) -> None:
        try:
            with self._path.open("ab") as file:
                file.write(self._held)
        except OSError as error:
            # The original error does not name the file.
            raise OSError(error.errno, error.strerror, str(self._path)) from None
        self._held.clear()


class Partition:
    """The rows of one table on one CPU, in the order added.

    folder: must exist. stem: begins the files' names. Attributes: rows, files and bytes written;
    waiting, the bytes of rows not yet written.
    """

    def __init__(self, folder: Path, stem: str, described: Described) -> None:
        self.rows = self.files = self.bytes = self.waiting = 0
        self._folder, self._stem, self._described = folder, stem, described
        self._pieces: list[Any] = []
        self._count = 0
        self._sink: _Sink | None = None
        self._writer: Any = None
        self._row_groups = 0

    def add(self, rows: Any) -> None:
        """Take rows, an Arrow table of the described schema. Full row groups are written."""
        at = 0
        while at < len(rows):
            piece = rows.slice(at, ROW_GROUP - self._count)
            at += len(piece)
            # Copy the slice, which would keep the whole batch in memory.
            piece = piece.take(np.arange(len(piece)))
            self._pieces.append(piece)
            self._count += len(piece)
            self.waiting += _bytes(piece)
            if self._count == ROW_GROUP:
                self.write()
            elif len(self._pieces) > _MOST_PIECES:
                self._pieces = [pa.concat_tables(self._pieces).combine_chunks()]

    def write(self) -> None:
        """Write the waiting rows as a row group."""
        if not self._count:
            return
        self._write(pa.concat_tables(self._pieces).combine_chunks())
        self._pieces, self._count, self.waiting = [], 0, 0
        if self._row_groups == _MOST_ROW_GROUPS:
            self._finish()

    def close(self) -> None:
        """Write the waiting rows and finish. Without any rows, write an empty file."""
        self.write()
        if not self.files:
            self._write(self._described.schema.empty_table())
        self._finish()

    def _write(self, rows: Any) -> None:
        described = self._described
        if self._sink is None:
            self._sink = _Sink(self._folder / f"{self._stem}-{self.files:04}.parquet")
            self.files += 1
            self._writer = pq.ParquetWriter(
                self._sink,
                described.schema,
                compression="zstd",
                # Leave out times, which rarely repeat.
                use_dictionary=described.dictionaries,
                column_encoding=dict.fromkeys(described.instants, "DELTA_BINARY_PACKED"),
                sorting_columns=[
                    pq.SortingColumn(described.schema.get_field_index(name))
                    for name in described.sorted_by
                    if not described.schema.field(name).nullable
                ],
                data_page_size=_PAGE,
                write_page_index=True,
            )
        names = [_few_names(rows.column(place)) for place in range(rows.num_columns)]
        self._writer.write_table(pa.table(names, schema=described.schema), ROW_GROUP)
        self._sink.append()
        self.rows += len(rows)
        self._row_groups += 1

    def _finish(self) -> None:
        if self._sink is None:
            return
        self._writer.close()
        self._sink.append()
        self.bytes += self._sink.tell()
        self._sink = self._writer = None
        self._row_groups = 0


def _bytes(rows: Any) -> int:
    # Names do not count: pieces share them.
    return sum(
        len(rows) * column.type.index_type.bit_width // 8
        if pa.types.is_dictionary(column.type)
        else column.nbytes
        for column in rows.columns
    )


def _few_names(column: Any) -> Any:
    # Parquet writes a column's whole dictionary into each row group, so drop unused names.
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    used = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if len(used.dictionary) <= _MANY_NAMES:
        return column
    used = used.dictionary_decode().dictionary_encode()
    return pa.DictionaryArray.from_arrays(used.indices.cast(kind.index_type), used.dictionary)

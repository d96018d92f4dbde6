"""The rows of one table and one CPU as Parquet files, in row groups, with few rows in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .described import Described

# Most rows of a row group. A reader of a window skips others by their statistics.
ROW_GROUP = 65_536
# The footer stays in memory until the file is finished, so a file has a bounded number.
_MOST_ROW_GROUPS = 256
# Bytes of a page, which has statistics of its own.
_PAGE = 65_536
# More tables than this are merged: each has its own copy of the names.
_MOST_PIECES = 8
# A longer dictionary is cut to the names that a row group uses.
_MANY_NAMES = 256


class _Sink:
    # A file that is open only while it is written to, because there may be more partitions than
    # a process may have open files.
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
            # The system's error does not name the file.
            raise OSError(error.errno, error.strerror, str(self._path)) from None
        self._held.clear()


class Partition:
    """The rows of one table on one CPU, in the order in which they are added.

    folder: an existing one. stem: what its files' names begin with. Attributes: rows, files and
    bytes, what was written; waiting, the bytes of rows that are not.
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
        """Take rows, an Arrow table of the described schema; whole row groups are written."""
        at = 0
        while at < len(rows):
            piece = rows.slice(at, ROW_GROUP - self._count)
            at += len(piece)
            # Copy it: a slice would keep the whole batch in memory.
            piece = piece.take(np.arange(len(piece)))
            self._pieces.append(piece)
            self._count += len(piece)
            self.waiting += _bytes(piece)
            if self._count == ROW_GROUP:
                self.write()
            elif len(self._pieces) > _MOST_PIECES:
                self._pieces = [pa.concat_tables(self._pieces).combine_chunks()]

    def write(self) -> None:
        """Write the rows that wait, as a row group."""
        if not self._count:
            return
        self._write(pa.concat_tables(self._pieces).combine_chunks())
        self._pieces, self._count, self.waiting = [], 0, 0
        if self._row_groups == _MOST_ROW_GROUPS:
            self._finish()

    def close(self) -> None:
        """Write what waits, and finish; a partition without rows is a file without rows."""
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
                # Times rarely repeat.
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
    # Not counting the names, which pieces share.
    return sum(
        len(rows) * column.type.index_type.bit_width // 8
        if pa.types.is_dictionary(column.type)
        else column.nbytes
        for column in rows.columns
    )


def _few_names(column: Any) -> Any:
    # Parquet writes a column's whole dictionary into each row group: drop unused names.
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return column
    used = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if len(used.dictionary) <= _MANY_NAMES:
        return column
    used = used.dictionary_decode().dictionary_encode()
    return pa.DictionaryArray.from_arrays(used.indices.cast(kind.index_type), used.dictionary)

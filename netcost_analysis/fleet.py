"""A fleet: the answers to many captures, one Parquet file per capture.

A file has a single row, which holds the capture's rows of the other tables as lists, and is
replaced atomically. So however a run ends, a reader finds everything about a capture, or nothing.
docs/scaling.md defines the columns. netcost_analysis.gathering reads and asks the captures.
"""

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from ._native import CaptureError
from .accessors import OfFleet
from .errors import ArgumentError
from .files import replacing
from .units import plural

if TYPE_CHECKING:
    import pandas as pd


MARK = "fleet.json"
# A dataset of another format is refused.
FORMAT = 2
_TEXT, _COUNT, _SHARE = pa.string(), pa.int64(), pa.float64()
_TIME = pa.timestamp("us", tz="UTC")


def _fields(*columns: tuple[pa.DataType, str]) -> list[pa.Field]:
    return [pa.field(name, kind) for kind, names in columns for name in names.split()]


# Every table begins with these columns, so that each is useful by itself.
_IDENTITY = _fields((_TEXT, "path hostname kernel"), (_TIME, "recorded_at"))
_OF_CAPTURE = _fields(
    (_TEXT, "recorded_by sha256"),
    (_COUNT, "bytes"),
    (_TEXT, "modified netcost"),
    (_TIME, "answered_at"),
    (_COUNT, "took_ns"),
    (_TEXT, "error_kind error lacking arch format clock"),
    (_COUNT, "cpus duration_ns events lost_events"),
    (_TEXT, "state"),
    (_SHARE, "recorded_share owned_share"),
)
# Stored as lists in a capture's row; read back as tables.
_LISTS = {
    # One row for a capture that could be read.
    "answers": _fields(
        (_COUNT, "cpu_ns network_cpu_ns network_cpu_max_ns on_cpu_ns"),
        (_COUNT, "stolen_network_ns stolen_network_max_ns net_rx net_rx_ns"),
        (_COUNT, "with_polls squeezes_low squeezes_high"),
    ),
    "devices": _fields(
        (_TEXT, "namespace device driver"),
        (_COUNT, "ns hardirq_ns poll_ns cut_poll_ns interrupts polls packets timed_packets"),
        (_COUNT, "busy_polls rx_packets tx_packets"),
    ),
    # A row per bin; low and high are both inside it.
    "histograms": _fields((_TEXT, "histogram of"), (_COUNT, "low high count ns")),
}
_SCHEMA = pa.schema(
    [
        *(*_IDENTITY, *_OF_CAPTURE),
        *(pa.field(name, pa.list_(pa.struct(rows))) for name, rows in _LISTS.items()),
    ]
)
TABLES = ("captures", *_LISTS)


def is_dataset(folder: str | Path) -> bool:
    """Whether a folder holds the answers to a fleet."""
    return (Path(folder) / MARK).is_file()


def require_free(folder: str | Path) -> None:
    """Raise ArgumentError for a folder that contains anything but a dataset."""
    place = Path(folder)
    if is_dataset(place) or not place.exists():
        return
    # A killed run may have left drafts behind.
    drafts = f".{MARK}."
    if not place.is_dir() or any(not path.name.startswith(drafts) for path in place.iterdir()):
        raise ArgumentError(
            f"{place} is not empty and has no {MARK}: name a new folder, or that of a fleet"
        )


class Dataset:
    """The answers to a fleet, in an existing folder.

    Raises CaptureError if the folder is not a dataset or has another format than this netcost's.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._files = self.folder / "captures"
        if not is_dataset(self.folder):
            raise CaptureError(
                f"{self.folder} has no answers of a fleet: netcost fleet PATH... -o DIR makes them"
            )
        try:
            found = json.loads((self.folder / MARK).read_text(encoding="utf-8"))["netcost_fleet"]
        except (ValueError, KeyError, TypeError):
            found = None
        if found != FORMAT:
            raise CaptureError(
                f"{self.folder}/{MARK} is of format {found!r}, and this netcost reads {FORMAT}: "
                "ask again into a new folder"
            )

    @classmethod
    def create(cls, folder: str | Path) -> "Dataset":
        """The dataset in a folder, created if absent; raises as require_free."""
        require_free(folder)
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        if not is_dataset(place):
            with replacing(place / MARK) as draft:
                draft.write_text(json.dumps({"netcost_fleet": FORMAT}) + "\n", encoding="utf-8")
        (place / "captures").mkdir(exist_ok=True)
        return cls(place)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the write lock; raises ArgumentError if another process holds it."""
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(
                    f"another netcost fleet is writing to {self.folder}: wait until it is done"
                ) from None
            # Drafts that a killed run left behind.
            for draft in self._files.glob(".*.parquet"):
                draft.unlink()
            yield

    def file(self, path: str) -> Path:
        """The Parquet file of the capture at a path."""
        name = hashlib.sha256(path.encode(errors="surrogateescape")).hexdigest()[:32]
        return self._files / f"{name}.parquet"

    def write(self, row: Mapping[str, Any]) -> None:
        """Write a capture's row, replacing any earlier one."""
        table = pa.Table.from_pylist([dict(row)], schema=_SCHEMA)
        with replacing(self.file(row["path"])) as draft:
            # Statistics of one row and a second copy of the schema would be half of the file.
            # Compression stays at pyarrow's default, Snappy: small columns take three times as long
            # to read with zstd.
            pq.write_table(table, draft, write_statistics=False, store_schema=False)

    def update(self, path: str, **changes: Any) -> None:
        """Change some columns of a capture's row and keep the others."""
        file = self.file(path)
        try:
            [row] = pq.ParquetFile(file).read().cast(_SCHEMA).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(str(file), error) from None
        self.write(row | changes)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove the rows of these captures."""
        for path in paths:
            self.file(path).unlink(missing_ok=True)

    def scan(self, *columns: str) -> pa.Table:
        """A row per capture, sorted by path, with the named columns, or all.

        Raises CaptureError for a damaged file.
        """
        # Ignore files that netcost did not write.
        names = sorted(map(str, self._files.glob("[0-9a-f]*.parquet")))
        wanted = list(columns) or None
        if not names:
            return _SCHEMA.empty_table().select(wanted or _SCHEMA.names)
        files = ds.dataset(names, schema=_SCHEMA, format="parquet")
        try:
            captures = files.to_table(columns=wanted)
        except (pa.ArrowException, OSError):
            for file in files.get_fragments():
                try:
                    file.to_table(schema=_SCHEMA)
                except (pa.ArrowException, OSError) as error:
                    raise _unreadable(file.path, error) from None
            raise
        return captures.take(pc.sort_indices(captures, [("path", "ascending")]))


def _unreadable(path: str, error: Exception) -> CaptureError:
    line = str(error).partition("\n")[0]
    return CaptureError(f"{path} cannot be read: {line}")


def table_of(captures: pa.Table, name: str) -> pa.Table:
    """Extract one of TABLES from the captures' rows."""
    if name not in _LISTS:
        return captures.drop_columns(list(_LISTS))
    lists = captures[name].combine_chunks()
    whose = captures.select([field.name for field in _IDENTITY])
    return pa.Table.from_arrays(
        [*whose.take(pc.list_parent_indices(lists)).columns, *pc.list_flatten(lists).flatten()],
        schema=pa.schema([*_IDENTITY, *_LISTS[name]]),
    )


def open_fleet(path: str | Path) -> "Fleet":
    """Open the answers that netcost fleet or gather_fleet wrote.

    Parameters
    ----------
    path : str or Path
        The folder.

    Returns
    -------
    Fleet
        Its tables and questions.

    Raises
    ------
    CaptureError
        If the folder is not a fleet, or a netcost with another format wrote it.
    OSError
        If it cannot be read.
    """
    return Fleet(path)


class Fleet(OfFleet):
    """The answers to many captures; open_fleet makes one.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._data = Dataset(path)

    @cached_property
    def captures(self) -> "pd.DataFrame":
        """A row per capture, including unreadable ones; columns: docs/scaling.md."""
        return self._table("captures")

    @cached_property
    def answers(self) -> "pd.DataFrame":
        """A row per readable capture: sums over all of it."""
        return self._table("answers")

    @cached_property
    def devices(self) -> "pd.DataFrame":
        """A row per capture and device: its driver, time, interrupts, polls and packets."""
        return self._table("devices")

    @cached_property
    def histograms(self) -> "pd.DataFrame":
        """A row per capture, histogram and bin: low and high (both inclusive), count and ns."""
        return self._table("histograms")

    @cached_property
    def _rows(self) -> "pa.Table":
        return self._data.scan()

    def _table(self, name: str) -> "pd.DataFrame":
        import pandas as pd

        # Integers that may be null stay integers.
        masked = {pa.int64(): pd.Int64Dtype()}
        frame: pd.DataFrame = table_of(self._rows, name).to_pandas(types_mapper=masked.get)
        return frame

    @property
    def recording_to_name(self) -> str:
        """A hint for commands that take a recording rather than a fleet."""
        paths = self.answers["path"]
        return f"open one of its captures, as {paths.iloc[0]}" if len(paths) else "it has none"

    def __repr__(self) -> str:
        errors = int(self.captures["error_kind"].notna().sum())
        return f"Fleet {self.path}: {plural(len(self.captures), 'capture')}, {errors:,} unreadable"

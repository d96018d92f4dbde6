"""A fleet's dataset: a folder for each table, in it a Parquet file for each part.

A part holds the answers to some captures, in a file of one name in each table's folder. It is
there once the table of captures has it, which is written last. Of a capture in several parts the
last one counts. So whatever ends a run, a reader finds whole captures, each once.
"""

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .._native import CaptureError, __version__
from ..errors import ArgumentError
from ..files import replacing
from .tables import CAPTURES, FORMAT, SCHEMAS, Rows, table_of

MARK = "fleet.json"
_ENDING = ".parquet"
_PART = "part-{:06d}"
# In the order in which a part's are written.
_ORDER = (*(name for name in SCHEMAS if name != CAPTURES), CAPTURES)


def is_dataset(folder: str | Path) -> bool:
    """Whether a folder holds the answers to a fleet."""
    return (Path(folder) / MARK).is_file()


def require_free(folder: str | Path) -> None:
    """Raises ArgumentError for a folder that has something else in it than a dataset."""
    place = Path(folder)
    if is_dataset(place) or not place.exists():
        return
    # What a run that was killed has left.
    drafts = f".{MARK}."
    if not place.is_dir() or any(not one.name.startswith(drafts) for one in place.iterdir()):
        raise ArgumentError(
            f"{place} is not empty and has no {MARK}: name a new folder, or that of a fleet"
        )


class Dataset:
    """The answers to a fleet, in a folder.

    folder: an existing one; create makes one. Raises CaptureError where it is none, or newer than
    this netcost.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not is_dataset(self.folder):
            raise CaptureError(
                f"{self.folder} has no answers to a fleet: netcost fleet PATH... -o DIR makes them"
            )
        try:
            said = json.loads((self.folder / MARK).read_text(encoding="utf-8"))["netcost_fleet"]
        except (ValueError, KeyError, TypeError):
            said = None
        if said != FORMAT:
            raise CaptureError(
                f"{self.folder}/{MARK} is of format {said!r}, this netcost reads {FORMAT}"
            )

    @classmethod
    def create(cls, folder: str | Path) -> "Dataset":
        """The dataset of a folder, which is made where there is none.

        Raises ArgumentError for a folder in which there is something else.
        """
        require_free(folder)
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        if not is_dataset(place):
            with replacing(place / MARK) as draft:
                draft.write_text(json.dumps({"netcost_fleet": FORMAT}) + "\n", encoding="utf-8")
        for name in SCHEMAS:
            (place / name).mkdir(exist_ok=True)
        return cls(place)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While nobody else writes it. Raises ArgumentError where somebody does."""
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ArgumentError(
                    f"another netcost fleet writes {self.folder}: wait until it has ended"
                ) from None
            yield

    def parts(self) -> list[str]:
        """The names of its parts, the oldest first."""
        return sorted(path.stem for path in (self.folder / CAPTURES).glob(f"part-*{_ENDING}"))

    def file(self, table: str, part: str) -> Path:
        """Where a part of a table is."""
        return self.folder / table / f"{part}{_ENDING}"

    @cached_property
    def chosen(self) -> dict[str, str]:
        """Of each capture, by its path, the part whose answers count."""
        return {path: part for part in self.parts() for path in self._paths(part)}

    def _paths(self, part: str) -> list[str]:
        paths: list[str] = self._read(CAPTURES, part, ["path"]).column("path").to_pylist()
        return paths

    def _read(self, table: str, part: str, columns: list[str] | None = None) -> pa.Table:
        path = self.file(table, part)
        try:
            return pq.ParquetFile(path).read(columns=columns)
        except (pa.ArrowInvalid, pa.ArrowException, FileNotFoundError) as error:
            line = str(error).partition("\n")[0]
            raise CaptureError(f"{path} cannot be read: {line}") from None

    def read(self, table: str) -> pa.Table:
        """The rows of a table, of each capture the last ones, by path.

        Raises CaptureError for a file that is damaged.
        """
        schema = SCHEMAS[table]
        parts = (self._current(table, part).cast(schema) for part in self.parts())
        whole = pa.concat_tables([schema.empty_table(), *parts])
        # Stable: within a capture rows keep their order.
        return whole.take(pc.sort_indices(whole, [("path", "ascending")]))

    def _of_part(self, part: str) -> list[str]:
        return [path for path, chosen in self.chosen.items() if chosen == part]

    def _current(self, table: str, part: str, paths: list[str] | None = None) -> pa.Table:
        paths = self._of_part(part) if paths is None else paths
        rows = self._read(table, part)
        return rows.filter(pc.is_in(rows.column("path"), pa.array(paths, pa.string())))

    def add(self, rows: Rows) -> str:
        """Write a part: rows by table. Returns its name."""
        tables = {name: table_of(name, rows.get(name, ())) for name in SCHEMAS}
        return self._write({name: [table] for name, table in tables.items()})

    def _write(self, tables: Mapping[str, list[pa.Table]], name: str | None = None) -> str:
        last = max((int(part.rpartition("-")[2]) for part in self.parts()), default=0)
        name = name or _PART.format(last + 1)
        for table in _ORDER:
            schema = SCHEMAS[table].with_metadata({"netcost": __version__, "table": table})
            rows = pa.concat_tables([schema.empty_table(), *tables[table]]).cast(schema)
            with replacing(self.file(table, name)) as draft:
                pq.write_table(rows, draft, compression="zstd")
        self.__dict__.pop("chosen", None)
        return name

    def join(self, parts: list[str]) -> None:
        """Write several parts as one, which takes their place."""
        if len(parts) > 1:
            self._write({table: [self._current(table, one) for one in parts] for table in SCHEMAS})
            self.tidy()

    def tidy(self, kept: Callable[[str], bool] | None = None) -> None:
        """Remove what no reader reads: drafts, parts without captures, answers that were replaced.

        kept: whether the answers to the capture of a path stay; all of them unless given.
        """
        for table in SCHEMAS:
            for draft in (self.folder / table).glob(f".part-*{_ENDING}"):
                draft.unlink()
            for path in (self.folder / table).glob(f"part-*{_ENDING}"):
                if not self.file(CAPTURES, path.stem).exists():
                    path.unlink()
        for part in self.parts():
            paths = list(filter(kept, self._of_part(part))) if kept else self._of_part(part)
            if not paths:
                for table in reversed(_ORDER):
                    self.file(table, part).unlink(missing_ok=True)
            elif len(paths) < len(self._paths(part)):
                current = {table: [self._current(table, part, paths)] for table in SCHEMAS}
                self._write(current, part)
        self.__dict__.pop("chosen", None)

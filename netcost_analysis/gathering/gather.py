"""Asking many captures and keeping their answers: what is new or has changed, and nothing else."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .._native import __version__
from ..fleet.dataset import Dataset, is_dataset, require_free
from ..fleet.tables import SCHEMAS
from .answered import LASTING, Answered
from .bar import bar
from .cluster import ask_all, connected, in_turn
from .found import Found, found

# How long, or how many captures, answers wait until they are written: what a run that is killed
# has to ask again.
_EVERY_S, _EVERY = 30.0, 1_000
Engine = Callable[[Sequence[tuple[Found, str | None]]], Iterator[Answered]]


@dataclass(frozen=True)
class Gathered:
    """What a run did, in numbers of captures.

    Attributes
    ----------
    folder : str
        Where the answers are.
    captures, asked, same : int
        All that were named; those that were new or had changed; of the others those whose time or
        place had changed, and not their content.
    failed, removed : int
        Of all that were named those that could not be read; those whose answers were removed, for
        they were not named.
    """

    folder: str
    captures: int
    asked: int
    same: int
    failed: int
    removed: int


def gather_fleet(
    paths: Iterable[str | Path],
    folder: str | Path,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    prune: bool = False,
    one_by_one: bool = False,
) -> Gathered:
    """Ask many captures, and keep their answers as a dataset of Parquet files.

    Parameters
    ----------
    paths : iterable of str or Path
        Recordings, bundles, folders of them at any depth, globs of these, or URLs that fsspec
        opens. A capture is known by its path as it is named here.
    folder : str or Path
        The dataset's, which is made where there is none. Of captures whose answers it has, those
        are asked whose size or time is another and then their checksum, or that were asked by
        another version of netcost, or could not be read for want of memory, a worker or the file.
    scheduler : str, optional
        The address of a Dask cluster, tcp://HOST:8786, whose workers have this netcost and see the
        same paths. A local cluster unless given.
    workers : int, optional
        Of the local cluster; one for each core unless given.
    prune : bool
        Remove the answers to captures that are not named here.
    one_by_one : bool
        Without Dask, in this process.

    Returns
    -------
    Gathered
        How many were asked, were the same, could not be read.

    Raises
    ------
    ArgumentError
        For a path without a capture, a folder with something else in it, or one that another run
        writes.
    CaptureError
        Without Dask, or where its scheduler cannot be reached or ends.
    OSError
        For what cannot be listed or written.
    """
    every = found(map(str, paths))
    require_free(folder)
    with ExitStack() as opened:

        @cache
        def engine() -> Engine:
            if one_by_one:
                return in_turn
            client = opened.enter_context(connected(scheduler, workers))
            return lambda some: ask_all(client, some)

        if not is_dataset(folder):
            # Where no cluster is to be had, no folder is made.
            engine()
        data = Dataset.create(folder)
        opened.enter_context(data.locked())
        data.tidy()
        known = {row["path"]: row for row in data.read("captures").to_pylist()}
        rows = [(one, known.get(one.path)) for one in every]
        todo = [(one, _sum_of(row)) for one, row in rows if _is_new(one, row)]
        # The largest first: none of them is left to one worker at the end.
        todo.sort(key=lambda each: -(each[0].bytes or 0))
        same = _kept(data, todo, known, engine()) if todo else 0
        named = {one.path for one in every}
        removed = len(set(data.chosen) - named) if prune else 0
        if prune:
            data.tidy(named.__contains__)
        errors = data.read("captures").select(["path", "error_kind"]).to_pylist()
    failed = sum(row["error_kind"] is not None and row["path"] in named for row in errors)
    return Gathered(str(folder), len(every), len(todo) - same, same, failed, removed)


def _is_kept(row: dict[str, Any] | None) -> bool:
    # Whether answers count while the capture is the same.
    if row is None or row["netcost"] != __version__:
        return False
    return row["error_kind"] is None or row["error_kind"] in LASTING


def _is_new(one: Found, row: dict[str, Any] | None) -> bool:
    if row is None or not _is_kept(row):
        return True
    # Of what nobody knows it is not known either whether it has changed.
    seen = one.bytes is not None and one.modified != ""
    return not seen or (row["bytes"], row["modified"]) != (one.bytes, one.modified)


def _sum_of(row: dict[str, Any] | None) -> str | None:
    # The checksum by which a worker finds that nothing has changed.
    return row["sha256"] if row is not None and _is_kept(row) else None


def _kept(
    data: Dataset,
    todo: Sequence[tuple[Found, str | None]],
    known: dict[str, dict[str, Any]],
    engine: Engine,
) -> int:
    sizes = {one.path: one for one, _ in todo}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
    parts: list[str] = []
    same: list[str] = []
    written = time.monotonic()

    def write() -> None:
        nonlocal written
        if rows["captures"]:
            parts.append(data.add(rows))
            for of in rows.values():
                of.clear()
        written = time.monotonic()

    try:
        with bar(len(todo), sum(one.bytes or 0 for one, _ in todo)) as advance:
            for result in engine(todo):
                if result.rows:
                    for name, some in result.rows.items():
                        rows[name].extend(some)
                else:
                    same.append(result.path)
                advance(sizes[result.path].bytes or 0, result.events)
                if len(rows["captures"]) >= _EVERY or time.monotonic() - written > _EVERY_S:
                    write()
    finally:
        # Also of a run that is interrupted.
        write()
    if same:
        parts.append(data.add(_again(data, same, known, sizes)))
    data.join(parts)
    return len(same)


def _again(
    data: Dataset, same: list[str], known: dict[str, dict[str, Any]], seen: dict[str, Found]
) -> dict[str, list[dict[str, Any]]]:
    # The answers that are there, under the time and size that the files have now.
    wanted = set(same)
    rows = {
        name: [row for row in data.read(name).to_pylist() if row["path"] in wanted]
        for name in SCHEMAS
        if name != "captures"
    }
    rows["captures"] = [
        known[path] | {"bytes": seen[path].bytes, "modified": seen[path].modified} for path in same
    ]
    return rows

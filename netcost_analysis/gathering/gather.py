"""Asking many captures and keeping their answers: what is new or has changed, and nothing else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .._native import __version__
from ..fleet import Dataset, is_dataset, require_free
from ..progress import is_watched
from .ask_capture import LASTING, Answered
from .cluster import ask_all, ask_here, connected
from .sources import Source, sources

# Captures, each with its checksum if its answers are known.
Todo = Sequence[tuple[Source, str | None]]
Engine = Callable[[Todo], Iterator[Answered]]


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
    every = sources(map(str, paths))
    require_free(folder)
    with ExitStack() as opened:

        @cache
        def engine() -> Engine:
            if one_by_one:
                return ask_here
            client = opened.enter_context(connected(scheduler, workers))
            return lambda todo: ask_all(client, todo)

        if not is_dataset(folder):
            # Where no cluster is to be had, no folder is made.
            engine()
        data = Dataset.create(folder)
        opened.enter_context(data.locked())
        columns = ("path", "netcost", "error_kind", "sha256", "bytes", "modified")
        known = {row["path"]: row for row in data.scan(*columns).to_pylist()}
        rows = [(source, known.get(source.path)) for source in every]
        todo = [(source, _checksum_of(row)) for source, row in rows if _is_new(source, row)]
        # The largest first: none of them is left to one worker at the end.
        todo.sort(key=lambda each: -(each[0].bytes or 0))
        same = _write_answers(data, todo, engine()) if todo else 0
        named = {source.path for source in every}
        unnamed = known.keys() - named if prune else set()
        data.remove(unnamed)
        errors = data.scan("path", "error_kind").to_pylist()
    failed = sum(row["error_kind"] is not None and row["path"] in named for row in errors)
    return Gathered(str(folder), len(every), len(todo) - same, same, failed, len(unnamed))


def _is_kept(row: dict[str, Any] | None) -> bool:
    # Whether answers count while the capture is the same.
    if row is None or row["netcost"] != __version__:
        return False
    return row["error_kind"] is None or row["error_kind"] in LASTING


def _is_new(source: Source, row: dict[str, Any] | None) -> bool:
    if row is None or not _is_kept(row):
        return True
    # Where size or time are unknown, nobody knows whether it has changed.
    is_known = source.bytes is not None and source.modified != ""
    return not is_known or (row["bytes"], row["modified"]) != (source.bytes, source.modified)


def _checksum_of(row: dict[str, Any] | None) -> str | None:
    # By which a worker finds that nothing has changed.
    return row["sha256"] if row is not None and _is_kept(row) else None


def _write_answers(data: Dataset, todo: Todo, engine: Engine) -> int:
    # Each capture's as soon as it is answered. Returns how many are as they were.
    by_path, same = {source.path: source for source, _ in todo}, 0
    with _bar(list(by_path.values())) as advance:
        for result in engine(todo):
            source = by_path[result.path]
            if result.row is None:
                data.update(source.path, bytes=source.bytes, modified=source.modified)
                same += 1
            else:
                data.write(result.row)
            advance(source.bytes or 0, result.events)
    return same


@contextmanager
def _bar(captures: Sequence[Source]) -> Iterator[Callable[[int, int], None]]:
    # Yields what is called for each capture that is done, with its bytes and its events.
    if not is_watched():
        yield lambda _, __: None
        return
    from tqdm.auto import tqdm

    total_bytes, done = sum(source.bytes or 0 for source in captures), [0, 0]
    with tqdm(
        total=len(captures),
        desc="asking",
        unit=" captures",
        leave=False,
        bar_format="{desc} {n_fmt} of {total_fmt} captures|{bar}|{postfix} {elapsed}<{remaining}",
    ) as bar:

        def advance(size: int, events: int) -> None:
            done[:] = done[0] + size, done[1] + events
            megabytes = f"{done[0] / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB"
            bar.set_postfix_str(f" {megabytes}, {done[1] / 1e6:,.1f} M events", refresh=False)
            bar.update(1)

        yield advance

"""Ask many captures and store their answers; only new or changed captures are asked."""

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
    """Numbers of captures in a run.

    Attributes
    ----------
    folder : str
        The folder of the answers.
    captures, asked, same : int
        All captures named; those asked, new or changed; those whose size or time had changed, or is
        not known, but whose content had not.
    failed, removed : int
        Captures named that could not be read; captures not named whose answers were removed.
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
    """Ask many captures, and store their answers as a dataset of Parquet files.

    Parameters
    ----------
    paths : iterable of str or Path
        Recordings, bundles, folders of them at any depth, globs of these, or URLs that fsspec
        opens. A capture is identified by its path as given here.
    folder : str or Path
        The dataset's folder, created if absent. A capture that it has already is asked again if its
        size or time changed and its checksum too, if another version of netcost asked it, or if it
        could not be read for lack of memory, a worker or the file.
    scheduler : str, optional
        The address of a Dask cluster, tcp://HOST:8786, whose workers have this netcost and see the
        same paths. A local cluster unless given.
    workers : int, optional
        The workers of the local cluster; one per core unless given.
    prune : bool
        Remove the answers of captures that are not named here.
    one_by_one : bool
        Ask in this process, without Dask.

    Returns
    -------
    Gathered
        How many were asked, were unchanged, could not be read.

    Raises
    ------
    ArgumentError
        For a path without a capture, a folder that contains something else, or one that another run
        is writing.
    CaptureError
        If Dask is missing, or its scheduler cannot be reached or ends.
    OSError
        For a path that cannot be listed or written.
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
            # Create no folder if there is no cluster.
            engine()
        data = Dataset.create(folder)
        opened.enter_context(data.locked())
        columns = ("path", "netcost", "error_kind", "sha256", "bytes", "modified")
        known = {row["path"]: row for row in data.scan(*columns).to_pylist()}
        rows = [(source, known.get(source.path)) for source in every]
        todo = [(source, _checksum_of(row)) for source, row in rows if _is_new(source, row)]
        # Largest first, so that no worker is left alone with a large one at the end.
        todo.sort(key=lambda item: -(item[0].bytes or 0))
        same = _write_answers(data, todo, engine()) if todo else 0
        named = {source.path for source in every}
        unnamed = known.keys() - named if prune else set()
        data.remove(unnamed)
        errors = data.scan("path", "error_kind").to_pylist()
    failed = sum(row["error_kind"] is not None and row["path"] in named for row in errors)
    return Gathered(str(folder), len(every), len(todo) - same, same, failed, len(unnamed))


def _is_kept(row: dict[str, Any] | None) -> bool:
    # Whether the answers stay valid as long as the capture is unchanged.
    if row is None or row["netcost"] != __version__:
        return False
    return row["error_kind"] is None or row["error_kind"] in LASTING


def _is_new(source: Source, row: dict[str, Any] | None) -> bool:
    if row is None or not _is_kept(row):
        return True
    # Without size or time there is no telling whether it has changed.
    is_known = source.bytes is not None and source.modified != ""
    return not is_known or (row["bytes"], row["modified"]) != (source.bytes, source.modified)


def _checksum_of(row: dict[str, Any] | None) -> str | None:
    # A worker compares it to see that nothing has changed.
    return row["sha256"] if row is not None and _is_kept(row) else None


def _write_answers(data: Dataset, todo: Todo, engine: Engine) -> int:
    # Writes each result as it arrives. Returns how many captures were unchanged.
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
    # Yields a callback to call for each finished capture with its bytes and events.
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

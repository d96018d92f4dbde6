"""Finds captures: files, bundles, folders of them, globs, and URLs that fsspec opens."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..capture.bundle_files import ENDINGS, ROTATED, is_bundle
from ..errors import ArgumentError

_MANIFEST = "manifest.json"
# The keys under which fsspec file systems return a time or version of a file, best first.
_STAMPS = ("mtime", "LastModified", "last_modified", "ETag", "etag", "updated", "created")


@dataclass(frozen=True)
class Source:
    """The location of a capture.

    path: as the user gave it, the key of its answers. place: the absolute path or URL that a worker
    opens. bytes, modified: None and "" if unknown. If both are the same as before, the capture has
    not changed.
    """

    path: str
    place: str
    bytes: int | None
    modified: str

    @property
    def is_url(self) -> bool:
        """Whether it has to be fetched before it is opened."""
        return is_url(self.place)


def is_url(path: str) -> bool:
    """Whether a path is a URL, by fsspec's syntax."""
    return "://" in path or "::" in path


def sources(paths: Iterable[str]) -> list[Source]:
    """The captures at some paths, each once, in order.

    paths: recordings, bundles, folders of these at any depth, globs of all of them, or URLs of
    files, folders and globs. Raises ArgumentError for a path without a capture, OSError if a folder
    cannot be listed.
    """
    by_path: dict[str, Source] = {}
    for path in paths:
        captures = list(_at_url(path) if is_url(path) else _at(path))
        if not captures:
            raise ArgumentError(f"{path}: there is no capture here")
        for source in captures:
            by_path.setdefault(source.path, source)
    return list(by_path.values())


def _at(path: str) -> Iterator[Source]:
    named = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
    for name in named:
        inside = list(_inside(Path(name))) if os.path.isdir(name) else []
        # A folder without captures may itself be one: perf record --threads, a copy of tracefs.
        yield from map(_local, inside or [Path(name)])


def _inside(folder: Path) -> Iterator[Path]:
    if is_bundle(folder):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from _inside(entry)
        elif entry.is_file() and _is_recording(entry.name):
            yield entry


def _is_recording(name: str) -> bool:
    return name.endswith(ENDINGS) or ROTATED.search(name) is not None


def _local(path: Path) -> Source:
    size, modified = 0, 0
    files = path.rglob("*") if path.is_dir() else [path]
    for file in files:
        if file.is_symlink() and file != path:
            continue
        try:
            status = file.stat()
        except OSError:
            # Opening it reports the error.
            continue
        if not file.is_dir():
            size += status.st_size
            modified = max(modified, status.st_mtime_ns)
    return Source(os.path.normpath(path), os.path.abspath(path), size, str(modified))


def _at_url(url: str) -> Iterator[Source]:
    files, path = _opened(url)
    several = glob.has_magic(path) and not files.exists(path)
    for name in sorted(files.glob(path)) if several else [path]:
        if files.isdir(name):
            yield from _in_folder(files, name)
        else:
            yield _remote(files, name, [files.info(name)])


def _opened(url: str) -> Any:
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(url)
    except (ValueError, ImportError) as error:
        # The protocol is unknown, or its package is not installed.
        raise ArgumentError(f"{url}: {error}") from None


def _in_folder(files: Any, folder: str) -> Iterator[Source]:
    inside = files.find(folder, detail=True)
    bundles: list[str] = []
    # Only the outermost bundle counts: it may contain others, like its baseline.
    for name in sorted(inside, key=lambda path: (path.count("/"), path)):
        home, _, last = name.rpartition("/")
        if last == _MANIFEST and not any(_lies_in(home, bundle) for bundle in bundles):
            bundles.append(home)
    for bundle in bundles:
        parts = [info for name, info in inside.items() if _lies_in(name, bundle)]
        yield _remote(files, bundle, parts)
    for name, info in inside.items():
        if _is_recording(name) and not any(_lies_in(name, bundle) for bundle in bundles):
            yield _remote(files, name, [info])


def _lies_in(name: str, folder: str) -> bool:
    return name == folder or name.startswith(f"{folder}/")


def _remote(files: Any, name: str, infos: list[dict[str, Any]]) -> Source:
    url = str(files.unstrip_protocol(name))
    sizes: list[Any] = [info.get("size") for info in infos]
    stamps = [next((str(info[key]) for key in _STAMPS if info.get(key)), "") for info in infos]
    known = None not in sizes and "" not in stamps
    size = None if None in sizes else sum(sizes)
    return Source(url, url, size, max(stamps, default="") if known else "")

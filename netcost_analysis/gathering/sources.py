"""Which captures are meant: files, bundles, folders of them, globs, and URLs that fsspec opens."""

import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..capture.bundle_files import ENDINGS, ROTATED, is_bundle
from ..errors import ArgumentError

_MANIFEST = "manifest.json"
# What file systems call what changes with a file: the first that one has.
_STAMPS = ("mtime", "LastModified", "last_modified", "ETag", "etag", "updated", "created")


@dataclass(frozen=True)
class Source:
    """A capture that is meant.

    path: as it was named, the key of its answers. place: where a worker opens it, an absolute path
    or a URL. bytes, modified: None and "" where nobody says; a capture of which both are as they
    were has not changed.
    """

    path: str
    place: str
    bytes: int | None
    modified: str

    @property
    def is_url(self) -> bool:
        """Whether it is fetched before it is opened."""
        return is_url(self.place)


def is_url(path: str) -> bool:
    """Whether a path is a URL, as fsspec has them."""
    return "://" in path or "::" in path


def sources(paths: Iterable[str]) -> list[Source]:
    """The captures that paths name, each once, in order.

    paths: recordings, bundles, folders of these at any depth, globs of all of them, or URLs of
    files, folders and globs. Raises ArgumentError for a path at which there is nothing; OSError
    where a place cannot be listed.
    """
    every: dict[str, Source] = {}
    for path in paths:
        there = list(_at_url(path) if is_url(path) else _at(path))
        if not there:
            raise ArgumentError(f"{path}: no capture is there")
        for source in there:
            every.setdefault(source.path, source)
    return list(every.values())


def _at(path: str) -> Iterator[Source]:
    named = [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))
    for name in named:
        inside = list(_inside(Path(name))) if os.path.isdir(name) else []
        # A folder without any may be a recording itself: perf's with threads, a copy of tracefs.
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
            # Whoever opens it is told.
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
        # A protocol that is not known, or whose package is not installed.
        raise ArgumentError(f"{url}: {error}") from None


def _in_folder(files: Any, folder: str) -> Iterator[Source]:
    inside = files.find(folder, detail=True)
    bundles: list[str] = []
    # A bundle has others in it, its baseline: what counts is the outermost.
    for name in sorted(inside, key=lambda one: (one.count("/"), one)):
        home, _, last = name.rpartition("/")
        if last == _MANIFEST and not any(_lies_in(home, one) for one in bundles):
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

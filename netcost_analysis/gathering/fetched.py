"""A capture brought to where it is read, and its checksum."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from .found import Found


@contextmanager
def fetched(one: Found) -> Iterator[Path]:
    """Where a capture can be opened: of a URL a copy that goes when the block ends.

    Raises OSError where it cannot be fetched.
    """
    if not one.is_url:
        yield Path(one.place)
        return
    from fsspec.core import url_to_fs

    files, path = url_to_fs(one.place)
    # Under the worker's own folder, which Dask removes also of a worker that was killed.
    with TemporaryDirectory(prefix="netcost-fleet-", dir=_own_folder()) as folder:
        # Its name tells what packed it.
        target = Path(folder) / (PurePosixPath(path).name or "capture")
        files.get(path, str(target), recursive=files.isdir(path))
        yield target


def _own_folder() -> str | None:
    try:
        from distributed import get_worker

        return str(get_worker().local_directory)
    except (ImportError, ValueError):
        # In no worker.
        return None


def checksum(path: Path) -> str:
    """The SHA-256 of a file; of a folder that of its files' names and checksums."""
    if not path.is_dir():
        return _of_file(path)
    whole = hashlib.sha256()
    for file in sorted(path.rglob("*")):
        if file.is_symlink():
            said = f"link {os.readlink(file)}"
        elif file.is_file():
            said = _of_file(file)
        else:
            continue
        whole.update(f"{file.relative_to(path)}\0{said}\0".encode(errors="surrogateescape"))
    return whole.hexdigest()


def _of_file(path: Path) -> str:
    # What waits for a writer would be waited for without an end.
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no regular file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

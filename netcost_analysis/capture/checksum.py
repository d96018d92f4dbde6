"""The checksum that identifies a recording, wherever its file is."""

from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .recording import Recording


_begun: "WeakKeyDictionary[Recording, tuple[Thread, list[str]]]" = WeakKeyDictionary()


def file_of(capture: "Recording") -> Path | None:
    """The file that was opened, or the recording of a bundle folder; None if it is not a file."""
    path = Path(capture.path)
    if path.is_dir() and capture.bundle is not None:
        path = capture.bundle.trace
    return path if path.is_file() else None


def checksum(capture: "Recording") -> str | None:
    """SHA-256 of that file; None if there is none."""
    if capture in _begun:
        thread, digests = _begun[capture]
        thread.join()
        if digests:
            return digests[0]
    path = file_of(capture)
    return None if path is None else _digest(path)


def begin(capture: "Recording") -> None:
    """Start computing the checksum in a background thread."""
    path, digests = file_of(capture), list[str]()
    if path is None or capture in _begun:
        return

    def run() -> None:
        try:
            digests.append(_digest(path))
        except OSError:
            # checksum() tries again and reports the error.
            return

    # Daemon thread: exit does not wait for a checksum that no one asked for.
    thread = Thread(target=run, daemon=True)
    _begun[capture] = thread, digests
    thread.start()


def checksum_of_all(path: Path) -> str:
    """SHA-256 of a file; for a folder, of sha256sum's output for its files, sorted by name.

    A symbolic link in a folder is hashed by its target's name, never followed.
    """
    if path.is_file():
        return _digest(path)
    from hashlib import sha256

    listing = sha256()
    names = (str(file.relative_to(path)) for file in path.rglob("*"))
    for name in sorted(names):
        file = path / name
        if file.is_symlink():
            line = f"link {file.readlink()}  ./{name}\n"
        elif file.is_file():
            line = f"{_digest(file)}  ./{name}\n"
        else:
            continue
        listing.update(line.encode(errors="surrogateescape"))
    return listing.hexdigest()


def _digest(path: Path) -> str:
    # Importing OpenSSL's hashes takes 3 ms, which a first answer need not spend.
    from hashlib import file_digest

    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()

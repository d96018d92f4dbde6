"""By which a recording is known, wherever its file is."""

import hashlib
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from .recording import Recording


_begun: "WeakKeyDictionary[Recording, tuple[Thread, list[str]]]" = WeakKeyDictionary()


def file_of(capture: "Recording") -> Path | None:
    """The file that was opened, or a bundle folder's recording; None where that is no file."""
    path = Path(capture.path)
    if path.is_dir() and capture.bundle is not None:
        path = capture.bundle.trace
    return path if path.is_file() else None


def checksum(capture: "Recording") -> str | None:
    """SHA-256 of that file; None where there is none."""
    if capture in _begun:
        thread, found = _begun[capture]
        thread.join()
        if found:
            return found[0]
    path = file_of(capture)
    return None if path is None else _digest(path)


def begin(capture: "Recording") -> None:
    """Have it computed meanwhile, for who asks later."""
    path, found = file_of(capture), list[str]()
    if path is None or capture in _begun:
        return

    def run() -> None:
        try:
            found.append(_digest(path))
        except OSError:
            # Who asks is told.
            return

    # Nobody waits for it who does not ask.
    thread = Thread(target=run, daemon=True)
    _begun[capture] = thread, found
    thread.start()


def checksum_of_all(path: Path) -> str:
    """Of a file, or of what sha256sum prints of a folder's files in the order of their names.

    A link in a folder stands for its own text: what it leads to may be anything.
    """
    if path.is_file():
        return _digest(path)
    whole = hashlib.sha256()
    names = (str(one.relative_to(path)) for one in path.rglob("*"))
    for name in sorted(names):
        file = path / name
        if file.is_symlink():
            line = f"link {file.readlink()}  ./{name}\n"
        elif file.is_file():
            line = f"{_digest(file)}  ./{name}\n"
        else:
            continue
        whole.update(line.encode(errors="surrogateescape"))
    return whole.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

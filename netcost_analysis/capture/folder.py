"""A folder of texts that a stranger wrote: nothing outside of it is read."""

from functools import cached_property
from pathlib import Path
from typing import Any

from .._native import CaptureError
from ..unpacked import named

# Text beside a trace is read whole; what holds more than this is none of ours.
_TEXT_LIMIT_BYTES = 64 << 20


def read_text(path: Path) -> str:
    """A text file, whole.

    Raises CaptureError for one that is too large, or no regular file, for which a reader of a FIFO
    waits for ever; OSError where it cannot be read.
    """
    size = path.stat().st_size
    if not path.is_file():
        raise CaptureError(f"{named(path)} is no regular file")
    if size > _TEXT_LIMIT_BYTES:
        raise CaptureError(
            f"{named(path)} is larger than {_TEXT_LIMIT_BYTES >> 20} MiB, more than it can be"
        )
    return path.read_text(encoding="utf-8", errors="replace")


class Folder:
    """A folder of which texts are read by their names.

    Parameters
    ----------
    path : Path
        Of the folder.
    """

    # What in it names files, and what it is.
    _index, _kind = "", "the bundle"

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def shown(self) -> str:
        """Its path as it was given: of a packed one the file's."""
        return named(self.path)

    @cached_property
    def _root(self) -> Path:
        return self.path.resolve()

    def _leads_out(self, path: Path) -> bool:
        # A bundle comes from a stranger: neither ".." nor a link may lead out of it.
        try:
            return not path.resolve().is_relative_to(self._root)
        except (OSError, ValueError, RuntimeError):
            return True

    def inside(self, name: Any) -> Path:
        """Where one of its files is; raises CaptureError for a place outside it."""
        if not isinstance(name, str) or not name:
            but = f" but {name!r}" if name else ""
            raise CaptureError(f"{self.shown}{self._index} names no file{but}")
        if self._leads_out(self.path / name):
            raise CaptureError(
                f"{self.shown}{self._index} names {name!r}, which is outside {self._kind}"
            )
        return self.path / name

    def text(self, name: str) -> str | None:
        """The text of one of its files.

        Parameters
        ----------
        name : str
            Its path in the folder.

        Returns
        -------
        str or None
            The text, None where there is no such file.

        Raises
        ------
        CaptureError
            For a file outside it.
        """
        path = self.inside(name)
        return read_text(path) if path.is_file() else None

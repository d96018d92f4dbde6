"""An untrusted folder of text files: nothing outside it is read."""

from functools import cached_property
from pathlib import Path
from typing import Any

from .._native import CaptureError
from ..unpacked import named

# Texts beside a trace are read whole; netcost-record writes none larger than this.
_TEXT_LIMIT_BYTES = 64 << 20


def read_text(path: Path) -> str:
    """Read a whole text file.

    Raises CaptureError if it is too large or not a regular file (reading a FIFO could block
    forever), OSError if it cannot be read.
    """
    size = path.stat().st_size
    if not path.is_file():
        raise CaptureError(f"{named(path)} is not a regular file")
    if size > _TEXT_LIMIT_BYTES:
        raise CaptureError(
            f"{named(path)} is larger than {_TEXT_LIMIT_BYTES >> 20} MiB, the most that netcost "
            "reads"
        )
    return path.read_text(encoding="utf-8", errors="replace")


class Folder:
    """A folder whose text files are read by name.

    Parameters
    ----------
    path : Path
        The folder.
    """

    # For messages: the file in it that names the others, and what to call the folder.
    _index, _kind = "", "the bundle"

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def shown(self) -> str:
        """Its path as the user gave it: the packed file's, if it was unpacked."""
        return named(self.path)

    @cached_property
    def _root(self) -> Path:
        return self.path.resolve()

    def _leads_out(self, path: Path) -> bool:
        # A bundle is untrusted: neither ".." nor a link may lead out of it.
        try:
            return not path.resolve().is_relative_to(self._root)
        except (OSError, ValueError, RuntimeError):
            return True

    def inside(self, name: Any) -> Path:
        """The path of one of its files; raises CaptureError for a path outside the folder."""
        if not isinstance(name, str) or not name:
            instead = f", not {name!r}" if name else ""
            raise CaptureError(f"{self.shown}{self._index} must name a file{instead}")
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
            The text, None if there is no such file.

        Raises
        ------
        CaptureError
            For a file outside the folder.
        """
        path = self.inside(name)
        return read_text(path) if path.is_file() else None

"""The temporary folders that packed files were unpacked into, and the names users gave."""

from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary


class Unpacked(Protocol):
    """A temporary folder that lives as long as this object.

    source: the packed file; path: the folder that it was unpacked into.
    """

    source: Path
    path: Path


# Keyed by path, inode, time and size, so that a bundle opened twice is unpacked once.
held: WeakValueDictionary[tuple[str, int, int, int], Unpacked] = WeakValueDictionary()


def named(text: str | Path) -> str:
    """A text with packed files' names in place of their temporary folders."""
    text = str(text)
    for unpacked in list(held.values()):
        text = text.replace(str(unpacked.path), str(unpacked.source))
    return text

"""The folders that packed files were unpacked into, and the names that users know them by."""

from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary


class Unpacked(Protocol):
    """A temporary folder that lives as long as this object.

    source: the packed file; path: what it was unpacked into.
    """

    source: Path
    path: Path


# By path, time and size, so that a bundle opened twice is unpacked once.
held: WeakValueDictionary[tuple[str, int, int, int], Unpacked] = WeakValueDictionary()


def named(text: str | Path) -> str:
    """A text with the packed files' names instead of their temporary folders."""
    text = str(text)
    for one in list(held.values()):
        text = text.replace(str(one.path), str(one.source))
    return text

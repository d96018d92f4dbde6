"""Which folders packed files were unpacked into, and what they are called to whoever gave them."""

from pathlib import Path
from typing import Protocol
from weakref import WeakValueDictionary


class Unpacked(Protocol):
    """A folder, for as long as somebody has it.

    source: the packed file; path: what it was unpacked into.
    """

    source: Path
    path: Path


# By path, time and size: whoever opens one bundle twice unpacks it once.
held: WeakValueDictionary[tuple[str, int, int, int], Unpacked] = WeakValueDictionary()


def named(text: str | Path) -> str:
    """A text with packed files in the place of their folders, which are gone when it is read."""
    text = str(text)
    for one in list(held.values()):
        text = text.replace(str(one.path), str(one.source))
    return text

# Text of limited width: how many columns it takes, and names of runs and conditions cut to fit.

import re
from pathlib import PurePath
from textwrap import wrap
from typing import Any

from ..units import printable

# Conditions that are named after the sysctl that they set.
_SYSCTL = re.compile(
    r"skb_defer_max|netdev_\w+|dev_weight\w*|busy_(?:poll|read)|(?:tcp|udp)_[rw]?mem"
)

_RUN = 40


def columns_of(text: str) -> int:
    # How wide a terminal shows a text: a Chinese or Japanese character takes two columns, an accent
    # that combines with the character before it takes none.
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def that_fit(text: str, columns: int) -> int:
    # How many characters from the beginning of a text fit into so many columns.
    if text.isascii():
        return min(len(text), columns)
    from rich.cells import chop_cells

    return len(chop_cells(text, columns)[0]) if columns else 0


def padded(text: str, columns: int, left: bool = True) -> str:
    # A text filled up with blanks to so many columns, on its left side or on its right.
    room = " " * (columns - columns_of(text))
    return f"{text}{room}" if left else f"{room}{text}"


def wrap_columns(text: str, columns: int, **options: Any) -> list[str]:
    # textwrap counts characters: a mark, which no text has, takes a wide one's second column.
    mark = "\ufdd0"
    marked = "".join(char + mark * (columns_of(char) - 1) for char in text)
    # A long word may be broken before a mark.
    lines = wrap(marked, columns - (mark in marked), **options)
    return [line.replace(mark, "") for line in lines]


def cut(text: str, width: int) -> str:
    """A name on one line, cut to so many columns in the middle, since ends tend to differ."""
    text = printable(re.sub(r"\s+", " ", text))
    if columns_of(text) <= width:
        return text
    kept = width - 2
    head = kept // 2
    tail = that_fit(text[::-1], kept - head)
    return f"{text[: that_fit(text, head)]}..{text[len(text) - tail :]}"


def run_name(path: str) -> str:
    """A run in a sentence: the end of its path, which differs from that of other runs."""
    parts = PurePath(path).parts or ("",)
    near = "/".join(parts[-2:])
    return near if len(near) <= _RUN else cut(parts[-1], _RUN)


def label_name(name: str) -> str:
    """A label's name in words; a sysctl's is kept."""
    return name if _SYSCTL.fullmatch(name) else name.replace("_", " ")


def condition(name: str, value: str) -> str:
    """A label and its value: "data path xdp"; of a sysctl as it is set: "skb_defer_max=0"."""
    return f"{label_name(name)}{'=' if _SYSCTL.fullmatch(name) else ' '}{value or 'unknown'}"

# Names of runs, sides and conditions in a text of limited width.

import re
from pathlib import PurePath

from ..units import columns_of, printable, that_fit

# Conditions that are named after the sysctl that they set.
_SYSCTL = re.compile(
    r"skb_defer_max|netdev_\w+|dev_weight\w*|busy_(?:poll|read)|(?:tcp|udp)_[rw]?mem"
)

_RUN = 40


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

# Names of runs, sides and conditions in a text of limited width.

import re

from ..units import printable

# Conditions that are named after the sysctl that they set.
_SYSCTL = re.compile(
    r"skb_defer_max|netdev_\w+|dev_weight\w*|busy_(?:poll|read)|(?:tcp|udp)_[rw]?mem"
)


def cut(text: str, width: int) -> str:
    """A name on one line, cut to a width in the middle, since names tend to differ at the ends."""
    text = printable(re.sub(r"\s+", " ", text))
    if len(text) <= width:
        return text
    kept = width - 2
    head = kept // 2
    return f"{text[:head]}..{text[len(text) - (kept - head) :]}"


def label_name(name: str) -> str:
    """A label's name in words; a sysctl's is kept."""
    return name if _SYSCTL.fullmatch(name) else name.replace("_", " ")


def condition(name: str, value: str) -> str:
    """A label and its value: "data path xdp"; of a sysctl as it is set: "skb_defer_max=0"."""
    return f"{label_name(name)}{'=' if _SYSCTL.fullmatch(name) else ' '}{value or 'unknown'}"

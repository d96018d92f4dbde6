# Figures of a comparison as text, in the unit of each metric.

from collections.abc import Mapping
from math import isinf
from typing import Any

from ..units import absent, duration, fine_duration, points, share, signed_share


def quantity(value: Any, per_unit: str) -> str:
    """A metric's figure: "1.23 µs/packet", "40.1 %", "2.49e+09"."""
    if absent(value):
        return "unknown"
    whole, _, of = per_unit.partition("/")
    if per_unit == "share":
        return share(value) or "0"
    if whole == "ns":
        text = fine_duration(value)
        return f"{text}/{of}" if of else text
    return f"{value:,.4g}{f'/{of}' if of else ''}"


def moved(change: Any, is_relative: bool, per_unit: str) -> str:
    """A change: in percent if it is relative, in points if it is a share, else in its unit."""
    if absent(change):
        return "unknown"
    if isinf(change):
        return "no end"
    if is_relative:
        return signed_share(change)
    if per_unit.startswith("ns/"):
        return f"{'-' if change < 0 else '+'}{fine_duration(abs(change))}"
    return f"{points(change, sign=True)} points" if per_unit == "share" else f"{change:+.3g}"


def judged(row: Mapping[Any, Any]) -> str:
    """The change of a row of `changes`: "~" where it cannot be told from chance, "" unjudged."""
    if row["differs"] == "yes":
        return moved(row["change"], row["is_relative"], row["per_unit"])
    if row["differs"] not in ("no", "too_few"):
        return ""
    # There is no relative change from 0.
    return "from 0" if absent(row["change"]) and not row["base"] and row["new"] else "~"


def chance(value: Any) -> str:
    """A p: "0.047", "<0.001"; "" where there is none."""
    if absent(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def signed_duration(ns: Any) -> str:
    """A difference of times: "+1.23 µs"."""
    text = duration(ns)
    return f"+{text}" if ns > 0 and text != "0" else text

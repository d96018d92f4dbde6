# Figures of a comparison as text, in the unit of each metric.

import re
from collections.abc import Mapping
from math import isinf
from typing import Any

from ..units import absent, duration, fine_duration, multiple, points, share, signed_share

# Of figures of a step, by the ends of their names.
_UNITS = {"_bits_per_second": "bit/s", "_pps": "packets/s"}
# Words that are names of their own.
_NAMES = {"cpu": "CPU", "pps": "packets a second"}
_MEASURED = {
    "repeats": "over the repeats",
    "on CPU": "of its work per time on a CPU",
    "recordings": "in these recordings",
}
# No figure is known to so little of its unit.
_NOTHING = 1e-12
# Where a change is not given: why not.
_MARKS = {"no": "~", "too_few": "~", "refused": "refused"}
KEY = "=: unchanged within 5 %; ~: undecided"


def quantity(value: Any, per_unit: str) -> str:
    """A metric's figure: "1.23 µs/packet", "40.1 %", "2.49e+09"."""
    if absent(value):
        return "unknown"
    whole, _, of = per_unit.partition("/")
    if per_unit == "share":
        return share(value) or "0"
    if whole in ("bit", "bytes") and of == "s":
        return f"{multiple(value)}{'B' if whole == 'bytes' else whole}/s"
    if whole == "ns":
        text = fine_duration(value)
        return f"{text}/{of}" if of else text
    text = f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
    return f"{text}{f'/{of}' if of else ''}"


def moved(change: Any, is_relative: bool, per_unit: str) -> str:
    """A change: in percent if it is relative, in points if it is a share, else in its unit."""
    if absent(change):
        return "unknown"
    if isinf(change):
        return "no end"
    if is_relative:
        return signed_share(change)
    if per_unit == "share":
        return f"{points(change, sign=True)} points"
    text = quantity(0 if abs(change) < _NOTHING else abs(change), per_unit)
    # 0 has no sign.
    sign = "" if text == quantity(0, per_unit) else "-" if change < 0 else "+"
    return f"{sign}{text}"


def judged(row: Mapping[Any, Any]) -> str:
    """The change of a row of `changes`, or a mark of KEY; "" unjudged."""
    if row["differs"] == "yes":
        return moved(row["change"], row["is_relative"], row["per_unit"])
    mark = "=" if row["is_unchanged"] else _MARKS.get(row["differs"], "")
    # There is no relative change from 0.
    return "from 0" if mark and absent(row["change"]) and not row["base"] and row["new"] else mark


def span(row: Mapping[Any, Any]) -> str:
    """The interval of a change: "-62.9 to -53.6 %"; "" where there is none."""
    if absent(row["change_low"]) or absent(row["change_high"]):
        return ""
    low, high = (
        moved(row[name], row["is_relative"], row["per_unit"])
        for name in ("change_low", "change_high")
    )
    return f"{_without_unit(low, high)} to {high}"


def found(row: Mapping[Any, Any]) -> str:
    """What a row of `changes` shows, in a phrase that stands behind the metric's name."""
    if absent(row["base"]) or absent(row["new"]):
        return f"known of {'the new side' if absent(row['base']) else 'the base'} alone"
    if row["differs"] == "refused":
        return "not compared"
    change = moved(row["change"], row["is_relative"], row["per_unit"])
    within, more = span(row), _more(row)
    if row["differs"] == "yes":
        return f"{change} ({within})" if within else change
    if row["is_unchanged"]:
        return f"unchanged within {within}"
    if row["differs"] == "too_few" or not within:
        return f"{change} here (too few repeats{more})"
    if row["change_low"] > 0 or row["change_high"] < 0:
        return f"{change} ({within}; may be chance, p {chance(row['p_adjusted'])}{more})"
    return f"undecided ({within}; too few repeats{more})"


def _more(row: Mapping[Any, Any]) -> str:
    # How many would tell a change that matters, where it has parts.
    more, has_parts = row["more_repeats"], row["is_relative"] or row["per_unit"] == "share"
    if has_parts and absent(more):
        return ": 1,000 a side would not tell 5 %"
    # With one run a side, or blocks of time, nobody knows how far runs scatter.
    least = "at least " if row["differs"] == "too_few" or row["observed_in"] == "blocks" else ""
    return f": {least}{more:,} more a side would tell 5 %" if has_parts and more else ""


def from_to(row: Mapping[Any, Any]) -> str:
    """The figures of both sides: "3.82 to 1.56 Gbit/s"; of one where the other has none."""
    unit = row["per_unit"]
    if not unit:
        ends = (end for end in _UNITS if str(row["metric"]).endswith(end))
        unit = _UNITS[end] if (end := next(ends, "")) else ""
    known = [quantity(row[side], unit) for side in ("base", "new") if not absent(row[side])]
    return " to ".join([*(_without_unit(one, known[-1]) for one in known[:-1]), *known[-1:]])


def _without_unit(one: str, other: str) -> str:
    # A unit is said once.
    unit = re.search(r"( \S+|/\S+)$", other)
    return one.removesuffix(unit[0]) if unit else one


def metric_name(row: Mapping[Any, Any]) -> str:
    """A metric in words: "received bits per second", "network time per packet"."""
    name = str(row["metric"])
    name = name.removesuffix("_per_s") + " a second" if name.endswith("_per_s") else name
    if name.startswith(("latency_", "jitter_", "round_trip_")):
        name = name.removesuffix("_ns")
    if row["per_unit"].startswith("ns/"):
        name = name.replace("_ns_", "_CPU_time_")
    return " ".join(_NAMES.get(word, word) for word in name.replace("_", " ").split())


def measured(row: Mapping[Any, Any]) -> str:
    """Of what a row of throughput_prediction's throughputs is, behind its change."""
    return _MEASURED[row["measured_in"]]


def chance(value: Any) -> str:
    """A p: "0.047", "<0.001"; "" where there is none."""
    if absent(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def signed_duration(ns: Any) -> str:
    """A difference of times: "+1.23 µs"."""
    text = duration(ns)
    return f"+{text}" if ns > 0 and text != "0" else text

# Figures of a comparison as text, in each metric's unit.

import re
from collections.abc import Mapping
from math import isinf
from typing import Any

from ..units import absent, duration, fine_duration, multiple, points, share, signed_share

# Units of a step's figures, by the suffix of their names.
_UNITS = {"_bits_per_second": "bit/s", "_pps": "packets/s", "_cpu_percent": "percent"}
# Words that metric_name() replaces.
_NAMES = {"cpu": "CPU", "pps": "packets a second"}
_MEASURED = {
    "repeats": "over the repeats",
    "on CPU": "of its work per time on a CPU",
    "recordings": "in these recordings",
}
# No figure is known to this precision.
_NOTHING = 1e-12
# Shown in place of a change.
_MARKS = {"no": "~", "too_few": "~", "refused": "refused"}
KEY = "=: unchanged within 5 %; ~: undecided"
NAMED = "*: named beforehand, so p is not corrected for being one of many"


def quantity(value: Any, per_unit: str) -> str:
    """A metric's figure: "1.23 µs/packet", "40.1 %", "2.49e+09"."""
    if absent(value):
        return "unknown"
    numerator, _, of = per_unit.partition("/")
    if per_unit == "share":
        return share(value) or "0"
    if per_unit == "percent":
        return f"{value:.1f} %"
    if numerator in ("bit", "bytes") and of == "s":
        return f"{multiple(value)}{'B' if numerator == 'bytes' else numerator}/s"
    if numerator == "ns":
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


def changed(row: Mapping[Any, Any]) -> str:
    """The change in a row of `changes`, or of `paid` in cost_tree."""
    return moved(row["change"], row["is_relative"], row["per_unit"])


def judged(row: Mapping[Any, Any]) -> str:
    """The change in a row of `changes`, or its mark in KEY; "" if it was not judged."""
    if row["differs"] == "yes":
        return changed(row)
    mark = "=" if row["is_unchanged"] else _MARKS.get(row["differs"], "")
    # Relative to 0 there is no change.
    return "from 0" if mark and absent(row["change"]) and not row["base"] and row["new"] else mark


def span(row: Mapping[Any, Any]) -> str:
    """The interval of a change: "-62.9 to -53.6 %"; "" if there is none."""
    if absent(row["change_low"]) or absent(row["change_high"]):
        return ""
    low, high = (
        moved(row[name], row["is_relative"], row["per_unit"])
        for name in ("change_low", "change_high")
    )
    return f"{_without_unit(low, high)} to {high}"


def within(low_ns: Any, high_ns: Any) -> str:
    """The interval of a time: "3.10 to 9.02 µs"; "" if there is none."""
    if absent(low_ns) or absent(high_ns):
        return ""
    low, high = fine_duration(low_ns), fine_duration(high_ns)
    return f"{_without_unit(low, high)} to {high}"


def went(base_ns: Any, new_ns: Any) -> str:
    """A time of both sides: "3.10 -> 9.02 µs"."""
    base, new = fine_duration(base_ns), fine_duration(new_ns)
    return f"{_without_unit(base, new)} -> {new}"


def found(row: Mapping[Any, Any]) -> str:
    """What a row of `changes` shows, in a phrase to follow the metric's name."""
    if absent(row["base"]) or absent(row["new"]):
        return f"known of {'the new side' if absent(row['base']) else 'the base'} alone"
    if row["differs"] == "refused":
        return "not compared"
    change = changed(row)
    interval, more = span(row), _more(row)
    if row["differs"] == "yes":
        return f"{change} ({interval})" if interval else change
    if row["is_unchanged"]:
        return f"unchanged within {interval}"
    if row["differs"] == "too_few" or not interval:
        return f"{change} here (too few repeats{more})"
    if row["change_low"] > 0 or row["change_high"] < 0:
        return f"{change} ({interval}; may be chance, p {chance(row['p_adjusted'])}{more})"
    return f"undecided ({interval}; too few repeats{more})"


def _more(row: Mapping[Any, Any]) -> str:
    # How many more repeats would detect a 5 % change. Only shares and relative changes have 5 %.
    more, has_parts = row["more_repeats"], row["is_relative"] or row["per_unit"] == "share"
    if has_parts and absent(more):
        return ": 1,000 a side would not tell 5 %"
    # One run a side, or blocks of time, do not show the variance between runs.
    least = "at least " if row["differs"] == "too_few" or row["observed_in"] == "blocks" else ""
    return f": {least}{more:,} more a side would tell 5 %" if has_parts and more else ""


def from_to(row: Mapping[Any, Any]) -> str:
    """The figures of both sides, or of the only known one: "3.82 -> 1.56 Gbit/s"."""
    unit = row["per_unit"]
    if not unit:
        ends = (end for end in _UNITS if str(row["metric"]).endswith(end))
        unit = _UNITS[end] if (end := next(ends, "")) else ""
    known = [quantity(row[side], unit) for side in ("base", "new") if not absent(row[side])]
    return " -> ".join([*(_without_unit(figure, known[-1]) for figure in known[:-1]), *known[-1:]])


def _without_unit(figure: str, other: str) -> str:
    # Give a shared unit once.
    unit = re.search(r"( \S+|/\S+)$", other)
    return figure.removesuffix(unit[0]) if unit else figure


def metric_name(row: Mapping[Any, Any]) -> str:
    """A metric in words: "received bits per second", "network time per packet"."""
    name = str(row["metric"]).removesuffix("_percent")
    name = name.removesuffix("_per_s") + " a second" if name.endswith("_per_s") else name
    # Only a victim's openssl counts blocks.
    name = f"the victim's {name}" if name.startswith("blocks") else name
    if name.startswith(("latency_", "jitter_", "round_trip_")):
        name = name.removesuffix("_ns")
    if row["per_unit"].startswith("ns/"):
        name = name.replace("_ns_", "_CPU_time_")
    return " ".join(_NAMES.get(word, word) for word in name.replace("_", " ").split())


def measured(row: Mapping[Any, Any]) -> str:
    """What the change in a row of throughput_prediction's throughputs refers to."""
    return _MEASURED[row["measured_in"]]


def chance(value: Any) -> str:
    """A p-value: "0.047", "<0.001"; "" if there is none."""
    if absent(value):
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def marked_chance(row: Mapping[Any, Any]) -> str:
    """The p-value of a row of `changes`, and the mark of NAMED or a blank in its place."""
    text = chance(row["p_adjusted"])
    return f"{text}{'*' if row.get('is_named') else ' '}" if text else ""


def deviation(value: Any) -> str:
    """A standard deviation as a share of its figure: "± 12%"; "" if there is none."""
    if absent(value):
        return ""
    return "±>999" if value >= 9.995 else f"±{value:>4.0%}"


def signed_duration(ns: Any) -> str:
    """A difference between durations: "+1.23 µs"."""
    text = duration(ns)
    return f"+{text}" if ns > 0 and text != "0" else text

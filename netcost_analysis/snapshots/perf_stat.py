"""Parser for ``perf stat -I``: the count of each event per interval, as JSON or CSV.

JSON came with perf 6.0 (df936cadfb58). Since then ``metric-value`` became a string, so that nan is
valid JSON, and is left out for a metric without a unit; ``aggregate-number`` became ``counters`` in
2025; events of hybrid processors are ``cpu_core/cycles/``. The fields read here have kept their
names: interval, cpu, counter-value, unit, event, pcnt-running. perf prints an event's growth since
the previous print, scaled up if it had to share its counter, and the seconds since perf's start.
"""

import re
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pandas as pd

from ..units import plural

if TYPE_CHECKING:
    from ..capture.bundle import Bundle

COUNTED, NOT_COUNTED, NOT_SUPPORTED = "counted", "not counted", "not supported"
_OUTCOMES = {f"<{outcome}>": outcome for outcome in (NOT_COUNTED, NOT_SUPPORTED)}
_TYPES = {
    "start_s": "float64",
    "end_s": "float64",
    "cpu": "Int64",
    "event": "str",
    "value": "float64",
    "unit": "str",
    "running_share": "float64",
    "outcome": "str",
}
# A counter has 64 bits, and a recording lasts little more than a year.
_MOST, _LAST_S = 2.0**64, 4e7
_LONGEST_NAME = 200
# Limits an untrusted start so that adding to it stays within 64 bits.
FARTHEST_NS = 2**62
# The first versions with JSON print C's nan, which is invalid, in a field that is not read.
_NO_JSON = re.compile(r":\s*-?(?:nan|inf)\b")
# The separator given with -x is whatever follows the time.
_FIRST_CSV = re.compile(r"\s*\d+\.\d+(\D{1,8}?)(?=[CSND]\d|CPU\d|\d|<)")
_CPU = re.compile(r"CPU(\d{1,6})\s*$")
# The place with --per-socket and the like; the number of aggregated counters follows.
_PLACE = re.compile(r"[SND]\d+(?:-[A-Z]+\d+)*\s*$")
_PERCENT = re.compile(r"\d{1,3}(?:\.\d+)?$")
# Decorations of an event's name: ":u", "cpu_core/cycles/".
_MODIFIER = re.compile(r":[ukhGHpPSDIWeb]{1,12}$")
_OF_A_PMU = re.compile(r"cpu(?:_core|_atom)?/([^/=,]+)/[ukhGHpPSDIWeb]*$")


class PerfStat(NamedTuple):
    """The counts of perf stat.

    frame: a row per interval, CPU and event in the order printed: start_s and end_s (from perf's
    own start), cpu (NA for all together), event, value (NaN if nothing was counted), unit,
    running_share (the share of the interval in which the event had a counter; below 1 perf has
    scaled the value), outcome ("counted", "not counted", "not supported"). notes: what was left
    out, and why.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


class _Line(msgspec.Struct, rename="kebab"):
    interval: float
    counter_value: str | float | None = None
    event: str | None = None
    unit: str | None = None
    cpu: str | int | None = None
    pcnt_running: str | float | None = None


_decode = msgspec.json.Decoder(_Line).decode


def parse_perf_stat(text: str) -> PerfStat:
    """Parse the output of perf stat -I, as JSON (-j) or with any field separator (-x).

    Unknown lines are left out. If the last line is incomplete, its whole interval is left out.
    """
    lines = text.split("\n")
    cut = bool(lines.pop())
    first = next((line for line in lines if line.strip() and line.strip()[0] != "#"), "")
    parse = _of_json if first.lstrip()[:1] == "{" else _of_csv
    separator = _FIRST_CSV.match(first)
    rows: list[tuple[Any, ...]] = []
    unread = 0
    start, end = 0.0, 0.0
    for line in lines:
        if not line.strip() or line.lstrip()[0] == "#":
            continue
        row = parse(line, separator[1] if separator else ";")
        # A time before the previous one comes from another run of perf.
        if row is None or not end <= row[0] <= _LAST_S:
            unread += 1
            continue
        if row[0] > end:
            start, end = end, row[0]
        # The second line of a metric has no event.
        if row[2]:
            rows.append((start, end, *row[1:]))
    notes = [f"{plural(unread, 'line')} of perf stat could not be read"] if unread else []
    if cut:
        rows = [row for row in rows if row[1] < end]
        notes.append("perf stat ended in the middle of a line: its last interval is left out")
    return PerfStat(pd.DataFrame(rows, columns=list(_TYPES)).astype(_TYPES), tuple(notes))


def counted_in(bundle: "Bundle", name: str) -> PerfStat:
    """The counts of perf stat beside a recording; name: the profile, "counters" or "energy".

    Adds start_ns and end_ns on the recording's clock, and interval_error_ns, by which both may be
    later. perf prints times since its own start: that is after netcost-record started it, and early
    enough for its last print to come before it was told to stop. If the manifest does not say when
    perf ran, start_ns and end_ns count from 0.
    """
    perf = bundle.manifest.companion(name)
    frame, notes = parse_perf_stat(bundle.text(perf.output or f"{name}.jsonl") or "")
    began = min(perf.start_ns or 0, FARTHEST_NS)
    for column in ("start", "end"):
        frame[f"{column}_ns"] = began + (frame[f"{column}_s"] * 1e9).round().astype("int64")
    last = int(frame["end_ns"].max()) if len(frame) else 0
    ended = min(perf.end_ns or last, 2 * FARTHEST_NS - 1)
    frame["interval_error_ns"] = max(ended - last, 0)
    return PerfStat(frame, notes)


def plain_event(name: str) -> str:
    """An event without modifiers and CPU PMU: "cycles" for "cycles:u", "cpu_core/cycles/".

    cpu-cycles is another name for cycles.
    """
    inside = _OF_A_PMU.match(name)
    plain = inside[1] if inside else _MODIFIER.sub("", name.strip("{}")).strip("{}")
    return "cycles" if plain == "cpu-cycles" else plain


def _of_json(line: str, _: str) -> tuple[Any, ...] | None:
    try:
        row = _decode(line)
    except msgspec.MsgspecError:
        try:
            row = _decode(_NO_JSON.sub(": null", line))
        except msgspec.MsgspecError:
            return None
    cpu = None if row.cpu is None else str(row.cpu).removeprefix("CPU")
    if cpu is not None and not (cpu.isascii() and cpu.isdigit() and len(cpu) < 7):
        return None
    return _row(
        row.interval, cpu, row.event or "", row.counter_value, row.unit or "", row.pcnt_running
    )


def _of_csv(line: str, separator: str) -> tuple[Any, ...] | None:
    when, *fields = line.split(separator)
    cpu = None
    if fields and (match := _CPU.match(fields[0])):
        cpu, fields = match[1], fields[1:]
    elif fields and _PLACE.match(fields[0]):
        fields = fields[2:]
    if len(fields) < 3:
        return None
    # An event's name may contain the separator; it ends at the run time and percentage.
    ends = (
        i
        for i in range(3, len(fields) - 1)
        if fields[i].isdigit() and _PERCENT.match(fields[i + 1])
    )
    end = next(ends, None)
    name = fields[2] if end is None else separator.join(fields[2:end])
    running = None if end is None else fields[end + 1]
    value = _number(when)
    return None if value is None else _row(value, cpu, name, fields[0], fields[1], running)


def _row(
    when: float, cpu: str | None, event: str, value: Any, unit: str, running: Any
) -> tuple[Any, ...] | None:
    number = None if value in _OUTCOMES else _number(value)
    share = 100.0 if running is None else _number(running)
    if not isfinite(when) or when < 0 or share is None or len(event) > _LONGEST_NAME:
        return None
    if event and value not in _OUTCOMES and number is None:
        return None
    outcome = _OUTCOMES.get(value, COUNTED) if isinstance(value, str) else COUNTED
    name = None if cpu is None else int(cpu)
    return when, name, event, number, unit[:_LONGEST_NAME], min(share / 100, 1.0), outcome


def _number(word: Any) -> float | None:
    try:
        value = float(word)
    except (TypeError, ValueError):
        return None
    return value if 0 <= value < _MOST else None

"""Parsers for sysstat: mpstat's time of each CPU, pidstat's figures of each task, per interval.

As text both print a 12- or 24-hour time before each line, recurring headings, averages in the
host's language, and decimal commas if the locale has them. Source: mpstat.c, pidstat.c and common.c
of sysstat 10 to 12.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from .._native import CaptureError

_CLOCK = re.compile(r"[0-9][0-9:.\-T+Z]*$")
_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?$")
# Some locales end "Average" with a full-width colon.
_AVERAGE = (":", "\uff1a")
_HALVES = ("AM", "PM", "am", "pm")
KINDS = ("usr", "nice", "sys", "iowait", "irq", "soft", "steal", "guest", "gnice", "idle")
# Names in older versions.
_OLDER = {"user": "usr", "system": "sys"}
# The prefix of a thread's name with -t: "|__" or the name of its process.
_THREAD = re.compile(r"^(?:\||\(.*?\))__")
_FIRST = ("UID", "USER", "PID", "TGID")
_WHOLE = {"UID": "uid", "PID": "pid", "TGID": "pid", "TID": "tid", "CPU": "cpu"}
_SIZES = {"VSZ": "vsz_kib", "RSS": "rss_kib", "StkSize": "stack_kib", "StkRef": "stack_ref_kib"}


class _Line(NamedTuple):
    """A line of values under a heading: its time as printed, and its words by column.

    when is empty for averages. The last column has the rest of the line, including blanks.
    """

    when: str
    words: dict[str, str]


def _lines_of(text: str, first_columns: tuple[str, ...], wide: bool) -> Iterator[_Line]:
    # first_columns: each heading begins with one of them. wide: the last column may have blanks.
    columns: list[str] = []
    clock = 0
    for line in text.splitlines():
        words = line.split()
        start = next((i for i, word in enumerate(words[:4]) if word in first_columns), None)
        if start is not None and any("/s" in word or word[:1] == "%" for word in words):
            columns = words[start:]
            # The time is in the locale's format: count its words. The heading "# Time" has none.
            clock = 0 if words[0].startswith("#") else start
        elif not words:
            # The next block has its own heading, perhaps of another report.
            columns = []
        elif columns and (made := _line(line, columns, wide, clock)):
            yield made


def _line(line: str, columns: list[str], wide: bool, clock: int) -> _Line | None:
    words = line.split()
    before = _before(words, clock)
    count = len(columns)
    if before is None or len(words) - before < count:
        return None
    if not wide and len(words) - before != count:
        return None
    values = line.split(None, before + count - 1)[before:]
    when = "" if words[before - 1].endswith(_AVERAGE) else " ".join(words[:before])
    return _Line(when, dict(zip(columns, (value.rstrip() for value in values), strict=True)))


def _before(words: list[str], clock: int) -> int | None:
    # The number of words before the first column: a time, or "Average:" in some language.
    ends = (i + 1 for i, word in enumerate(words[:3]) if word.endswith(_AVERAGE))
    if before := next(ends, None):
        return before
    if any(word[:1].isdigit() for word in words[:clock]):
        return clock
    if _CLOCK.match(words[0]):
        return 1 + (len(words) > 1 and words[1] in _HALVES)
    return None


def _number(word: str) -> float | None:
    # Accepts a decimal point or comma, and "%" as printed under --human; None for anything else.
    word = word.removesuffix("%")
    return float(word.replace(",", ".")) if _NUMBER.match(word) and len(word) < 25 else None


def _whole(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdigit() and len(word) < 19 else None


def parse_mpstat(text: str) -> pd.DataFrame:
    """CPU time in the output of mpstat, text or ``-o JSON``.

    Parameters
    ----------
    text : str
        The output, in any locale and clock format. Other reports (``-I``, ``-N``) and unknown lines
        are skipped.

    Returns
    -------
    pandas.DataFrame
        A row per interval and CPU in the order printed: interval (from 0, NA for the averages at
        the end), when (as printed), cpu (NA for all of them), and the shares (0 to 1) of the ten
        kinds, ``usr_share`` to ``idle_share``; NaN for a kind that the version does not have.

    Raises
    ------
    CaptureError
        For incomplete JSON.
    """
    records = _mpstat_json(text) if text.lstrip()[:1] == "{" else _mpstat_text(text)
    frame = pd.DataFrame(
        records, columns=["interval", "when", "cpu", *(f"{kind}_share" for kind in KINDS)]
    )
    types = {f"{kind}_share": "float64" for kind in KINDS}
    return frame.astype({"interval": "Int64", "cpu": "Int64", **types})


def _mpstat_text(text: str) -> list[list[Any]]:
    records: list[list[Any]] = []
    interval, last = -1, None
    for line in _lines_of(text, ("CPU",), wide=False):
        shares = {
            _OLDER.get(name[1:], name[1:]): _number(word)
            for name, word in line.words.items()
            if name[:1] == "%"
        }
        cpu = line.words["CPU"]
        if "idle" not in shares or None in shares.values() or not (cpu == "all" or cpu.isdigit()):
            continue
        # An interval begins with "all", or without such lines when the time changes.
        interval += bool(line.when) and (cpu == "all" or line.when != last)
        last = line.when
        records.append(_mpstat_row(interval if line.when else None, line.when, cpu, shares))
    return records


class _Interval(msgspec.Struct):
    loads: list[dict[str, Any]] = msgspec.field(name="cpu-load", default_factory=list)
    timestamp: str = ""


class _Host(msgspec.Struct):
    statistics: list[_Interval]


class _Sysstat(msgspec.Struct):
    hosts: list[_Host]


class _Output(msgspec.Struct):
    sysstat: _Sysstat


def _mpstat_json(text: str) -> list[list[Any]]:
    try:
        hosts = msgspec.json.decode(text, type=_Output).sysstat.hosts
        intervals = [interval for host in hosts for interval in host.statistics]
        return [
            _mpstat_row(
                number,
                interval.timestamp,
                str(load["cpu"]),
                {kind: float(load[kind]) for kind in KINDS if kind in load},
            )
            for number, interval in enumerate(intervals)
            for load in interval.loads
        ]
    except (
        msgspec.MsgspecError,
        ArithmeticError,
        ValueError,
        TypeError,
        LookupError,
        RecursionError,
    ):
        raise CaptureError("mpstat's output is not complete JSON: was mpstat killed?") from None


def _mpstat_row(
    interval: int | None, when: str, cpu: str, shares: Mapping[str, float | None]
) -> list[Any]:
    percent = map(shares.get, KINDS)
    shown = (None if value is None else value / 100 for value in percent)
    return [interval, when, _whole(cpu), *shown]


def parse_pidstat(text: str) -> pd.DataFrame:
    """The output of pidstat with any of ``-u -w -r -d -s -t``, with or without ``-h``.

    Parameters
    ----------
    text : str
        The output, in any locale and clock format. Headings may recur with other columns; unknown
        lines are skipped.

    Returns
    -------
    pandas.DataFrame
        A row per line in the order printed: when (as printed, empty for averages), pid, tid (Int64,
        NA if not printed), uid, user if printed, cpu, comm (with its blanks), then the report's
        columns: ``%usr`` as usr_share, 0 to 1 for one CPU, ``cswch/s`` as cswch_per_s, ``RSS`` as
        rss_kib; NaN in lines under another heading.
    """
    records = [
        record
        for line in _lines_of(text, _FIRST, wide=True)
        if (record := _pidstat_record(line.when, line.words)) is not None
    ]
    frame = pd.DataFrame(records)
    first = ["when", "pid", "tid", "uid", "cpu", "comm"]
    for name in first:
        if name not in frame:
            frame[name] = pd.Series([None] * len(frame), dtype="object")
    frame = frame.astype(dict.fromkeys(("pid", "tid", "uid", "cpu"), "Int64"))
    return frame[[*first, *(name for name in frame if name not in first)]]


def _pidstat_record(when: str, words: dict[str, str]) -> dict[str, Any] | None:
    record: dict[str, Any] = {"when": when}
    for name, word in words.items():
        if name == "Command":
            record["comm"] = _THREAD.sub("", word)
        elif name == "USER":
            record["user"] = word
        elif name in _WHOLE:
            # A thread's line has "-" in place of its process.
            if word != "-":
                record[_WHOLE[name]] = _whole(word)
                if record[_WHOLE[name]] is None:
                    return None
        else:
            value = _number(word)
            if value is None:
                return None
            record[_pidstat_column(name)] = value / 100 if name[:1] == "%" else value
    return record if "comm" in record else None


def _pidstat_column(column: str) -> str:
    if column[:1] == "%":
        return f"{column[1:].lower()}_share"
    return _SIZES.get(column) or column.replace("/s", "_per_s")

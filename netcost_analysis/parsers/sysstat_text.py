# The text format of sysstat's programs: a 12- or 24-hour time before each line, recurring headings,
# averages in the host's language, decimal commas if the locale has them. Source: mpstat.c,
# pidstat.c and common.c of sysstat 10 to 12.

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLOCK = re.compile(r"[0-9][0-9:.\-T+Z]*$")
_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?$")
# Some locales end "Average" with a full-width colon.
_AVERAGE = (":", "\uff1a")
_HALVES = ("AM", "PM", "am", "pm")


class Line(NamedTuple):
    """A line of values under a heading: its time as printed, and its words by column.

    when is empty for averages. The last column has the rest of the line, including blanks.
    """

    when: str
    words: dict[str, str]


def lines_of(text: str, first_columns: tuple[str, ...], wide: bool) -> Iterator[Line]:
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


def _line(line: str, columns: list[str], wide: bool, clock: int) -> Line | None:
    words = line.split()
    before = _before(words, clock)
    count = len(columns)
    if before is None or len(words) - before < count:
        return None
    if not wide and len(words) - before != count:
        return None
    values = line.split(None, before + count - 1)[before:]
    when = "" if words[before - 1].endswith(_AVERAGE) else " ".join(words[:before])
    return Line(when, dict(zip(columns, (value.rstrip() for value in values), strict=True)))


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


def number(word: str) -> float | None:
    # Accepts a decimal point or comma, and "%" as printed under --human; None for anything else.
    word = word.removesuffix("%")
    return float(word.replace(",", ".")) if _NUMBER.match(word) and len(word) < 25 else None


def whole(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdigit() and len(word) < 19 else None

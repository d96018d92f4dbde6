# What the texts of sysstat's programs have in common: a clock of 12 or 24 hours before each line,
# headings that come again, averages in the host's language, commas where the locale has them.
# Source: mpstat.c, pidstat.c and common.c of sysstat 10 to 12.

import re
from collections.abc import Iterator
from typing import NamedTuple

_CLOCK = re.compile(r"[0-9][0-9:.\-T+Z]*$")
_NUMBER = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?$")
# Some locales end it with a colon of their own.
_AVERAGE = (":", "\uff1a")
_HALVES = ("AM", "PM", "am", "pm")


class Line(NamedTuple):
    """A line of values below its heading: when it says it is of, and its words by column.

    when is empty for averages. The last column has the rest of the line, blanks and all.
    """

    when: str
    words: dict[str, str]


def lines_of(text: str, first_columns: tuple[str, ...], wide: bool) -> Iterator[Line]:
    # first_columns: those of which one begins each heading. wide: the last column may have blanks.
    columns: list[str] = []
    clock = 0
    for line in text.splitlines():
        words = line.split()
        start = next((i for i, word in enumerate(words[:4]) if word in first_columns), None)
        if start is not None and any("/s" in word or word[:1] == "%" for word in words):
            columns = words[start:]
            # As many words as the time has, which locales write in their own way; "# Time" is none.
            clock = 0 if words[0].startswith("#") else start
        elif not words:
            # The next block has a heading of its own, of another report perhaps.
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
    # How many words stand before the first column: a time, or "Average:" in some language.
    ends = (i + 1 for i, word in enumerate(words[:3]) if word.endswith(_AVERAGE))
    if before := next(ends, None):
        return before
    if any(word[:1].isdigit() for word in words[:clock]):
        return clock
    if _CLOCK.match(words[0]):
        return 1 + (len(words) > 1 and words[1] in _HALVES)
    return None


def number(word: str) -> float | None:
    # As printed, with a point or a comma, and "%" under --human; None for anything else.
    word = word.removesuffix("%")
    return float(word.replace(",", ".")) if _NUMBER.match(word) and len(word) < 25 else None


def whole(word: str | None) -> int | None:
    return int(word) if word and word.isascii() and word.isdigit() and len(word) < 19 else None

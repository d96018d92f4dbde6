"""Commands as a shell reads them: words quoted, and lines of a width that can be copied."""

import re
import shlex
from collections.abc import Iterable, Iterator

from ..display.names import columns_of

# A part of a word: quoted in one of three ways, or a character.
_PART = re.compile(
    r"(?P<escaped>\$'(?:\\.|[^'\\])*')|(?P<single>'[^']*')"
    r"|(?P<double>\"(?:\\.|[^\"\\])*\")|(?P<plain>\\.|[^\s])",
    re.DOTALL,
)
_WORD = re.compile(r"(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|[^\s'\"\\]|['\"\\])+")
_LETTER = re.compile(r"\\[0-7]{1,3}|\\.|.", re.DOTALL)


def shell_line(words: Iterable[str]) -> str:
    """Words quoted for a shell, on one line, with unprintable characters escaped."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    spelled = "".join(
        letter
        if letter.isprintable() and letter not in "\\'"
        else "".join(f"\\{byte:03o}" for byte in letter.encode())
        for letter in word
    )
    return f"$'{spelled}'"


def continued(command: str, width: int) -> str:
    """A command over several lines, none wider than width, which a shell reads as one."""
    lines, line = [], ""
    for word in _WORD.findall(command):
        # A backslash ends every line but the last.
        if line and columns_of(line + word) + 3 > width:
            lines.append(f"{line} \\")
            line = ""
        start = f"{line} " if line else "    " if lines else ""
        *within, line = _broken(start, word, width)
        lines += within
    return "\n".join([*lines, line])


def _broken(start: str, word: str, width: int) -> Iterator[str]:
    # A word behind the start of its line, broken where the line would be too long. A shell drops a
    # backslash at the end of a line. It does not in single quotes, so these are closed before it
    # and opened again.
    line = start
    is_long = columns_of(start + word) + 2 > width
    for letters, closing, opening in _letters(word) if is_long else [(word, "", "")]:
        if is_long and columns_of(line + letters) + 2 > width and line.strip():
            yield f"{line}{closing}\\"
            line = opening
        line += letters
    yield line


def _letters(word: str) -> Iterator[tuple[str, str, str]]:
    # What may not be broken, with what closes and opens the quotes that it is in.
    for part in _PART.finditer(word):
        kind, text = part.lastgroup, part[0]
        # Within a substitution other quotes hold.
        if kind == "plain" or (kind == "double" and ("$(" in text or "`" in text)):
            yield text, "", ""
            continue
        opening = "$'" if kind == "escaped" else text[0]
        around = ("", "") if kind == "double" else ("'", opening)
        yield opening, "", ""
        inside = text[len(opening) :]
        for letter in inside if kind == "single" else _LETTER.findall(inside):
            yield letter, *around

# Sentences as lines of a width: a figure keeps its unit, a word that is longer stays whole.

import re
from textwrap import wrap

# Between a figure and its unit.
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s|pp)(?!\w))")
_TIED = "\N{NO-BREAK SPACE}"


def lines_of(text: str, width: int, hang: str = "") -> list[str]:
    """A line as lines of at most so many characters, all but the first behind hang."""
    lines = wrap(
        _UNIT.sub(_TIED, text),
        width,
        subsequent_indent=hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_TIED, " ") for line in lines]

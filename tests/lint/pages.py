# What a new user reads is short: the README is one page, and the pages that lead in have no
# sentence of more than 30 words.

import re
from collections.abc import Iterator
from pathlib import Path

from support.host import ROOT

MOST_LINES, MOST_WORDS, LONGEST = 100, 900, 30
LEADING = (
    *("index", "tutorial", "howto", "host", "kvm", "before-after", "cycles", "netdev-times"),
    *("containers", "steer", "gallery", "troubleshooting", "explanation", "python", "reference"),
)


def sentences(text: str) -> Iterator[str]:
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:-|\d+\.|\||#))", text):
        for cell in part.strip("| \n").split(" | ") if part.startswith("|") else [part]:
            # A code span is a word, and so is what a link is called.
            plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "code", cell))
            yield from re.split(r"(?<=[.?!])\s+", " ".join(plain.split()))


def sentences_are_short() -> Iterator[str]:
    for path in (ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in LEADING)):
        for one in sentences(path.read_text()):
            words = len(re.findall(r"\S*\w\S*", one))
            if words > LONGEST:
                yield f"{path.relative_to(ROOT)}:1: {words} words: {one}"


def readme_is_one_page() -> Iterator[str]:
    text = Path(ROOT, "README.md").read_text()
    lines, words = len(text.splitlines()), len(text.split())
    if lines > MOST_LINES or words > MOST_WORDS:
        yield f"README.md:{lines}: {words} words; {MOST_LINES} lines and {MOST_WORDS} words at most"

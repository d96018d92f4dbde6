# What an answer says, as one line: where a template's lines end is nothing to a reader.

from typing import Any


def said(answer: Any) -> str:
    return " ".join(answer.words.split())

# What --with NAME=VALUE gives a question: values of the types that its parameters have.

import ast
import re
from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..questions.question import Question


def arguments(question: "Question[Any, Any]", given: tuple[str, ...]) -> dict[str, Any]:
    """The values of a question's parameters, each of its type; click's UsageError for others."""
    values = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or name not in question.options:
            known = ", ".join(f"{key}={value}" for key, value in question.options.items())
            raise click.UsageError(
                f"--with {one!r}: {question.name} takes {known or 'nothing'} (NAME=VALUE)"
            )
        values[name] = _value(one, text, str(question.parameters[name].annotation))
    return values


def _value(given: str, text: str, kind: str) -> Any:
    # A value of the parameter's type, as its annotation has it: "int | None", "float", "By".
    if text == "None" and "None" in kind:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        value = text
    if many := _MANY.search(kind):
        one, rest = many.groups()
        length = None if rest in (None, "...") else 1 + rest.count(one)
        values = tuple(value) if isinstance(value, list | tuple) else (value,)
        fits = all(_TAKES[one](each) for each in values)
        if values and fits and len(values) == (length or len(values)):
            return values
    elif any(name in kind and takes(value) for name, takes in _TAKES.items() if name != "str"):
        return float(value) if "float" in kind else value
    elif "str" in kind or "Literal" in kind:
        return value if isinstance(value, str) else text
    raise click.UsageError(f"--with {given!r}: it takes {_said(kind)}")


# "tuple[int, ...]", "tuple[int, int]", "collections.abc.Sequence[int]".
_MANY = re.compile(r"(?:tuple|Sequence)\[(\w+)(?:, (.*?))?\]")
_TAKES: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    # Counts and lengths. Times have 64 bits, and are added to others.
    "int": lambda value: type(value) is int and 0 <= value < 2**62,
    "float": lambda value: type(value) in (int, float) and isfinite(value) and value >= 0,
    "str": lambda value: isinstance(value, str),
}


def _said(kind: str) -> str:
    plain = re.sub(r"<class '(\w+)'>", r"\1", kind).removeprefix("collections.abc.")
    return plain + (" (0 or more)" if re.search("int|float", plain) else "")

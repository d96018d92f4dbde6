# Public names have docstrings in numpydoc's form: those of __init__.pyi, and the public methods
# and properties of its classes. A question's docstring has no sections, which would repeat its
# signature, its declaration and columns.toml. `make lint` runs this.

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import netcost_analysis
from netcost_analysis.answers.registry import questions

# Sections that there are, in numpydoc's order; a summary that is a sentence.
_TEXT = {"GL06", "GL07", "SS03"}
# Every parameter is there, in order, with a blank before its colon and a description, and so is
# what is returned. Types are in the signature, capitals and full stops in ruff's hands.
_CODES = _TEXT | {"PR01", "PR02", "PR03", "PR07", "PR10", "RT01", "RT03"}


def problems() -> Iterator[str]:
    """A line per fault."""
    for name in sorted(netcost_analysis.__all__):
        public = getattr(netcost_analysis, name)
        if _own(public):
            yield from _of_class(name, public) if inspect.isclass(public) else _of(name, public)
    for one in questions().values():
        text = inspect.getdoc(one.function) or ""
        if not re.match(r"[A-Z].*[.?]$", text.partition("\n")[0]):
            yield f"{one.name}: its first line is no sentence"
        if not re.search(r"\bSources?\b", text):
            yield f"{one.name}: no source"
        # What the signature, the declaration and columns.toml say.
        if re.search(r"\n(Parameters|Returns|Raises|Notes)\n-", text):
            yield f"{one.name}: has sections"


def _own(public: Any) -> bool:
    module = str(getattr(public, "__module__", ""))
    return module.startswith("netcost_analysis.") and "_native" not in module


def _of_class(name: str, public: type) -> Iterator[str]:
    yield from _faults(name, public, _TEXT)
    document = get_doc_object(public)
    said = [one.name for part in ("Parameters", "Attributes") for one in document[part]]
    said = [one for names in said for one in names.split(", ")]
    yield from (
        f"{name}: {field} is no parameter or attribute of its docstring"
        for field in getattr(public, "_fields", None) or _fields(public)
        if field not in said
    )
    for attribute, value in vars(public).items():
        if attribute.startswith("_"):
            continue
        if isinstance(value, property):
            yield from _faults(f"{name}.{attribute}", value.fget, _TEXT)
        elif isinstance(value, cached_property):
            yield from _faults(f"{name}.{attribute}", value.func, _TEXT)
        elif inspect.isfunction(value):
            yield from _of(f"{name}.{attribute}", value)


def _fields(public: type) -> list[str]:
    # What a dataclass declares, or what __init__ sets.
    if is_dataclass(public):
        return [one.name for one in fields(public)]
    if "__init__" not in vars(public):
        return []
    code = ast.parse(textwrap.dedent(inspect.getsource(public.__init__)))  # type: ignore[misc]
    stored = (
        one.attr
        for one in ast.walk(code)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
    )
    return [one for one in stored if not one.startswith("_")]


def _of(name: str, function: Any) -> Iterator[str]:
    given = [one for one in inspect.signature(function).parameters if one != "self"]
    # What takes nothing may say in its one line what it returns.
    brief = not given and "\n" not in (inspect.getdoc(function) or "")
    yield from _faults(name, function, _CODES - {"RT01"} if brief else _CODES)


def _faults(name: str, public: Any, codes: set[str]) -> Iterator[str]:
    if not inspect.getdoc(public):
        yield f"{name}: no docstring"
        return
    for code, said in validate(get_doc_object(public))["errors"]:
        if code in codes:
            yield f"{name}: {code} {said}"


if __name__ == "__main__":
    found = list(problems())
    print("\n".join(found) or "Every public docstring is in numpydoc's form.")
    sys.exit(bool(found))

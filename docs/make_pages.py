# Pages of the site that are made from the code and not committed: every command with its options,
# as click has them, and the Python interface, as its docstrings have it.

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import click
from numpydoc.docscrape import get_doc_object

import netcost_analysis
from netcost_analysis.cli.main import cli

_WIDTH = 96
_SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def commands_page() -> str:
    """commands.md: what `--help` of each command prints."""
    context = click.Context(
        cli, info_name="netcost", max_content_width=_WIDTH, terminal_width=_WIDTH
    )
    parts = [
        "# All options\n",
        "What `netcost COMMAND --help` prints. [The command line](cli.md) explains it.\n",
    ]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        own = click.Context(command, context, info_name=name, terminal_width=_WIDTH)
        parts.append(f"## netcost {name}\n\n```text\n{command.get_help(own)}\n```\n")
    return "\n".join(parts)


def api_page() -> str:
    """api.md: the names of `netcost_analysis`, with signatures and docstrings."""
    parts = [
        "# API\n",
        "The public names of `netcost_analysis`. [From Python](python.md) shows their use.\n",
    ]
    for name in sorted(netcost_analysis.__all__, key=str.lower):
        public = getattr(netcost_analysis, name)
        if inspect.isclass(public):
            parts += [f"## {name}\n", *_told(public)]
            for attribute, call, member in _members(public):
                parts += [f"### {name}.{attribute}\n", *call, *_told(member)]
        elif callable(public):
            parts += [f"## {name}\n", _called(name, public), *_told(public)]
    return "\n".join(parts)


def _members(public: type) -> Iterator[tuple[str, list[str], Any]]:
    # A property is called by nobody.
    for name, value in vars(public).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            yield name, [], value.fget
        elif isinstance(value, cached_property):
            yield name, [], value.func
        elif inspect.isfunction(value):
            yield name, [_called(name, value)], value


def _called(name: str, function: Any) -> str:
    # Without types, which the docstring has in words.
    signature = inspect.signature(function)
    given = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    bare = signature.replace(parameters=given, return_annotation=inspect.Signature.empty)
    return f"```python\n{name}{bare}\n```\n"


def _told(public: Any) -> Iterator[str]:
    if not inspect.getdoc(public):
        return
    document = get_doc_object(public)
    for part in ("Summary", "Extended Summary"):
        if document[part]:
            yield _plain("\n".join(document[part])) + "\n"
    for section in _SECTIONS:
        rows = document[section]
        if rows:
            yield f"**{section}**\n"
            yield "\n".join(map(_row, rows)) + "\n"


def _row(row: Any) -> str:
    name, kind = (f"`{one}`" if one else "" for one in (row.name, row.type))
    head = ", ".join(filter(None, (name, kind)))
    return f"- {head}: {_plain(' '.join(row.desc))}"


def _plain(text: str) -> str:
    # Docstrings mark code with two backticks, and may name placeholders in angle brackets.
    return re.sub(r"``([^`]+)``", r"`\1`", text).replace("<", "&lt;")

"""Renders Jinja2 templates as Markdown, and Markdown as HTML and plain text.

Values are escaped once, for Markdown. HTML and text are made from the Markdown, so that a task's
name stays text in each form.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import units
from ..units import printable
from .metrics import (
    chance,
    changed,
    found,
    from_to,
    measured,
    metric_name,
    moved,
    quantity,
    span,
    went,
    within,
)
from .names import label_name, run_name
from .tables import between, share_between

if TYPE_CHECKING:
    from jinja2 import Environment
    from markdown_it import MarkdownIt

# An underscore within a word needs no escape, nor does a "<" that begins no tag.
_SPECIAL = re.compile(r"([\\`*\[\]>#|&~$!]|<(?=[A-Za-z/!?])|(?<![^\W_])_|_(?![^\W_]))")
# At the start of a line, these begin a list or underline a heading.
_LEADING = re.compile(r"^(\d*)([-+=]|[.)](?=\s|$))")
_NEWLINES = re.compile(r"[\n\r\t\v\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Markdown(str):
    """Text that is already Markdown and is not escaped again."""

    __slots__ = ()


def escaped(value: Any) -> Markdown:
    """A value escaped for Markdown, on one line."""
    if isinstance(value, Markdown):
        return value
    text = one_line(value)
    return Markdown(_LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text)))


def code(value: Any) -> Markdown:
    """A value in a code span, fenced by more backticks than the value has in a row."""
    text = one_line(value)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence, gap = "`" * (longest + 1), " " if longest else ""
    return Markdown(f"{fence}{gap}{text}{gap}{fence}")


def fenced(text: str) -> Markdown:
    """Lines as a code block, fenced by more backticks than they have in a row."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return Markdown(f"{fence}\n{text}\n{fence}")


def one_line(value: Any) -> str:
    """A value on one line, without control characters that a terminal would obey."""
    return printable(_NEWLINES.sub(" ", str(value)))


def code_block(value: Any) -> Markdown:
    """A line as a code block."""
    return Markdown(f"    {one_line(value)}")


def joined(values: Any, last: str = " and ") -> Markdown:
    """Values as a list in a sentence: "a, b and c"."""
    *first, end = [escaped(value) for value in values] or [Markdown("none")]
    return Markdown(last.join([", ".join(first), end] if first else [end]))


def called(device: Any) -> Any:
    """A device's name in a sentence, also for the poll of no device."""
    return "a CPU's backlog" if device == "(no_device)" else device


# Under these names templates format figures.
FILTERS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(units.duration, units.fine_duration, units.figure, units.share, units.signed_share),
        *(units.points, units.ranges, units.thousands, units.mbit, units.plural),
        *(units.significant, code, code_block, joined, called, label_name),
    )
} | {
    "number": lambda value, digits=0: f"{value:,.{digits}f}",
    "brief": run_name,
    # For a macro's result, whose parts are already escaped.
    "markdown": Markdown,
}
FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(between, share_between, units.since, units.elapsed, units.were, units.absent),
        *(quantity, moved, changed, found, from_to, went, measured, metric_name),
        *(span, within, chance),
    )
}


@cache
def environment() -> "Environment":
    """The Jinja2 environment: strict about undefined names, and escaping for Markdown."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent.parent),
        undefined=StrictUndefined,
        finalize=escaped,
        # finalize escapes for Markdown; this would escape for HTML.
        autoescape=False,  # noqa: S701
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= FILTERS
    made.globals |= FUNCTIONS
    made.tests["absent"] = units.absent
    return made


def render(template: Path, figures: Mapping[str, Any]) -> str:
    """A template of the package rendered with these figures, as Markdown."""
    name = str(template.relative_to(Path(__file__).parent.parent))
    text = environment().get_template(name).render(**figures)
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


@cache
def _reader() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Line breaks in templates have no meaning.
    made.add_render_rule("softbreak", lambda *_: " ")
    return made


def as_html(markdown: str) -> str:
    """Markdown as HTML. Nothing in the text becomes a tag."""
    # An answer's first sentence comes right below the page's title: its level is 2.
    return str(_reader().render(markdown)).replace("<h4>", '<h4 aria-level="2">')


def as_text(markdown: str) -> str:
    """Markdown as plain text, with dashes for lists."""
    text, mark = "", ""
    for token in _reader().parse(markdown):
        if token.type == "list_item_open":
            mark = "- "
        if token.type == "inline":
            parts = token.children or ()
            within = "".join(" " if part.type == "softbreak" else part.content for part in parts)
            text += ("\n" if mark else "\n\n") + mark + within
            mark = ""
        if token.type in ("code_block", "fence"):
            text += f"\n\n    {token.content.strip()}"
    return text.strip()


def without_controls(text: str) -> str:
    """HTML with control characters escaped, which names from captures may contain."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)

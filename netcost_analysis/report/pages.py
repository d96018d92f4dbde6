# Writes an executed notebook as one self-contained HTML file, or as Markdown without pictures.

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ..display.templates import code, fenced

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from .notebook import Book, Cell

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_IMAGE = re.compile(r'(<img\b[^>]*?\bsrc=")([^"]+)')
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">\
<meta name="viewport" content="width=device-width, initial-scale=1">\
<title>{title}</title><style>
{style}</style></head><body><main>
{parts}
</main>{last}<footer>netcost {release}: {command}</footer></body></html>
"""


class _Form(NamedTuple):
    # How to write the parts of a notebook. kinds: formatters by MIME type, the best first.
    kinds: Mapping[str, Callable[[Any, Mapping[str, Any]], str]]
    words: "Callable[[Cell], str]"
    code: Callable[[str], str]


def page(parts: Iterable[str], title: str, command: str, last: str = "") -> str:
    """An HTML file. parts: HTML. command: what made the file. last: a section after the parts."""
    return _PAGE.format(
        title=escape(title),
        style=Path(__file__).with_name("page.css").read_text(encoding="utf-8"),
        parts="\n".join(f"<div>{part}</div>" for part in parts),
        last=last,
        release=escape(release()),
        command=escape(command, quote=False),
    )


def html_of(book: "Book", with_code: bool) -> Iterator[str]:
    """The parts of a page: a notebook's texts and outputs."""
    return _parts(book, _HTML, with_code)


def text_of(book: "Book", command: str, with_code: bool) -> str:
    """The same as Markdown. Pictures are dropped: words and tables beside them say the same."""
    parts = [*_parts(book, _TEXT, with_code), "---", f"netcost {release()}: {code(command)}"]
    return re.sub(r"\n{3,}", "\n\n", "\n\n".join(parts)).strip() + "\n"


def as_output(data: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """An output as HTML. data: by MIME type. about: the metadata of each."""
    return _output(_HTML, data, about)


def release() -> str:
    """The version of this package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("netcost-analysis")
    except PackageNotFoundError:
        return "(not installed)"


def _parts(book: "Book", form: _Form, with_code: bool) -> Iterator[str]:
    for cell in book.cells:
        if cell.cell_type == "raw":
            yield cell.source
        elif cell.cell_type == "markdown":
            yield form.words(cell)
        elif with_code and cell.source:
            yield form.code(cell.source)
        for output in cell.outputs:
            printed = {"text/plain": output.get("text", "")}
            yield _output(form, output.get("data", printed), output.get("metadata", {}))


def _output(form: _Form, data: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    kind = next((kind for kind in form.kinds if kind in data), None)
    return "" if kind is None else form.kinds[kind](data[kind], about.get(kind, {}))


def _plain(text: str) -> str:
    plain = _ANSI.sub("", text)
    return f"<pre>{escape(plain, quote=False)}</pre>"


def _picture(kind: str) -> Callable[[Any, Mapping[str, Any]], str]:
    def shown(data: str | bytes, about: Mapping[str, Any]) -> str:
        text = b64encode(data).decode() if isinstance(data, bytes) else data
        given = {"alt": "a picture without a description", **about}
        named = "".join(
            f' {name}="{escape(str(given[name]))}"'
            for name in ("alt", "width", "height")
            if name in given
        )
        return f'<img src="data:{kind};base64,{text}"{named}>'

    return shown


@cache
def _reader() -> "MarkdownIt":
    # Unlike an answer's words, a notebook's may contain HTML.
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark").enable(["table", "strikethrough"])

    def heading(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
        tokens[at].attrSet("id", tokens[at + 1].content.replace(" ", "-"))
        return str(self.renderToken(tokens, at, options, env))

    made.add_render_rule("heading_open", heading)
    return made


def _words(cell: "Cell") -> str:
    return _IMAGE.sub(lambda match: match[1] + _kept(match[2], cell), _reader().render(cell.source))


def _kept(source: str, cell: "Cell") -> str:
    # Embeds a picture that is attached to the cell or in a file.
    name = unquote(source)
    for kind, data in cell.attachments.get(name.removeprefix("attachment:"), {}).items():
        return f"data:{kind};base64,{data}"
    if source.startswith("data:") or not Path(name).is_file():
        return source
    return f"data:{guess_type(name)[0]};base64,{b64encode(Path(name).read_bytes()).decode()}"


_HTML = _Form(
    {
        "application/javascript": lambda data, _: f"<script>{data}</script>",
        "text/html": lambda data, _: data,
        "text/markdown": lambda data, _: _reader().render(data),
        "image/svg+xml": lambda data, _: data,
        "image/png": _picture("image/png"),
        "image/jpeg": _picture("image/jpeg"),
        "text/plain": lambda data, _: _plain(data),
    },
    _words,
    _plain,
)
_PICTURES = ("image/svg+xml", "image/png", "image/jpeg")
_TEXT = _Form(
    {
        "text/markdown": lambda data, _: data,
        # Drop pictures, together with their text/plain substitutes.
        **dict.fromkeys(_PICTURES, lambda *_: ""),
        "text/plain": lambda data, _: fenced(data),
    },
    lambda cell: cell.source,
    lambda source: fenced(source).replace("\n", "python\n", 1),
)

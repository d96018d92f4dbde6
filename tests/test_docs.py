# What README.md and docs/*.md show is executed, as a reader would. A fenced block says what it is:
# `console` has commands behind "$ " and what they print ("..." alone stands for lines left out;
# behind "# " stands what takes root, and is not run); `sh` commands, `python` code (a document's
# blocks share their names), and `output` what the code above it prints. `<!-- not run: WHY -->`
# before a block says why it is not run here, `<!-- before: COMMAND -->` what makes its files.

import contextlib
import io
import re
import runpy
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from support.compared import compared_once
from support.transcript import PROMPT, ROOT, Console, Step, console, difference, parsed

DOCUMENTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "sample-data/README.md",
]
REMARK = re.compile(r"<!-- (not run|before): (.+) -->")
# What builds, or changes a host: it is never run here.
NEVER = re.compile(
    r"(sudo|make|pip|perf|docker|kubectl|cargo|dask|(capture/)?netcost-(record|steer)|capture/lab)\b"
)
# Of these nothing is run.
SHOWN = {"text", "yaml", "sql", "output"}


@dataclass(frozen=True)
class Block:
    kind: str
    lines: list[str]
    line: int
    not_run: str
    before: str


def blocks(text: str) -> Iterator[Block]:
    lines = text.splitlines()
    number = 0
    remarks: dict[str, str] = {}
    while number < len(lines):
        line = lines[number]
        if remark := REMARK.fullmatch(line):
            remarks[remark[1]] = remark[2]
        elif line.startswith("```"):
            end = lines.index("```", number + 1)
            told = remarks.get("not run", ""), remarks.get("before", "")
            yield Block(line[3:], lines[number + 1 : end], number + 2, *told)
            remarks, number = {}, end
        elif line.startswith("    ") and not lines[number - 1]:
            raise AssertionError(f"line {number + 1}: a block that does not say what it is")
        number += 1


# Commands of `sh` are lines of a script, a line that ends in "\" goes on.
def commands(block: Block) -> list[Step]:
    script = "\n".join(block.lines).replace("\\\n", " ").splitlines()
    return [Step(re.sub(r"(^|\s+)# .*", "", line), [], block.line) for line in script if line]


def as_user(block: Block) -> list[Step]:
    prompts = [line[:2] for line in block.lines if line[:2] in (PROMPT, "# ")]
    assert block.lines[0][:2] == prompts[0], f"line {block.line}: no prompt"
    marked = [PROMPT + "#" + line if line[:2] == "# " else line for line in block.lines]
    return [step for step in parsed(marked, block.line) if step.command[0] != "#"]


def checked(steps: list[Step], name: str) -> list[Step]:
    for step in steps:
        assert not NEVER.match(step.command), f"{name}:{step.line}: say why it is not run"
    return steps


def run(block: Block, here: Console, names: dict[str, Any], name: str) -> list[str]:
    if block.before:
        assert here.run(block.before) == []
    if block.kind == "console":
        return [
            difference(one, here.run(one.command), name, elided=True)
            for one in checked(as_user(block), name)
        ]
    if block.kind == "sh":
        done = [(step.command, here.run(step.command)) for step in checked(commands(block), name)]
        return [f"{name}: {one}: {out[-2:]}" for one, out in done if out[-1:][:6] == ["[exit "]]
    assert block.kind == "python", f"{name}:{block.line}: what is {block.kind!r}?"
    # Its lines are those of the document.
    Path("code.py").write_text("\n" * (block.line - 1) + "\n".join(block.lines))
    names |= runpy.run_path("code.py", names)
    plt.close("all")
    return []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_shown_runs(path: Path) -> None:
    found: list[str] = []
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with console() as here, compared_once():
        for block in blocks(path.read_text()):
            if block.kind == "output":
                told = Step("python", block.lines, block.line)
                found.append(
                    difference(told, printed.getvalue().splitlines(), path.name, elided=True)
                )
            elif block.kind not in SHOWN and not block.not_run:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    found += run(block, here, names, path.name)
    assert not any(found), "\n\n".join(filter(None, found))


# The documentation as a site: every page is in it, and every link leads somewhere.


DOCS = ROOT / "docs"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(DOCS))
    import build_site

    yield build_site
    for name in ("build_site", "make_pages"):
        sys.modules.pop(name, None)


def listed(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for inside in entry.values():
                yield from [inside] if isinstance(inside, str) else listed(inside)


def test_every_page_is_in_the_navigation(site: Any) -> None:
    project = tomllib.loads((DOCS / "zensical.toml").read_text())["project"]
    pages = [path.name for path in DOCS.glob("*.md")]
    made = ["commands.md", "api.md"]
    assert sorted(listed(project["nav"])) == sorted([*pages, *made, *site.BESIDE.values()])


def test_a_link_that_leads_nowhere_is_found(site: Any, tmp_path: Path) -> None:
    links = ["b.html#there", "b.html", "c.html", "#here", "#gone", "https://c.example"]
    text = "".join(f'<a href="{link}">' for link in links)
    (tmp_path / "a.html").write_text(f'<h1 id="here"></h1>{text}<img src="a.png">')
    (tmp_path / "b.html").write_text("<p></p>")
    found = [line.split(": ")[1].split()[0] for line in site.broken(tmp_path)]
    assert found == ["b.html#there", "c.html", "#gone", "a.png"]


def test_every_link_of_the_site_leads_somewhere(site: Any, tmp_path: Path) -> None:
    pytest.importorskip("zensical")
    books = tmp_path / "books"
    books.mkdir()
    for script in (ROOT / "notebooks").glob("[0-9]*.py"):
        (books / f"{script.stem}.html").write_text("executed elsewhere")
    assert site.build(tmp_path / "docs", books) == []
    # It loads nothing from a net: neither fonts nor scripts.
    for page in (tmp_path / "docs" / "site").glob("*.html"):
        text = page.read_text()
        assert 'src="http' not in text
        assert 'rel="stylesheet" href="http' not in text

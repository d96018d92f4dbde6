# The documentation as a site: every page is in it, and every link leads somewhere.

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.host import ROOT

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

# The documentation as a site that works offline: python docs/build_site.py (`make docs`). Pages of
# docs/, those that are made from the code, and the executed notebooks go to build/docs/pages, and
# Zensical makes build/docs/site of them. A link that leads nowhere ends it.

import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

from make_pages import api_page, commands_page

ROOT = Path(__file__).resolve().parent.parent
DOCS, BUILD = ROOT / "docs", ROOT / "build" / "docs"
BOOKS = ROOT / "build" / "notebooks"
# Pages that lie elsewhere in the repository.
BESIDE = {
    ROOT / "README.md": "project/start.md",
    ROOT / "CONTRIBUTING.md": "project/contributing.md",
    ROOT / "CHANGELOG.md": "project/changes.md",
    ROOT / "sample-data" / "README.md": "project/samples.md",
}
# The line of the gallery that names a notebook, and the first picture of a page.
_BOOK = re.compile(r"^\[`[^`]+`\]\((notebooks/[^)]+)\.html\)", re.MULTILINE)
_PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^()\s#]+)(#[\w.-]+)?(?=\))")


def stage(pages: Path, books: Path) -> None:
    """Write what the site is made of."""
    shutil.rmtree(pages, ignore_errors=True)
    for name in ("images", "assets"):
        shutil.copytree(DOCS / name, pages / name, ignore=shutil.ignore_patterns("*.py"))
    shutil.copytree(books, pages / "notebooks")
    for source in (*sorted(DOCS.glob("*.md")), *BESIDE):
        page = pages / _place(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        text = _LINK.sub(lambda link, of=source: _moved(link, of, pages), source.read_text())
        page.write_text(text)
    gallery = pages / "gallery.md"
    gallery.write_text(_BOOK.sub(lambda line: _pictured(line, pages), gallery.read_text()))
    (pages / "commands.md").write_text(commands_page())
    (pages / "api.md").write_text(api_page())


def _place(source: Path) -> Path:
    # Where a file of the repository lies in the site. What a browser would not show is a text.
    if source in BESIDE:
        return Path(BESIDE[source])
    if source.is_relative_to(DOCS):
        return source.relative_to(DOCS)
    if source.parent == ROOT / "notebooks":
        return Path("notebooks", f"{source.stem}.html")
    return Path("source", f"{source.relative_to(ROOT)}.txt")


def _moved(link: re.Match[str], source: Path, pages: Path) -> str:
    target = (source.parent / link[1]).resolve()
    if target.is_dir():
        # A sample, for who has no clone: to be unpacked where its commands run.
        within = target.relative_to(ROOT)
        packed = shutil.make_archive(str(pages / "source" / within), "gztar", ROOT, within)
        return os.path.relpath(packed, (pages / _place(source)).parent)
    if not target.is_file():
        sys.exit(f"{source.relative_to(ROOT)}: no file {link[1]}")
    place = _place(target)
    if place.parts[0] == "source" or target.suffix == ".json":
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target, pages / place)
    return os.path.relpath(place, _place(source).parent) + (link[2] or "")


def _pictured(line: re.Match[str], pages: Path) -> str:
    found = _PICTURE.search((pages / f"{line[1]}.html").read_text())
    if found is None:
        return line[0]
    (pages / f"{line[1]}.png").write_bytes(base64.b64decode(found[1]))
    return f"[![its first picture]({line[1]}.png)]({line[1]}.html)\n\n{line[0]}"


class _Page(HTMLParser):
    # The links of a page, and what can be linked to in it.
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.links += [one for key in ("href", "src") if (one := given.get(key))]
        self.names |= {one for key in ("id", "name") if (one := given.get(key))}


def broken(site: Path) -> Iterator[str]:
    """A line per link within the site that leads nowhere."""
    pages = {
        path: _Page(path)
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html" and path.parent.name != "notebooks"
    }
    for path, page in pages.items():
        for link in page.links:
            address, name = urldefrag(unquote(link))
            if re.match(r"\w+:|//", address):
                continue
            target = (path.parent / address).resolve() if address else path
            if not target.exists():
                yield f"{path.relative_to(site)}: {link} leads nowhere"
            elif name and target in pages and name not in pages[target].names:
                yield f"{path.relative_to(site)}: {link} has no such heading"


def build(folder: Path, books: Path) -> list[str]:
    """Make the site, folder/site; returns the links that lead nowhere."""
    stage(folder / "pages", books)
    config = folder / "zensical.toml"
    shutil.copyfile(DOCS / "zensical.toml", config)
    zensical = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    subprocess.run([*zensical, "--config-file", str(config)], check=True)
    return list(broken(folder / "site"))


def main() -> None:
    scripts = sorted((ROOT / "notebooks").glob("[0-9]*.py"))
    missing = [one for one in scripts if not (BOOKS / f"{one.stem}.html").exists()]
    if missing:
        print(f"executing {len(missing)} notebooks, which takes minutes", file=sys.stderr)
        execute = [sys.executable, str(ROOT / "notebooks" / "execute.py"), *map(str, missing)]
        subprocess.run(execute, check=True)
    found = build(BUILD, BOOKS)
    if found:
        sys.exit("\n".join(found))
    print(f"the site begins at {(BUILD / 'site' / 'index.html').relative_to(ROOT)}")


if __name__ == "__main__":
    main()

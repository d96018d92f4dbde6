# What a browser would fetch for a report.

from html.parser import HTMLParser

from netcost_analysis.report.timeline_view import LINKS


class Resources(HTMLParser):
    # What a browser would fetch, and the pictures' texts. Only frames have scripts, written there.
    def __init__(self, is_framed: bool = False) -> None:
        super().__init__()
        self.is_framed = is_framed
        self.fetched: list[str] = []
        self.alt: list[str] = []

    def feed(self, data: str) -> None:
        # Of a report's own scripts there is one, which is known.
        super().feed(data.replace(LINKS, "", 1))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "img":
            self.alt.append(given.get("alt") or "")
        if tag == "iframe" and given.get("srcdoc") and given.get("sandbox") == "allow-scripts":
            inside = Resources(is_framed=True)
            inside.feed(str(given["srcdoc"]))
            self.fetched += inside.fetched
        elif tag in ("iframe", "object", "embed") or (tag == "script" and not self.is_framed):
            self.fetched.append(tag)
        for name in ("src", "srcset", "data", "poster"):
            if given.get(name):
                self.fetched.append(str(given[name]))
        if tag == "link" and given.get("href"):
            self.fetched.append(str(given["href"]))

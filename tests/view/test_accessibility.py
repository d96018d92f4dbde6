# What a reader who sees little, or uses keys alone, gets: checked by axe-core in a real browser.

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.report.report import find_notebook, write_report
from netcost_analysis.timeline.task import by_of, is_of
from netcost_analysis.view.page import view_page
from netcost_analysis.view.tiles import Tiles
from support.browser import is_at_rest
from support.host import missing

# A browser's own processes decide how long it takes.
pytestmark = pytest.mark.live

RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { iframes: false, rules: arguments[0] }).then(
  (found) => done(found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])),
  (error) => done([[String(error), []]]),
);
"""
# Chromium and Firefox give the keyboard to what scrolls, which axe-core does not know.
KNOWN = {"scrollable-region-focusable": {"enabled": False}}
# As JupyterLab's themes colour what a cell shows.
THEMES = {"light": ("#fff", "rgba(0,0,0,.87)"), "dark": ("#111", "rgba(255,255,255,.87)")}
ANSWERS = ("headline", "ledger", "stolen", "remedies", "device_summary", "unanswered")


def violations(driver: Any, path: Path) -> list[Any]:
    if (found := find_spec("axe_core_python")) is None or found.origin is None:
        missing("needs axe-core-python")
    driver.get(path.as_uri())
    driver.execute_script((Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8"))
    seen: list[Any] = driver.execute_async_script(RUN, KNOWN)
    return seen


def page_of(path: Path, body: str, theme: str) -> Path:
    back, ink = THEMES[theme]
    path.write_text(
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>answers</title><style>"
        f"body {{ background: {back}; color: {ink}; }}</style></head>"
        f"<body><main><h1>Answers</h1>{body}</main></body></html>",
        encoding="utf-8",
    )
    return path


def test_it_finds_what_is_wrong(driver: Any, tmp_path: Path) -> None:
    body = "<p style='color:#777;background:#888'>faint</p><img src='data:,'>"
    found = {name for name, _ in violations(driver, page_of(tmp_path / "x.html", body, "light"))}
    assert {"color-contrast", "image-alt"} <= found


def test_a_timeline_is_accessible(driver: Any, timeline: netcost.Timeline, tmp_path: Path) -> None:
    page = tmp_path / "view.html"
    page.write_text(view_page(timeline), encoding="utf-8")
    assert violations(driver, page) == []
    assert is_at_rest(driver)


def test_a_report_is_accessible(driver: Any, timeline: netcost.Timeline, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report(find_notebook("stolen-time"), str(timeline.capture.path), str(page))
    assert violations(driver, page) == []


@pytest.mark.parametrize("theme", THEMES)
def test_answers_are_readable_in_both_themes(
    driver: Any, timeline: netcost.Timeline, tmp_path: Path, theme: str
) -> None:
    shown = [timeline.capture, *map(timeline.ask, ANSWERS)]
    body = "".join(one._repr_html_() for one in shown)
    assert violations(driver, page_of(tmp_path / f"{theme}.html", body, theme)) == []


def test_the_victims_time_has_a_colour_of_its_own(timeline: netcost.Timeline, tiles: Tiles) -> None:
    told, victim = tiles.header(), timeline.victim
    marked = {
        told["tasks"][one["task"]]["comm"] for one in told["owners"] if one["kind"] == "victim"
    }
    assert (by_of(victim), marked) == ("comm", {"openssl"})
    assert is_of("openssl", victim)
    for mode, key in (("kind", "task"), ("part", "own")):
        assert told["colours"][mode]["victim"] != told["colours"][mode][key]
        assert "openssl" in told["names"][mode]["victim"]
    # Others' time, and what ran on top of the victim, has the colours it had.
    assert {"task", "poll", "hardirq"} <= {one["kind"] for one in told["owners"]}

# In JupyterLab: what the module asks of Python is answered, and what is selected is a window.

import sys
import time
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import AbsentError, ArgumentError
from netcost_analysis.view.page import document
from netcost_analysis.view.tiles import Tiles
from netcost_analysis.view.widget import TimelineWidget
from support.browser import Shown, is_at_rest

# A model as anywidget gives it: the test carries its messages.
_HOST = """
const hears = {};
window.model = {
  values: { _header: data.header, _at: data.at },
  sent: [],
  saved: 0,
  get(name) { return this.values[name]; },
  set(name, value) { this.values[name] = value; },
  save_changes() { this.saved++; },
  send(message) { this.sent.push(message); },
  on(name, act) { hears[name] = act; },
  off(name) { delete hears[name]; },
  hear(name, ...given) { hears[name]?.(...given); },
  heard: () => Object.keys(hears),
};
window.end = render({ model: window.model, el: document.getElementById("timeline") });
"""


class Carried:
    # What a kernel and a browser do: messages there and back.
    def __init__(self, driver: Any, folder: Path, widget: TimelineWidget) -> None:
        self.driver, self.widget = driver, widget
        self.sent: list[tuple[Any, Any]] = []
        widget.send = lambda said, buffers=None: self.sent.append((said, buffers))  # type: ignore[method-assign]
        data = {"header": widget._header, "at": None}
        file = folder / "x.html"
        file.write_text(document("x", data, _HOST), encoding="utf-8")
        driver.get(file.as_uri())

    def carry(self) -> int:
        asked = self.driver.execute_script("return window.model.sent.splice(0);")
        for one in asked:
            self.widget._asked(None, one, [])
        for said, buffers in self.sent:
            # A message's buffer begins anywhere.
            self.driver.execute_script(
                """const bytes = arguments[1] && Uint8Array.from([0, ...arguments[1]]);
                const buffers = bytes ? [new DataView(bytes.buffer, 1)] : [];
                window.model.hear("msg:custom", arguments[0], buffers);""",
                said,
                list(buffers[0]) if buffers else None,
            )
        self.sent.clear()
        return len(asked)


@pytest.fixture
def widget(timeline: netcost.Timeline) -> TimelineWidget:
    return timeline.view()


def test_what_is_selected_is_a_window(timeline: netcost.Timeline, widget: TimelineWidget) -> None:
    assert widget.selected is None
    widget._selected = [1_000_000, 3_000_000.0, [0]]
    assert widget.selected == (0.001, 0.003, [0])
    part = timeline.capture.timeline(*widget.selected)
    assert part.duration_ns == 2_000_000
    # Of a part of a capture seconds count from the capture's start, as everywhere.
    view = timeline.capture.timeline(0.5, 0.6).view()
    view._selected = [0, 50, [0]]
    assert view.selected is not None
    start, end, _ = view.selected
    assert round(start * 1e9) == 500_000_000
    assert round(end * 1e9) == 500_000_050


def test_asks_and_selects_in_a_browser(
    driver: Any, tmp_path: Path, widget: TimelineWidget, tiles: Tiles
) -> None:
    carried = Carried(driver, tmp_path, widget)
    run = Shown.run.__get__(type("Page", (), {"driver": driver})())
    until = time.monotonic() + 60
    # The page's module runs once the page is there; nothing is asked before the first frame.
    while not is_at_rest(driver):
        assert time.monotonic() < until
        carried.carry()
    shares = run("return desk.shares();")
    whole = tiles.header()["duration_ns"]
    cpus = tiles.header()["cpus"]
    assert sum(row["ns"] for row in shares["rows"]) == whole * len(cpus)
    # JupyterLab's own keys, which delete cells, pass by whatever has the focus.
    focused = "canvas, button, input, select, summary"
    suppress = run(
        "return [...desk.root.querySelectorAll(arguments[0])].map("
        "(one) => one.hasAttribute('data-lm-suppress-shortcuts'));",
        focused,
    )
    assert suppress
    assert all(suppress)
    run("view.select({begin: 5, end: 1000005, cpus: [view.header.cpus[0]]});")
    selected = driver.execute_script("return window.model.values._selected;")
    assert selected == [5, 1_000_005, cpus[:1]]
    assert driver.execute_script("return window.model.saved;") == 1
    # Python leads it somewhere.
    widget.show(0.25, 0.26)
    driver.execute_script(
        "window.model.values._at = arguments[0]; window.model.hear('change:_at');", widget._at
    )
    begin, end = run("return [view.view.begin, view.view.end];")
    assert begin <= 250_000_000
    assert end >= 260_000_000
    # And a cell that is run again leaves nothing behind.
    driver.execute_script("window.end();")
    assert driver.execute_script("return window.model.heard();") == []
    assert driver.execute_script("return document.querySelectorAll('canvas').length;") == 0


def test_wrong_questions_get_an_answer(widget: TimelineWidget) -> None:
    said: list[Any] = []
    widget.send = lambda one, buffers=None: said.append(one)  # type: ignore[method-assign]
    for wrong in ({"id": 1}, {"id": 2, "what": "tile", "level": 99, "index": 0}, {}, [], "x"):
        widget._asked(None, wrong, [])
    assert [one["id"] for one in said] == [1, 2]
    assert all(one["error"] for one in said)


def test_an_answer_leads_to_its_rows(timeline: netcost.Timeline) -> None:
    origin = int(timeline.summary["start_ns"])
    episodes = timeline.ask.stolen_time.episodes()
    row = episodes.frame.iloc[3]
    place = episodes.view(3)._at
    assert place == {
        "cpu": row["cpu"],
        "begin_ns": row["start_ns"] - origin,
        "end_ns": row["end_ns"] - origin,
    }
    softirqs = timeline.ask.batches.long_softirqs()
    row = softirqs.frame.iloc[0]
    place = softirqs.view()._at
    assert (place["begin_ns"], place["end_ns"] - place["begin_ns"]) == (
        row["entry_ns"] - origin,
        row["wall_ns"],
    )
    with pytest.raises(ArgumentError, match="row 99999"):
        episodes.view(99999)
    with pytest.raises(ArgumentError, match="stolen"):
        timeline.ask.stolen_time.stolen().view()


def test_without_anywidget_a_line_says_what_brings_it(
    timeline: netcost.Timeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "netcost_analysis.view.widget")
    with pytest.raises(AbsentError, match=r"pip install 'netcost-analysis\[lab\]'"):
        timeline.view()

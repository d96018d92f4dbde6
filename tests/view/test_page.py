# A timeline as one file: whole without a network, within its size, harmless whatever it is called.

import json
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.errors import ArgumentError
from netcost_analysis.report.report import section
from netcost_analysis.view.page import MOST_BYTES, page
from netcost_analysis.view.tiles import Tiles
from support.browser import Shown
from support.texts import HOSTILE, switches

_HARM = "<img src=x onerror=window.harmed=1>"
_NAMES = (
    *HOSTILE,
    _HARM,
    "</script><script>window.harmed=2</script>",
    "<!--<script>",
    "\u202egnp.exe",
    "\u2028window.harmed=3",
)


class Renamed:
    # Tiles whose tasks and owners are called otherwise.
    def __init__(self, tiles: Tiles) -> None:
        self.tile = tiles.tile
        told = tiles.header()
        names = [_NAMES[at % len(_NAMES)] for at in range(len(told["owners"]))]
        self.told = told | {
            "owners": [
                one | {"label": name, "device": name}
                for one, name in zip(told["owners"], names, strict=True)
            ],
            "tasks": [
                one | {"comm": _NAMES[at % len(_NAMES)]} for at, one in enumerate(told["tasks"])
            ],
            "capture": _HARM,
            "notes": [_HARM],
            "marks": [{"cpu": told["cpus"][0], "begin_ns": 0, "end_ns": 10**9, "what": _HARM}],
        }

    def header(self) -> dict[str, Any]:
        return self.told


def opened(driver: Any, tmp_path: Path, text: str) -> Shown:
    file = tmp_path / "x.html"
    file.write_text(text, encoding="utf-8")
    driver.set_network_conditions(
        offline=True, latency=0, download_throughput=-1, upload_throughput=-1
    )
    try:
        return Shown(driver, file.as_uri())
    finally:
        driver.delete_network_conditions()


@pytest.fixture(scope="module")
def place(tiles: Tiles) -> tuple[int, int]:
    begin = tiles.header()["duration_ns"] // 3
    return begin, begin + 400_000


def test_names_that_leave_no_room_are_refused_in_a_line(tiles: Tiles) -> None:
    renamed = Renamed(tiles)
    renamed.told["tasks"] = [{"tid": 1, "comm": "x" * 100}] * 50_000
    with pytest.raises(ArgumentError, match="of 5 MB"):
        page(renamed)  # type: ignore[arg-type]


def test_opens_without_a_network(
    driver: Any, tmp_path: Path, tiles: Tiles, place: tuple[int, int]
) -> None:
    text = page(tiles, [place])
    shown = opened(driver, tmp_path, text)
    assert shown.run("return performance.getEntriesByType('resource').length;") == 0
    whole = shown.shares()
    span = whole["end"] - whole["begin"]
    assert sum(row["ns"] for row in whole["rows"]) == span * len(tiles.header()["cpus"])
    # At the place as fine as it is looked at.
    shown.show(*place)
    begin, end = place
    assert shown.shares()["level"] == 0 or shown.shares()["end"] - begin < 1.1 * (end - begin)
    assert shown.run("return desk.searchBox.disabled;")
    shown.click(*shown.point(0, (begin + end) / 2))
    assert "netcost view PATH" in shown.wait(
        "return document.querySelector('.netcost-detail').innerText;"
    )
    assert shown.complaints() == []


def test_is_within_its_size_and_says_what_it_lacks(tiles: Tiles) -> None:
    places = [(at, at + 100_000) for at in range(0, tiles.header()["duration_ns"], 2_000_000)]
    for most in (MOST_BYTES, 400_000):
        text = page(tiles, places, most_bytes=most)
        assert len(text.encode()) <= most
        data = text.split('id="data">')[1].split("</script>")[0]
        told = json.loads(data)
        assert f"{told['header']['max_level']}/0" in told["tiles"]
        assert "netcost view PATH" in told["header"]["notes"][-1]


def test_a_report_has_it_in_a_frame_that_reaches_nothing_else(
    driver: Any, tmp_path: Path, timeline: netcost.Timeline
) -> None:
    file = tmp_path / "report.html"
    file.write_text(f"<!DOCTYPE html><body>{section(timeline)}<div style='height: 3000px'></div>")
    driver.get(file.as_uri())
    frame = driver.find_element("css selector", "iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    driver.switch_to.frame(frame)
    try:
        shown = Shown(driver)
        shares = shown.shares()
        cpus = len(timeline.summary["cpus"])
        assert sum(row["ns"] for row in shares["rows"]) == cpus * timeline.duration_ns
        reach = "try { return parent.document.title; } catch (error) { return error.name; }"
        assert driver.execute_script(reach) == "SecurityError"
        # The wheel is the report's until the timeline was clicked.
        before = shown.view
        turn = (
            "view.canvas.dispatchEvent(new WheelEvent('wheel', {deltaY: -200, cancelable: true}));"
        )
        shown.run(turn)
        assert shown.rest().view == before
        shown.run("view.canvas.focus();" + turn)
        assert shown.rest().view != before
    finally:
        driver.switch_to.default_content()


def test_rows_of_a_report_lead_to_its_timeline(
    driver: Any, tmp_path: Path, timeline: netcost.Timeline
) -> None:
    answer = timeline.ask.stolen_time.episodes()
    table = answer._table_html()
    frame = answer.frame
    begin, end = (int(frame[name].iloc[1]) for name in ("start_ns", "end_ns"))
    assert f'data-place="{begin} {end} {frame["cpu"].iloc[1]}"' in table
    # One that is not in this timeline's window, and no place at all.
    other = f'<table><tr data-place="{begin - 10**12} {end} 0"><td>before</td></tr></table>'
    counted = timeline.ask.batches.poll_sizes()._table_html()
    assert "<tr" in counted
    assert "data-place" not in counted
    file = tmp_path / "report.html"
    high = "<div style='height: 3000px'></div>"
    file.write_text(f"<!DOCTYPE html><body>{table}{other}{high}{section(timeline)}")
    driver.get(file.as_uri())
    links = driver.find_elements("css selector", "tr[data-place] a")
    assert len(links) == len(answer._table.rows) == table.count("data-place")
    links[1].click()
    driver.switch_to.frame(driver.find_element("css selector", "iframe"))
    try:
        shown = Shown(driver)
        middle = (begin + end) / 2 - int(timeline.summary["start_ns"])
        # Its message comes when the frame's script has run.
        shown.wait("return document.querySelector('#timeline').netcostView.scene.history.length")
        left, right = shown.rest().view
        assert (left + right) / 2 == pytest.approx(middle, abs=2)
        assert end - begin <= right - left < timeline.duration_ns
    finally:
        driver.switch_to.default_content()


def test_hostile_names_are_text(driver: Any, tmp_path: Path, tiles: Tiles) -> None:
    shown = opened(driver, tmp_path, page(Renamed(tiles)))  # type: ignore[arg-type]
    shown.run("desk.toggleTable();")
    whole = tiles.header()["duration_ns"]
    for span in (whole, 200_000):
        shown.show(whole / 3, whole / 3 + span)
        for step in range(5):
            at = whole / 3 + span * (step + 0.5) / 5
            shown.mouse("mouseMoved", *shown.point(0, min(at, whole - 1)))
            shown.click(*shown.point(0, min(at, whole - 1)))
        shown.rest()
    shown.show(0, whole)
    shown.run("desk.fillShares();")
    said = shown.run("return document.body.innerText;")
    assert _HARM in said
    assert "</script><script>window.harmed=2</script>" in said
    # What turns writing around is not written.
    assert "\u202e" not in said
    harmed, images, links = shown.run(
        "return [window.harmed, document.images.length, document.links.length];"
    )
    assert (harmed, images, links) == (None, 0, 0)
    assert shown.complaints() == []


def test_a_window_without_length_and_what_was_not_recorded(driver: Any, tmp_path: Path) -> None:
    for count, said in ((1, "there is no time to show"), (4, "0.003000000 s: 3.00 ms")):
        capture = netcost.open_capture(switches(tmp_path / f"{count}.txt", count))
        shown = opened(driver, tmp_path, page(Tiles.of_capture(capture)))
        shown.wait("return document.querySelector('[role=status]').textContent;")
        status = shown.run("return document.querySelector('[role=status]').textContent;")
        assert said in status
        assert "packets per" in status
        assert status.endswith("not recorded")
        x, y = shown.point(0, capture.timeline().duration_ns / 6)
        shown.mouse("mouseMoved", x, y)
        shown.click(x, y)
        shown.keys(".", ",", "f", "t", "\ue007", "\ue00c")
        shown.rest()
        assert shown.complaints() == []

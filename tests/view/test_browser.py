# A timeline in a real browser, driven by mouse and keys as a reader does.

from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.view.places import detail, follow
from netcost_analysis.view.tiles import Tiles
from support.browser import HEIGHT, Shown, served
from support.native_tables import rows
from support.perfdata import cpu
from support.perfdata import happenings as h
from support.told import OPENSSL, UDPSINK
from support.told import timeline as told_timeline

# A browser's own processes decide how long it takes.
pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def whole(tiles: Tiles) -> int:
    return int(tiles.header()["duration_ns"])


# A segment of a context that is not at an edge: place of its CPU, row.
def segment(
    timeline: netcost.Timeline, tiles: Tiles, context: str, link: str | None = None
) -> tuple[int, dict[str, Any]]:
    """The longest of the context that has the link: the place of its CPU, and its row."""
    found = [
        row
        for row in rows(timeline.table("segments"))
        if row["context"] == context and (row["tid"] or context == "idle")
    ]
    found = sorted(found[1:-1], key=lambda one: one["start_ns"] - one["end_ns"])
    row = next(
        one
        for one in found
        if link is None or link in detail(tiles, one["cpu"], middle_of(timeline, one))["links"]
    )
    origin = int(timeline.summary["start_ns"])
    row |= {"begin": row["start_ns"] - origin, "end": row["end_ns"] - origin}
    return tiles.header()["cpus"].index(row["cpu"]), row


def middle_of(timeline: netcost.Timeline, row: dict[str, Any]) -> int:
    return (row["start_ns"] + row["end_ns"]) // 2 - int(timeline.summary["start_ns"])


def instant(ns: int) -> str:
    return f"{ns // 10**9}.{ns % 10**9:09} s"


def test_wheel_zooms_at_the_pointer(shown: Shown, whole: int) -> None:
    # Of a wheel a browser tells whole pixels.
    x, y = map(round, shown.point(0, whole / 3))
    under = "return view.timeAt(arguments[0] * view.scale);"
    before = shown.run(under, x)
    shown.wheel(x, y, up=300)
    shown.rest()
    begin, end = shown.view
    assert end - begin < whole / 1.5
    assert shown.run(under, x) == pytest.approx(before, rel=1e-9)
    for _ in range(12):
        shown.wheel(x, y, up=-400)
    shown.rest()
    assert shown.view == (0, whole)


def test_drag_pans_and_stops_at_the_edges(shown: Shown, whole: int) -> None:
    shown.show(whole * 0.4, whole * 0.6)
    begin, end = shown.view
    x, y = shown.point(0, begin + (end - begin) / 2)
    shown.drag((x, y), (x + 100, y), shift=False)
    shown.rest()
    moved = begin - shown.view[0]
    per_pixel = (end - begin) / shown.run("return view.columns / view.scale;")
    assert moved == pytest.approx(100 * per_pixel, rel=0.02)
    assert shown.view[1] - shown.view[0] == pytest.approx(end - begin)
    for _ in range(6):
        shown.drag((x, y), (x + 400, y), shift=False)
    shown.rest()
    assert shown.view[0] == 0


def test_shift_and_drag_selects_a_window_of_cpus(shown: Shown, whole: int, tiles: Tiles) -> None:
    cpus = tiles.header()["cpus"]
    shown.run("desk.host.selected = (...given) => { window.told = given; };")
    first, last = shown.point(0, whole * 0.25), shown.point(len(cpus) - 1, whole * 0.5)
    shown.drag(first, last, shift=True)
    shown.rest()
    begin, end, chosen = shown.run("return window.told;")
    assert chosen == cpus
    assert begin == pytest.approx(whole * 0.25, rel=0.01)
    assert end == pytest.approx(whole * 0.5, rel=0.01)
    assert begin == int(begin)
    assert shown.view == (0, whole)
    shown.keys("t")
    shares = shown.shares()
    assert shares["begin"] <= begin
    assert shares["end"] >= end
    # One lane alone, and nothing again.
    shown.drag(first, (last[0], first[1]), shift=True)
    assert shown.run("return window.told;")[2] == cpus[:1]
    shown.keys("\ue00c")
    assert shown.run("return window.told;") == [None, None, []]


def test_hover_says_owner_task_and_times(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    place, row = segment(timeline, tiles, "poll")
    length = row["end"] - row["begin"]
    shown.show(row["begin"] - length, row["end"] + length)
    shown.mouse("mouseMoved", *shown.point(place, (row["begin"] + row["end"]) / 2))
    said = shown.run("return desk.pointer.tip.hidden ? '' : desk.pointer.tip.innerText;")
    assert row["device"] in said
    assert f"on top of {row['comm']} ({row['tid']})" in said
    assert "NAPI polls" in said
    assert f"from {instant(row['begin'])}" in said
    # Its packets, once the pointer rests.
    poll = detail(tiles, row["cpu"], (row["begin"] + row["end"]) // 2)["poll"]
    shown.wait(
        "return document.querySelector('.netcost-tip').innerText.includes(arguments[0]);",
        f"a poll of {poll['work']} of {poll['budget']} packets",
    )
    shown.show(0, tiles.header()["duration_ns"])
    shown.mouse("mouseMoved", *shown.point(place, (row["begin"] + row["end"]) / 2))
    assert f"CPU {row['cpu']}" in shown.run("return desk.pointer.tip.innerText;")


def test_click_asks_and_links_lead_from_softirq_to_interrupt(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    place, row = segment(timeline, tiles, "poll", "interrupt")
    length = row["end"] - row["begin"]
    shown.show(row["begin"] - 3 * length, row["end"] + 3 * length)
    middle = (row["begin"] + row["end"]) // 2
    shown.click(*shown.point(place, middle))
    shown.wait("return document.querySelectorAll('[data-link]').length;")
    cursor = shown.run("return view.cursor;")
    assert (cursor["begin"], cursor["end"]) == (row["begin"], row["end"])
    links = shown.run(
        "return [...document.querySelectorAll('[data-link]')].map((one) => one.dataset.link);"
    )
    assert links == detail(tiles, row["cpu"], middle)["links"]
    for link in links:
        wanted = follow(tiles, row["cpu"], middle, link)
        shown.run("desk.detailPanel.replaceChildren(); desk.message = '';")
        shown.click(*shown.point(place, middle))
        shown.wait("return document.querySelectorAll('[data-link]').length;")
        shown.run("document.querySelector(`[data-link=${arguments[0]}]`).click();", link)
        if wanted is None:
            shown.wait(
                "return document.querySelector('#timeline').netcostView.message.endsWith('known');"
            )
            continue
        heading = f"CPU {wanted['cpu']} at {instant(wanted['begin_ns'])}"
        shown.wait(
            "return document.querySelector('.netcost-detail h2')?.innerText === arguments[0];",
            heading,
        )
        shown.rest()
        begin, end = shown.view
        assert begin <= wanted["begin_ns"] <= end
        assert tiles.header()["cpus"][shown.run("return view.place;")] == wanted["cpu"]
        shown.run("view.canvas.focus();")
        shown.keys("b")
        shown.rest()
        assert shown.run("return view.history.length;") == 0
        assert shown.view == pytest.approx((row["begin"] - 3 * length, row["end"] + 3 * length))


def test_keys_alone_reach_everything(shown: Shown, whole: int, tiles: Tiles) -> None:
    cpus = tiles.header()["cpus"]
    # By Tab from the page's start to the canvas, with a focus that is seen.
    for _ in range(30):
        shown.keys("\ue004")
        if shown.run("return document.activeElement === view.canvas;"):
            break
    outline = shown.run("return getComputedStyle(view.canvas).outlineStyle;")
    assert outline == "solid"
    shown.keys("+", "+", "w")
    shown.rest()
    begin, end = shown.view
    assert end - begin == pytest.approx(whole / 4 * 0.7)
    shown.keys("\ue014", "d")
    shown.rest()
    assert shown.view[0] > begin
    shown.keys("a", "\ue012", "s", "-")
    shown.rest()
    assert shown.view[1] - shown.view[0] == pytest.approx(whole / 2)
    shown.keys("\ue011")
    shown.rest()
    assert shown.view == (0, whole)
    shown.keys("\ue015")
    assert shown.run("return view.place;") == min(1, len(cpus) - 1)
    shown.keys("\ue013")
    assert shown.run("return view.place;") == 0
    shown.show(whole * 0.4, whole * 0.4 + 100_000)
    shown.keys(".", ".")
    first = shown.run("return view.cursor;")
    shown.keys(".")
    second = shown.run("return view.cursor;")
    assert second["begin"] == first["end"]
    shown.keys(",")
    assert shown.run("return view.cursor;") == first
    shown.keys("\ue007")
    shown.wait("return document.querySelectorAll('[data-link]').length;")
    # What is chosen is said, in a region that is read out.
    shown.wait("return document.querySelector('[role=status]').textContent.includes('CPU');")
    shown.keys("t")
    assert shown.run("return desk.table.rows.length;") > 1
    label = shown.run("return view.canvas.getAttribute('aria-label');")
    assert "Timeline of" in label
    assert "Keys:" in label


def test_table_reads_as_what_is_seen(shown: Shown, whole: int) -> None:
    shown.show(whole * 0.4, whole * 0.5)
    shown.run("desk.toggleTable();")
    caption = shown.run("return desk.table.caption.innerText;")
    written = shown.run(
        """const rows = [...desk.table.tBodies[0].rows];
        return rows.map((row) => [...row.cells].map((cell) => cell.innerText));"""
    )
    shares = shown.shares()
    assert f"{shares['end'] - shares['begin']:,}".replace(",", "\u2009") in caption
    assert len(written) == len(shares["rows"])
    for cells, row in zip(written, shares["rows"], strict=True):
        assert cells[0] == str(row["cpu"])
        assert int(cells[4].replace("\u2009", "")) == row["ns"]
    assert shown.run("return desk.tableButton.getAttribute('aria-expanded');") == "true"


def test_search_goes_from_one_to_the_next_and_back(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    _, row = segment(timeline, tiles, "poll")
    name = row["device"]
    shown.run("desk.searchBox.focus();")
    shown.keys(name, "\ue007")
    shown.wait("return document.querySelector('#timeline').netcostView.found.length === 1;")
    first = shown.run("return desk.found[0];")
    assert first == tiles.find(name, -1, None)
    shown.keys("\ue007")
    shown.wait("return document.querySelector('#timeline').netcostView.found.length === 2;")
    second = shown.run("return desk.found[1];")
    assert second == tiles.find(name, first["begin_ns"], None)
    assert shown.run("return view.cursor.begin;") == second["begin_ns"]
    shown.run("desk.searchBack();")
    assert shown.run("return view.cursor.begin;") == first["begin_ns"]
    # What is shown of the one before has its own message.
    shown.rest()
    shown.run("desk.searchBox.value = 'nobody'; desk.found = []; return desk.search();")
    shown.wait(
        "return document.querySelector('#timeline').netcostView.message.includes('no nobody');"
    )


def test_resize_and_density(driver: Any, shown: Shown) -> None:
    before = shown.run("return [view.canvas.width, view.canvas.height];")
    driver.set_window_size(900, HEIGHT)
    shown.wait(
        "return document.querySelector('#timeline').netcostView.scene.canvas.width < arguments[0];",
        before[0],
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 900, "height": 600, "deviceScaleFactor": 2, "mobile": False},
    )
    # What is drawn next is of the new density, whenever a browser tells of it.
    shown.wait(
        """const view = document.querySelector('#timeline').netcostView.scene;
        view.schedule();
        return view.scale === 2;"""
    )
    shown.rest()
    wide, css = shown.run("return [view.canvas.width, view.canvas.clientWidth];")
    assert wide == 2 * css
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.set_window_size(1200, HEIGHT)


def test_nothing_outside_is_asked_for(shown: Shown, address: str) -> None:
    asked = shown.run("return performance.getEntriesByType('resource').map((one) => one.name);")
    assert asked
    assert all(one.startswith(address) for one in asked)


def test_words_of_a_bucket_are_not_taken_for_the_segments(
    shown: Shown, timeline: netcost.Timeline, tiles: Tiles
) -> None:
    place, row = segment(timeline, tiles, "poll")
    length = row["end"] - row["begin"]
    shown.show(row["begin"] - length, row["end"] + length)
    shown.mouse("mouseMoved", *shown.point(place, (row["begin"] + row["end"]) / 2))
    said = shown.run("return desk.pointer.tip.innerText;").splitlines()
    bucket = shown.run("return view.at(arguments[0], arguments[1]);", place, row["begin"] + 5000)
    assert bucket["width"] < length
    (line,) = [one for one in said if "stolen by network" in one]
    assert line.startswith("in this ")
    # A key moves what is under the pointer.
    shown.run("view.canvas.focus();")
    shown.keys("w")
    assert shown.run("return desk.pointer.tip.hidden;")


def test_shares_of_one_name_are_told_apart(shown: Shown, tiles: Tiles) -> None:
    told = tiles.header()
    for number, owner in enumerate(told["owners"]):
        said = shown.run(
            """const shares = [{ owner: arguments[0], share: 1 }];
            const found = { begin: 0, end: 1, width: 1, packets: 1, stolen: 0, shares };
            const fill = desk.host.detail; desk.host.detail = undefined;
            view.at = () => found;
            return desk.inspect(0, 0).then(() => {
              desk.host.detail = fill;
              delete view.at;
              return desk.detailPanel.innerText;
            });""",
            number,
        )
        is_plain = owner["kind"] in ("task", "victim", "idle", "unknown")
        assert is_plain or f"({told['names']['part'][owner['part']]})" in said
        assert any(line.endswith("ns: 1 packet") for line in said.splitlines())


# A strip that has nothing to show takes no room from the lanes.
def test_strips_of_nothing_are_folded(driver: Any, shown: Shown, tmp_path: Path) -> None:
    assert shown.run("return view.strips;") == ["packets", "stolen"]
    full = shown.run("return view.lanesTop;")
    quiet = told_timeline(
        tmp_path, cpu(0, h.Switch(100, UDPSINK), h.Switch(900, OPENSSL), task=OPENSSL)
    )
    with served(Tiles.of(quiet)) as address:
        folded = Shown(driver, address)
        assert folded.run("return view.strips;") == []
        assert folded.run("return view.lanesTop;") < full
        # Who cannot see it is told all the same.
        assert len(folded.run("return view.stripsSaid;")) == 2

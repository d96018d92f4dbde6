# notebooks/01-stolen-time through `netcost report`: one page that needs nothing else, with the
# figures that stolen() gives; and the pair of script and notebook.

import re
from pathlib import Path

import jupytext
import nbformat
import pytest

from netcost_analysis.capture.capture import Capture
from netcost_analysis.display.tables import share_between
from netcost_analysis.questions.accounting import estimates
from netcost_analysis.questions.tracing_overhead import corrected_stolen
from netcost_analysis.units import duration, share
from support.asked import effective_share, episodes, handovers, ledger, stolen
from support.doctored import doctored
from support.host import ROOT
from support.kept import kept
from support.pages import Resources
from support.robbed import robbed, written
from support.run_cli import Netcost
from support.told_notebook import tell

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.py"))
SAMPLES = ["nic-stolen-time", "veth-stolen-time"]


@pytest.fixture(scope="module", params=SAMPLES)
def told(request: pytest.FixtureRequest) -> tuple[Capture, str]:
    with pytest.MonkeyPatch.context() as patch:
        page = tell(ROOT / "sample-data" / request.param, patch).text
    return kept(request.param), page


def test_the_page_needs_nothing_else(netcost: Netcost, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = netcost("report", str(doctored(tmp_path / "b")), "-o", str(path), "--json")
    assert done.err == ""
    assert done.json["bytes"] == path.stat().st_size
    page = path.read_text()
    resources = Resources()
    resources.feed(page)
    assert len(resources.fetched) >= 7
    assert all(one.startswith("data:image/png;base64,") for one in resources.fetched)
    assert not re.search(r"url\(|@import", page)
    assert all(resources.alt)
    # Code stays out.
    assert "import netcost_analysis" not in page
    assert "Traceback" not in page


def test_the_answer_is_what_stolen_says(told: tuple[Capture, str]) -> None:
    capture, page = told
    row = stolen(capture.timeline(window="auto")).victims.loc["openssl"]
    for ns in (row["on_cpu_ns"], row["task_ns"], row["stolen_network_ns"], row["monitor_ns"]):
        assert duration(ns) in page
    answers = re.findall(r"<h4>(.*?)</h4>", page)
    # First the victim's, then what networking cost in all; before either of how much nobody knows.
    first, *others = (one for one in answers if not one.startswith("The owner"))
    assert share(row["stolen_network_ns"] / row["on_cpu_ns"]) in first
    assert duration(row["stolen_network_ns"]) in first
    assert ("eth0" in first) == (Path(capture.path).name == "nic-stolen-time")
    assert any("all CPU time" in one for one in others)


def test_the_table_is_what_the_ledger_says(told: tuple[Capture, str]) -> None:
    capture, page = told
    matrix = ledger(capture.timeline(window="auto"))
    thief, ns = matrix.ns.columns[0], matrix.ns.loc["openssl"].iloc[0]
    row = re.search(rf"<tr><td>{re.escape(thief)}</td>(.*?)</tr>", page)
    assert row
    assert duration(ns) in row[1]


def test_the_three_estimates_are_those_of_the_package(told: tuple[Capture, str]) -> None:
    capture, page = told
    assert capture.bundle
    rows = estimates(capture.bundle, capture.victim_timeline()).frame
    gap = rows["got_share"]["traced"] - rows["got_share"]["work"]
    assert f"{abs(100 * gap):.1f} points" in page
    assert share(rows["lost_share"]["traced"]) in page


def test_the_longest_stretch_is_that_of_episodes(told: tuple[Capture, str]) -> None:
    capture, page = told
    found = episodes(capture.timeline(window="auto"), "openssl")
    first = found.episodes.iloc[0]
    for figure in (
        f"{found.total:,} episodes",
        f"{(first['start_ns'] - capture.start_ns) / 1e9:.6f} s",
        f"for {duration(first['wall_ns'])}",
    ):
        assert figure in page


def test_hand_overs_and_shares_are_those_of_the_package(told: tuple[Capture, str]) -> None:
    capture, page = told
    timeline = capture.timeline(window="auto")
    handed = handovers(timeline)
    waited = handed.displaced[handed.displaced["comm"] == "openssl"]["ns"].sum()
    row = effective_share(timeline).loc["openssl"]
    had = share_between(row["effective_share"], row["effective_max_share"])
    for figure in (
        f"work {len(handed.handovers):,} times",
        f"{duration(waited)} in all",
        f"at {share(row['monitor_share'])} of",
        f"had {had}",
    ):
        assert figure in page


def test_the_cost_of_looking_is_that_of_the_package(told: tuple[Capture, str]) -> None:
    capture, page = told
    figures = corrected_stolen(capture.timeline(window="auto")).frame
    row = figures[(figures["comm"] == "openssl") & (figures["figure"] == "task_ns")].iloc[0]
    low, high = duration(row["corrected_low_ns"]), duration(row["corrected_high_ns"])
    assert re.search(rf"<td>{low}</td>\s*<td>{high}</td>", page)
    assert ("Tracing is at" in page) == (Path(capture.path).name == "veth-stolen-time")


def test_a_victim_that_is_not_there(netcost: Netcost, tmp_path: Path) -> None:
    path, page = written(tmp_path, robbed()), tmp_path / "page.html"
    done = netcost("report", str(path), "-o", str(page), "--victim", "opensl")
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert "'opensl'" in done.err
    assert not page.exists()


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_script_and_notebook_are_one(script: Path) -> None:
    source = jupytext.read(script)
    book = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    assert [(cell.cell_type, cell.source) for cell in book.cells] == [
        (cell.cell_type, cell.source) for cell in source.cells
    ], "make notebooks"
    assert all(
        cell.metadata.get("tags") == other.metadata.get("tags")
        for cell, other in zip(book.cells, source.cells, strict=True)
    )


@pytest.mark.parametrize("script", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_has_no_outputs_and_its_recordings_are_there(script: Path) -> None:
    book = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells)
    [parameters] = [cell for cell in book.cells if "parameters" in cell.metadata.get("tags", ())]
    named = re.findall(r'"(\.\./[^"]+)"', parameters.source)
    assert named
    assert all((script.parent / name).exists() for name in named)

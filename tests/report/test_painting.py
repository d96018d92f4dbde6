# Pictures painted by another process, while a page is made.

import os
import signal
import subprocess
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_notebook

from netcost_analysis.answers.pictures import Pictures
from netcost_analysis.plots import painting
from netcost_analysis.report import report
from netcost_analysis.report.notebook import NotebookError, execute
from support.told import robbed, written


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def curve() -> Figure:
    figure = Figure(figsize=(4, 2), layout="constrained")
    figure.subplots().plot([1, 3, 2])
    return figure


def test_another_process_paints_the_same() -> None:
    with painting.painting_beside():
        beside = painting.painted(curve())
        assert callable(beside)
        assert beside() == painting.png(curve())


def test_what_cannot_be_sent_is_painted_here() -> None:
    figure = curve()
    figure.axes[0].xaxis.set_major_formatter(lambda value, _: f"{value} s")
    with painting.painting_beside():
        assert isinstance(painting.painted(figure), bytes)


def test_a_picture_outlives_the_process_that_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            begun.append(self)

    monkeypatch.setattr(painting, "Popen", Kept)
    with painting.painting_beside():
        os.kill(begun[0].pid, signal.SIGKILL)
        begun[0].wait()
        beside = painting.painted(curve())
        assert callable(beside)
        assert beside() == painting.png(curve())


def test_an_answer_that_cannot_be_shown_stops_the_notebook() -> None:
    # IPython prints what showing raises, and goes on: the page would lack it.
    source = "class Broken:\n    def _ipython_display_(self): 1 / 0\nBroken()"
    book = new_notebook(cells=[new_code_cell(source)])
    with pytest.raises(NotebookError, match="ZeroDivisionError"):
        execute(book, ours=False)


# As a page of the project's own is made.
def test_a_page_has_the_pictures_that_one_process_paints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(written(tmp_path, robbed()))
    opened = f"import netcost_analysis as netcost\nask = netcost.open_capture({path!r}).ask"

    def pictures() -> list[str]:
        sources = (opened, 'ask("poll_sizes")', 'ask("device_matrix")')
        book = new_notebook(cells=[new_code_cell(source) for source in sources])
        execute(book)
        outputs = [output for cell in book.cells for output in cell.outputs]
        shown = [output.get("data", {}) for output in outputs]
        return [data["image/png"] for data in shown if "image/png" in data]

    beside = pictures()
    assert len(beside) >= 2
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    assert pictures() == beside


def test_a_text_draws_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[object] = []
    monkeypatch.setattr(Pictures, "_drawn", lambda *given: drawn.append(given))
    book, text = report.find_notebook("devices"), tmp_path / "report.md"
    report.write_report(book, str(written(tmp_path, robbed())), str(text))
    assert "eth0" in text.read_text()
    assert drawn == []

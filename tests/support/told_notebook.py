# A notebook's script run in this process, with what it would show kept: seconds less than a kernel.

import ast
import re
from html import unescape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from IPython import display
from matplotlib.figure import Figure

import netcost_analysis as netcost
from netcost_analysis.capture.capture import Capture
from netcost_analysis.opening.opening import open_capture
from netcost_analysis.plots import painting
from netcost_analysis.report.notebook import FURTHER
from support.host import ROOT, SAMPLES
from support.kept import kept

NOTEBOOKS = sorted((ROOT / "notebooks").glob("[0-9]*.py"))
STOLEN, BATCHES, LOCAL, DEVICES, ACCOUNTING, SWEEP, _, CYCLES, FLEET = NOTEBOOKS


class Told:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.pictures: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.html)

    @property
    def words(self) -> str:
        return unescape(re.sub(r"<[^>]+>", "", self.text))

    def answer(self, what: Any) -> None:
        if hasattr(what, "_ipython_display_"):
            what._ipython_display_()
        elif hasattr(what, "_repr_html_"):
            self.html.append(what._repr_html_())

    def show(self, what: Any, metadata: Any = None, raw: bool = False) -> None:
        if metadata:
            self.pictures.append(metadata["image/png"]["alt"])
        else:
            self.html.append(what["text/html"] if raw else what.data)


def lacking(text: str, *phrases: str) -> list[str]:
    return [one for one in phrases if one not in text]


def _draw(figure: Figure) -> bytes:
    # Drawing is when matplotlib finds fault with a label; pixels, and where they are, are of no use
    # here.
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    return b""


def _opened(path: str, buffer: str | None = None, **beside: str) -> Capture:
    # What a notebook asks of a sample, its test asks too.
    if Path(path).is_relative_to(SAMPLES):
        return kept(str(Path(path).relative_to(SAMPLES)))
    return open_capture(path, buffer, **beside)


def tell(path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    return told_by(STOLEN, monkeypatch, path=str(path), victim=None)


def told_by(script: Path, monkeypatch: pytest.MonkeyPatch, **parameters: str | None) -> Told:
    # parameters: of the notebook's first cell.
    told = Told()
    monkeypatch.setattr(display, "display", told.show)
    monkeypatch.setattr(painting, "painted", _draw)
    monkeypatch.setattr(netcost, "open_capture", _opened)
    mpl.use("agg")
    source = script.read_text()
    # As a report does: those that a notebook names are for its own capture.
    further = [name for name in FURTHER if f"\n{name} = " in source]
    parameters = dict.fromkeys(further) | parameters
    for name, value in parameters.items():
        line = next(line for line in source.splitlines() if line.startswith(f"{name} = "))
        source = source.replace(line, f"{name} = {value!r}")
    names: dict[str, Any] = {"_shown": told.answer}
    for cell in source.split("\n# %%"):
        tree = ast.parse(f"# %%{cell}")
        # A notebook shows what its last line is.
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = tree.body[-1]
            last.value = ast.Call(ast.Name("_shown", ast.Load()), [last.value], [])
        code = compile(ast.fix_missing_locations(tree), str(script), "exec")
        exec(code, names)  # noqa: S102
    return told

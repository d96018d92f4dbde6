# A notebook's script run in this process, with what it would show kept: seconds less than a kernel.

import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from IPython import display
from matplotlib.figure import Figure

from support.host import ROOT

SCRIPT = ROOT / "notebooks" / "01-stolen-time.py"


class Told:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.pictures: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self.html)

    def show(self, what: Any, metadata: Any = None) -> None:
        if isinstance(what, Figure):
            # Drawing is when matplotlib finds fault with a label.
            what.savefig(io.BytesIO(), format="png", dpi=50)
            self.pictures.append(metadata["image/png"]["alt"])
        else:
            self.html.append(what.data)


def tell(path: Path, monkeypatch: pytest.MonkeyPatch, victim: str | None = None) -> Told:
    told = Told()
    monkeypatch.setattr(display, "display", told.show)
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", lambda *_: None)
    mpl.use("agg")
    source = SCRIPT.read_text()
    for name, value in {"path": str(path), "victim": victim}.items():
        line = next(line for line in source.splitlines() if line.startswith(f"{name} = "))
        source = source.replace(line, f"{name} = {value!r}")
    exec(compile(source, str(SCRIPT), "exec"), {})  # noqa: S102
    return told

# notebooks/06-data-path-comparison: a cell a question, on a sweep of one's own.

from pathlib import Path

import pytest

from support.host import ROOT
from support.sweeps import Told, sweep
from support.told_notebook import told_by

SCRIPT = ROOT / "notebooks" / "06-data-path-comparison.py"
HOSTILE = "<script>$x_{1"


def test_a_sweep_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Told(), Told("xdp", packet_ns=500), Told(HOSTILE, destinations=2)
    folder = sweep(tmp_path / "s", *(Told(**vars(one) | {"rounds": 64}) for one in steps)).path
    told = told_by(SCRIPT, monkeypatch, path=str(folder))
    assert "<strong>xdp costs" in told.text
    assert "1 of 1" in told.text
    assert any("by packet rate" in one for one in told.pictures)
    assert "mpstat was" in told.text
    assert "in destinations alone" in told.text
    assert "<script" not in told.text
    assert told.html[-1].rstrip().endswith(" mine\n</code></pre>")

# notebooks/09-fleet: a cell a question, on a fleet of one's own, with hostile names.

from pathlib import Path

import pytest

from support.fleets import Told, dataset, days
from support.host import ROOT
from support.told_notebook import told_by

SCRIPT = ROOT / "notebooks" / "09-fleet.py"


def test_a_fleet_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = Told(host="<script>$x_{1", kernel="6.1.0", batch=1, day=15)
    folder = dataset(tmp_path / "fleet", [*days(factor=1.15), odd], unreadable=1)
    told = told_by(SCRIPT, monkeypatch, path=str(folder))
    assert "by +1" in told.text
    assert any(one.endswith(", by host") for one in told.pictures)
    assert any("kernel 6.12.0" in one for one in told.pictures)
    assert "netcost report captures/" in told.text
    assert "<script" not in told.text

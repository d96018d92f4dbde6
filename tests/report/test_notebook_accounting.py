# notebooks/05-accounting: the page has the answers' figures, and names what a capture lacks.

import re
from pathlib import Path
from typing import Any

import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.accounting import accounts, hidden_cost_predictions
from netcost_analysis.units import duration, share
from support.doctored import doctored
from support.host import ROOT
from support.kept import kept, kept_calibration, kept_hidden_ns
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.robbed import robbed
from support.told_notebook import Told, told_by

SCRIPT = ROOT / "notebooks" / "05-accounting.py"
SAMPLE = ROOT / "sample-data" / "veth-stolen-time"


def test_the_figures_are_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netcost, "open_experiment", lambda _: kept_calibration())
    told = told_by(SCRIPT, monkeypatch, path=str(SAMPLE), experiment="hidden-cost")
    page = told.text
    table = accounts(kept("veth-stolen-time"), kept_hidden_ns()).frame
    for column in ("got_share", "residual_share"):
        for name, value in table[column].dropna().items():
            assert f"<td>{share(value)}</td>" in page, f"{column} of {name}"
    assert f"<strong>{duration(kept_hidden_ns())}</strong>" in page
    predictions = hidden_cost_predictions(kept_calibration())
    for error in predictions.frame["mean_absolute_error_share"]:
        assert f"<td>{share(error)}</td>" in page
    assert re.findall(r"24 \w+ runs\b.(\d\d)", page) == ["24", "23"]
    assert len(told.pictures) == 6


def tell(path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    # In this process, without a calibration: the sample's takes seconds.
    return told_by(SCRIPT, monkeypatch, path=str(path))


def test_without_a_calibration_the_accounts_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(doctored(tmp_path / "b"), monkeypatch)
    assert "<code>capture/lab/hidden-cost -o" in told.text
    assert "hidden_cost is asked" in told.text
    assert "hidden_cost_predictions is asked" in told.text
    assert "openssl got <strong>60.0" in told.text
    assert len(told.pictures) == 2


@pytest.mark.parametrize("formats", [t.FORMATS, (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)])
def test_a_bare_recording_has_no_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formats: Any
) -> None:
    path = recording(robbed(), formats=formats).write(tmp_path / "perf.data")
    told = tell(path, monkeypatch)
    assert "no victim" in told.text
    assert told.pictures == []


def test_names_of_a_stranger_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = doctored(tmp_path / "b")
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("openssl speed", "<script>x</script>"))
    told = tell(folder, monkeypatch)
    assert "<script" not in told.text
    assert "&lt;script&gt;" in told.text

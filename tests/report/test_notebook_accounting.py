# notebooks/05-accounting-doctor: the page has the functions' figures, and names what a capture
# lacks.

import dataclasses
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from IPython import display

import netcost_analysis as netcost
from netcost_analysis.capture.experiment import open_experiment
from netcost_analysis.questions.accounting.words_hidden import hidden_text
from netcost_analysis.units import duration, share
from support.doctored import doctored
from support.host import ROOT
from support.kept import kept_hidden_cost
from support.pages import report
from support.perfdata import recording
from support.perfdata import tracepoints as t
from support.robbed import robbed
from support.told_notebook import Told

SCRIPT = ROOT / "notebooks" / "05-accounting-doctor.py"
SAMPLE = ROOT / "sample-data" / "veth-stolen-time"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("doctor") / "page.html"
    series = str(ROOT / "sample-data" / "hidden-cost")
    done = report(SAMPLE, path, "--notebook", "accounting-doctor", "--experiment", series)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return path.read_text()


@pytest.fixture(scope="module")
def hidden() -> netcost.HiddenCost:
    return kept_hidden_cost()


def test_the_figures_are_the_functions(page: str, hidden: netcost.HiddenCost) -> None:
    table = netcost.accounts(netcost.open_capture(SAMPLE), hidden.hidden_ns)
    for name, got in table["got_share"].dropna().items():
        assert share(got) in page, str(name)
    for points in table["residual_share"].dropna().drop(index="work"):
        assert f"{100 * points:+.1f} points" in page
    assert f"<b>{duration(hidden.hidden_ns)}</b> beyond what tracepoints enclose" in page
    errors = hidden.error_table
    for error in errors[errors["held_out"] == "both"]["mean_absolute_error_share"]:
        assert f"<td>{100 * error:.1f}</td>" in page
    assert "Of 24 traced runs 24 are predicted within 5 points" in page
    assert "of 24 untraced runs 23 are predicted within 5 points" in page
    by_rate = {
        str(rate): 1e9 * float((part["gap"] * part["x"]).sum() / (part["x"] ** 2).sum())
        for rate, part in hidden.runs[hidden.runs["run"] == "load_traced"]
        .assign(gap=lambda runs: runs["by_trace_share"] - runs["by_work_share"])
        .assign(x=lambda runs: runs["cpu_interrupts_per_s"])
        .groupby("condition")
        if rate != "0"
    }
    low, high = min(by_rate, key=by_rate.__getitem__), max(by_rate, key=by_rate.__getitem__)
    ends = f"from {duration(by_rate[low])} ({low}) to {duration(by_rate[high])} ({high})"
    assert ends in page
    assert "calibration was disturbed" not in page


def test_the_page_has_its_pictures_and_no_code(page: str) -> None:
    alts = re.findall(r'<img[^>]* alt="([^"]+)"', page)
    assert len(alts) == 5
    assert "import netcost_analysis" not in page
    assert "Traceback" not in page


def tell(path: Path, monkeypatch: pytest.MonkeyPatch, calibration: Path) -> Told:
    # In this process, with another calibration: the sample's takes seconds.
    told = Told()
    monkeypatch.setattr(display, "display", told.show)
    monkeypatch.setattr("matplotlib_inline.backend_inline.set_matplotlib_formats", lambda *_: None)
    mpl.use("agg")
    source = SCRIPT.read_text()
    for name, value in {"path": str(path), "series": str(calibration)}.items():
        source = re.sub(rf"^{name} = .*$", f"{name} = {value!r}", source, count=1, flags=re.M)
    exec(compile(source, str(SCRIPT), "exec"), {})  # noqa: S102
    return told


def test_without_a_calibration_the_accounts_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(doctored(tmp_path / "b"), monkeypatch, tmp_path / "none")
    assert "none is no experiment: it has no experiment.json" in told.text
    assert "By the work that it did, openssl got <b>60.0 %</b> of its CPU" in told.text
    assert "top shows 99.0 %, its own clock says 75.0 % and the trace says 85.0 %" in told.text
    assert "Farthest off is top (utime + stime), by 39.0 points too much" in told.text
    assert "<b>Steal was 2.0 %.</b>" in told.text
    # 0.95 of a CPU did 1000 blocks.
    assert "it had its CPU for 95.0 % only" in told.text
    assert "it would be about 57.0 %" in told.text
    assert told.pictures == [
        "What each account says the victim got",
        "The CPU's time by kind, by each account",
    ]


def test_without_a_baseline_nothing_is_measured_against_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tell(doctored(tmp_path / "b", baseline=None), monkeypatch, tmp_path / "none")
    assert "What openssl got of its CPU: top shows 99.0 %" in told.text
    assert "it has no baseline" in told.text
    assert "This bundle has nothing for: work done against baseline." in told.text


@pytest.mark.parametrize("formats", [t.FORMATS, (t.IRQ_HANDLER_ENTRY, t.IRQ_HANDLER_EXIT)])
def test_a_bare_recording_has_no_accounts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formats: Any
) -> None:
    path = recording(robbed(), formats=formats).write(tmp_path / "perf.data")
    told = tell(path, monkeypatch, tmp_path / "none")
    assert "perf.data has no victim: record one with --victim" in told.text
    assert told.pictures == []


def test_names_of_a_stranger_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = doctored(tmp_path / "b")
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace("openssl speed", "<script>x</script>"))
    told = tell(folder, monkeypatch, tmp_path / "none")
    assert "<script" not in told.text
    assert "&lt;script&gt;" in told.text


def test_a_disturbed_calibration_is_said(hidden: netcost.HiddenCost) -> None:
    runs = hidden.runs.copy()
    runs.loc[runs["run"] == "load_traced", "others_share"] = [0.2] + [0.0] * 27
    series = open_experiment(ROOT / "sample-data" / "hidden-cost")
    text = hidden_text(dataclasses.replace(hidden, runs=runs), series)
    assert "<b>This calibration was disturbed.</b> In 1 of its traced runs" in text
    assert "other tasks had 20.0 % of the CPU" in text

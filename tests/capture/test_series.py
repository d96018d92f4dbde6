# The folder that an experiment of the lab leaves, from Python.

import json
from pathlib import Path

import pytest

from netcost_analysis import CaptureError
from netcost_analysis.opening.experiment import is_experiment, open_experiment
from support.host import ROOT
from support.run_cli import Netcost


def folder(path: Path, table: str = "steps.tsv", text: str = "bundle\tpps\na\t1\n") -> Path:
    path.mkdir()
    (path / "experiment.json").write_text(
        json.dumps({"netcost_experiment": 1, "experiment": "mine", "table": table})
    )
    (path / "steps.tsv").write_text(text)
    return path


def test_each_step_of_a_sample_has_its_recording() -> None:
    sweep = open_experiment(ROOT / "sample-data" / "datapath-sweep")
    assert len(sweep.steps) == 30
    assert all(sweep.has(name) for name in sweep.steps["bundle"])
    name = sweep.steps["bundle"][0]
    assert sweep.capture(name).info["duration_ns"] > 1e9
    assert sweep.bundle(name).kernel_config["CONFIG_HZ"]
    assert "datapath-sweep, 30 steps" in repr(sweep)


def test_repeats_that_were_traced_are_recordings(netcost: Netcost) -> None:
    path = ROOT / "sample-data" / "local-regression-traced"
    series = open_experiment(path)
    there = {one.name.partition(".")[0] for one in path.glob("*.netcost.tar.zst")}
    assert set(series.recordings) == there
    for name in list(series.recordings)[::6]:
        assert series.capture(name).info["duration_ns"] > 0
    steps = netcost("info", str(path), "--json").json["steps"]
    assert {one["name"] for one in steps} == there
    assert all(one["is"].startswith("trace.tracefs, ") and one["repeats"] == 0 for one in steps)
    assert "no recording" not in netcost("info", str(path)).out
    # What is proposed in place of the experiment can be opened.
    refused = netcost("ask", "stolen", str(path)).err
    assert Path(refused.split(" as ")[-1].strip()).is_file()


def test_an_experiment_that_only_measured(netcost: Netcost) -> None:
    path = ROOT / "sample-data" / "local-regression"
    steps = netcost("info", str(path), "--json").json["steps"]
    assert len(steps) == 72
    assert all(one["is"] == "no recording" and one["repeats"] == 10 for one in steps)
    refused = netcost("ask", "stolen", str(path))
    assert (refused.code, refused.err.count("\n"), ".netcost.tar" in refused.err) == (1, 1, False)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert not is_experiment(tmp_path)
    for text, says in ((None, "not an experiment"), ("{", "not JSON"), ("[]", "no experiment")):
        if text is not None:
            (tmp_path / "experiment.json").write_text(text)
        with pytest.raises(CaptureError, match=says):
            open_experiment(tmp_path)


def test_nothing_outside_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.tsv").write_text("bundle\n../x\n")
    told = open_experiment(folder(tmp_path / "s", table="../secret.tsv"))
    for read in (lambda: told.steps, lambda: told.bundle("../s")):
        with pytest.raises(CaptureError, match="outside"):
            read()
    with pytest.raises(CaptureError, match="no recording 'a'"):
        told.capture("a")


def test_a_table_that_is_none(tmp_path: Path) -> None:
    for number, (table, says) in enumerate((("steps.tsv", "cannot be read"), ("x", "no table"))):
        told = open_experiment(folder(tmp_path / f"{number}", table=table, text=""))
        with pytest.raises(CaptureError, match=says):
            _ = told.steps


def test_a_table_of_repeats_with_a_trace_and_without(tmp_path: Path, netcost: Netcost) -> None:
    text = "folder\tbundle\trepeat\nrepeats/a/1\t\t1\nrepeats/a/2\t\t2\n\ta-1\t1\n\t\t2\n"
    series = open_experiment(folder(tmp_path / "e", text=text))
    bundle = series.path / "a-1"
    bundle.mkdir()
    (bundle / "manifest.json").write_text(json.dumps({"netcost_bundle": 1, "notes": ["mine"]}))
    # A row that names neither is of nothing that could be opened.
    assert series.recordings == {"a": 2, "a-1": 0}
    assert [series.has(name) for name in series.recordings] == [False, True]
    steps = netcost("info", str(series.path), "--json").json["steps"]
    assert [(one["name"], one["repeats"]) for one in steps] == [("a", 2), ("a-1", 0)]
    assert steps[0]["is"] == "no recording"
    assert "no recording" not in steps[1]["is"]

# The hidden cost of an interrupt in the sample, against naive sums and numpy.

import json
import re
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from netcost_analysis import CaptureError
from netcost_analysis.display.templates import as_text
from netcost_analysis.opening.experiment import open_experiment
from netcost_analysis.questions.accounting import hidden_cost as hidden_cost_question
from netcost_analysis.questions.accounting.fitting import fit, wide
from netcost_analysis.units import duration
from support.asked import accounts, hidden_cost, hidden_cost_predictions
from support.doctored import doctored
from support.host import ROOT
from support.kept import kept_calibration, kept_hidden_cost, kept_hidden_ns

SAMPLE = ROOT / "sample-data" / "hidden-cost"
HELD_OUT: tuple[Literal["rate", "repeat", "both"], ...] = ("rate", "repeat", "both")


@pytest.fixture(scope="module")
def hidden() -> netcost.Answer:
    return kept_hidden_cost()


@pytest.fixture(scope="module")
def traced(hidden: netcost.Answer) -> pd.DataFrame:
    runs = hidden["runs"][hidden["runs"]["run"] == "load_traced"].set_index("bundle")
    return runs.assign(gap=runs["by_trace_share"] - runs["by_work_share"])


# The sentence on one bundle and the calibration divide by the same interrupts: the kernel's count.
def test_a_bundles_own_gap_is_the_calibrations_of_it_alone(hidden: netcost.Answer) -> None:
    capture = netcost.open_capture(SAMPLE / "20000-pps-2.netcost.tar.zst")
    gap = capture.ask.accounting.estimates()["gap"]
    alone = wide(hidden["runs"]).loc[["20000-pps-2"]]
    assert gap["hidden_each_ns"] == pytest.approx(fit(alone)["hidden_ns"].item())
    assert gap["cpu_interrupts_per_s"] == pytest.approx(alone["interrupts"].item())


def test_the_runs_of_the_sample_are_those_of_its_files(hidden: netcost.Answer) -> None:
    series, name = open_experiment(SAMPLE), "20000-pps-3"
    bundle = series.bundle(name)
    step = series.steps.set_index("bundle").loc[name]
    runs = hidden["runs"][hidden["runs"]["bundle"] == name].set_index("run")
    assert list(runs.index) == ["idle", "idle_traced", "load", "load_traced"]
    for run, folder in {
        "idle": "baseline/",
        "load": "calibration/load/",
        "load_traced": "",
    }.items():
        said = re.search(r"blocks: (\d+) .* in ([\d.]+)s", bundle.text(f"{folder}victim.txt") or "")
        assert said
        row = runs.loc[run]
        assert (row["blocks_per_s"], row["by_ticks_share"]) == (int(said[1]), float(said[2]))
        counted = step[f"{run}_interrupts_per_s"]
        assert row["cpu_interrupts_per_s"] == pytest.approx(counted, abs=0.6)
    # Of the trace by a count of all its events: one CPU was recorded, a little longer than the run.
    capture, row = series.capture(name), runs.loc["load_traced"]
    rate = sum(capture.info["events"].values()) / capture.info["duration_ns"] * 1e9
    assert row["events_per_s"] == pytest.approx(rate, rel=0.25)
    victim = capture.bundle.victim if capture.bundle else None
    assert victim
    ends = (victim.start_ns or 0, victim.end_ns or 0)
    names = [
        name for name in capture.info["events"] if re.match(r"irq_v.*_entry|irq:irq_h.*_ent", name)
    ]
    count = sum(int(capture.events(name)["time_ns"].between(*ends).sum()) for name in names)
    per_s = count / (ends[1] - ends[0]) * 1e9
    assert row["cpu_interrupts_per_s"] == pytest.approx(per_s, rel=0.02)


def test_the_hidden_cost_of_the_sample_is_numpys(
    hidden: netcost.Answer, traced: pd.DataFrame
) -> None:
    interrupts = traced["cpu_interrupts_per_s"].to_numpy()
    slope, *_ = np.linalg.lstsq(interrupts[:, None], traced["gap"].to_numpy(), rcond=None)
    assert kept_hidden_ns() == pytest.approx(1e9 * slope[0])
    # With a constant, too, it is of that size.
    line = np.polyfit(interrupts, traced["gap"], 1)
    assert 1e9 * line[0] == pytest.approx(kept_hidden_ns(), rel=0.15)
    assert abs(line[1]) < 0.02
    low, high = hidden["untraced_low_ns"], hidden["untraced_high_ns"]
    assert 0 < low < high == kept_hidden_ns()
    by_rate = {
        str(rate): 1e9 * float((part["gap"] * part["cpu_interrupts_per_s"]).sum())
        / float((part["cpu_interrupts_per_s"] ** 2).sum())
        for rate, part in traced.groupby("condition")
        if rate != "0"
    }  # fmt: skip
    assert hidden["by_rate"].set_index("condition")["hidden_ns"].to_dict() == pytest.approx(by_rate)
    assert not hidden["disturbed_runs"]
    value, low, high = hidden.frame.loc["hidden_ns"]
    words = as_text(hidden.words)
    assert f"took {duration(value)} beyond" in words
    assert f"(95 % interval {duration(low)} to {duration(high)})" in words
    for end in (min, max):
        rate = end(by_rate, key=by_rate.__getitem__)
        assert f"{duration(by_rate[rate])} ({rate})" in words


def test_it_predicts_runs_of_the_sample_that_it_has_not_seen() -> None:
    for held_out in HELD_OUT:
        table = hidden_cost_predictions(kept_calibration(), held_out).error_table
        assert set(table["runs"]) == {24}
        table = table.set_index(["run", "predictor"])
        error, within = table["mean_absolute_error_share"], table["within_5_points_share"]
        with_it, without = ("load_traced", "traced_and_hidden"), ("load_traced", "traced")
        assert within[with_it] == 1
        assert error[with_it] < 0.25 * error[without]
        with_it, without = ("load", "counted_and_hidden"), ("load", "counted")
        # One run did less than any other of its rate, and its steal does not say why.
        assert within[with_it] >= 23 / 24
        assert error[with_it] < 0.3 * error[without]
    answer = kept_calibration().ask.accounting.hidden_cost_predictions()
    assert answer["farthest"]["bundle"].tolist() == ["80000x16-pps-2"]
    answer.plot_errors()


def test_it_is_in_no_figure_of_the_trace(traced: pd.DataFrame) -> None:
    capture = open_experiment(SAMPLE).capture("40000-pps-1")
    assert capture.bundle
    assert capture.bundle.victim
    timeline = capture.victim_timeline()
    # openssl, and taskset that became it.
    owner = f"(comm == 'openssl' or tid == {capture.bundle.victim.pid}) and context == 'task'"
    own = timeline.sums().query(owner)["ns"].sum()
    table = accounts(capture, kept_hidden_ns())
    shares = traced["by_trace_share"]["40000-pps-1"], table["got_share"]["traced"]
    assert set(shares) == {own / timeline.duration_ns}


# The same machine hours before, another recorder, both CPUs recorded.
def test_a_price_is_taken_for_such_a_host_only(tmp_path: Path) -> None:
    own = netcost.open_capture(ROOT / "sample-data" / "veth-stolen-time").ask.accounting
    table = own.accounts(calibration=kept_calibration()).frame
    given = accounts(own.accounts().capture, kept_hidden_ns())
    assert table["got_share"]["traced_and_hidden"] == given["got_share"]["traced_and_hidden"]
    # It is predicted as well.
    assert abs(table["residual_share"]["traced"]) > 0.1
    assert abs(table["residual_share"]["traced_and_hidden"]) < 0.05
    price = own.account_reasons(calibration=kept_calibration())["price"]
    assert price["same_host"]
    assert price["tools"] == ["perf", "tracefs"]
    other = netcost.open_capture(doctored(tmp_path / "b")).ask.accounting
    answer = other.account_reasons(calibration=kept_calibration())
    assert "traced_and_hidden" not in answer.frame.index
    assert not answer["price"]["same_host"]
    none = open_experiment(ROOT / "sample-data" / "io-sizes")
    refused = other.account_reasons(calibration=none)["price"]["refused"]
    assert "io-sizes is no" in refused


def test_a_disturbed_calibration_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = kept_hidden_cost()["runs"].copy()
    runs.loc[runs["run"] == "load_traced", "others_share"] = [0.2] + [0.0] * 27
    # pytest finds no module that is called as its question is.
    module = hidden_cost_question.function.__globals__
    monkeypatch.setitem(module, "calibration_runs", lambda _: runs)
    answer = kept_calibration().ask.accounting.hidden_cost()
    assert (answer["disturbed_runs"], answer["others_max_share"]) == (1, 0.2)


HEAD = "bundle\trepeat\toffered_pps"
SERIES = {
    "data paths": (f"{HEAD}\tdata_path\n", "is not a calibration"),
    "flows": (f"{HEAD}\tflows\n", "is not a calibration: capture/lab/hidden-cost"),
    "no step": (f"{HEAD}\n", "has no run"),
    "no bundle": (f"{HEAD}\nx\t1\t5\n", "has no recording"),
}


@pytest.mark.parametrize(("steps", "refusal"), SERIES.values(), ids=SERIES)
def test_a_series_that_is_no_calibration(steps: str, refusal: str, tmp_path: Path) -> None:
    (tmp_path / "experiment.json").write_text(json.dumps({"netcost_experiment": 1}))
    (tmp_path / "steps.tsv").write_text(steps)
    with pytest.raises(CaptureError, match=refusal):
        hidden_cost(open_experiment(tmp_path))

# Where curves end: whose end it is, and what the costs of slower steps predict.

from pathlib import Path
from typing import Any

import pytest

from netcost_analysis.questions.sweep.by_rate import limited_by
from netcost_analysis.questions.sweep.step_figures import Figures
from netcost_analysis.questions.sweep.steps import Step
from netcost_analysis.stats.change import Estimate
from support.asked import made_by
from support.sweeps import AROUND_NS, Told, sweep


def step(offered: str, **figures: float) -> Figures:
    known = {"sent_pps": 100.0, "reached_pps": 100.0, "rate_per_s": 100.0, **figures}
    values = {name: Estimate(value, value, value) for name, value in known.items()}
    return Figures(Step("one", "one", {}, offered, 0, (), ()), values, {})


FULL_CPU = {"network_share": 0.5, "scheduled_share": 0.45, "victim_share": 0.45}


def test_whose_end_it_is() -> None:
    for fastest, ended in (
        (step("100"), "none"),
        (step("max"), "sender"),
        (step("106"), "sender"),
        (step("105"), "none"),
        # 1 % may be lost at the edges of a step.
        (step("100", dropped_share=0.01), "none"),
        (step("max", dropped_share=0.011), "path"),
        (step("max", reached_pps=98.0), "path"),
        # All arrived, and while it was measured fewer came by: the CPU was full.
        (step("max", rate_per_s=80.0, **FULL_CPU), "cpu"),
        (step("max", rate_per_s=96.0, **FULL_CPU), "sender"),
        (step("max", rate_per_s=80.0, network_share=0.5, victim_share=0.6), "sender"),
        (step("max", rate_per_s=80.0, network_share=0.96), "cpu"),
        (step("max", sent_pps=float("nan")), None),
    ):
        assert limited_by([step("10"), fastest]) == ended, fastest
    # Of a slower step that lost packets.
    assert limited_by([step("100", dropped_share=0.5), step("max")]) == "path"


def test_costs_predict_where_a_cpu_is_full(tmp_path: Path) -> None:
    told = [Told(rate=1_000, batch=1), Told(), Told(rate=50_000, batch=8)]
    found = sweep(tmp_path / "s", *told).ask.sweep.saturation()
    (row,) = found.frame.to_dict("records")
    around = told[0].fixed_ns + AROUND_NS
    full = 1e9 / (told[0].packet_ns + around / 64)
    assert row["packet_part_ns"] == pytest.approx(told[0].packet_ns)
    assert row["poll_part_ns"] == pytest.approx(around)
    assert row["full_rate_per_s"] == pytest.approx(full)
    assert row["shared_rate_per_s"] == pytest.approx(full / 2)
    assert row["expected_share"] == pytest.approx(row["network_share"])
    assert (row["limited_by"], row["found_by"]) == ("none", "")


def test_drops_are_found_at_the_lowest_rate_that_has_them(tmp_path: Path) -> None:
    lost: dict[str, Any] = {"received": 90_000, "dropped_ingress": 10_000}
    told = [Told(rate=1_000), Told(columns=lost), Told(rate=20_000)]
    found = sweep(tmp_path / "s", *told).ask.sweep.saturation()
    (row,) = found.frame.to_dict("records")
    assert (row["limited_by"], row["found_by"]) == ("path", "dropped")
    assert row["found_offered"] == "10000"
    assert row["found_per_s"] == pytest.approx(10_000)
    ends = [found[f"{name}s_end"] for name in ("path", "cpu", "sender")]
    assert ends == [1, 0, 0]


def test_one_rate_predicts_nothing(tmp_path: Path) -> None:
    found = sweep(tmp_path / "s", Told()).ask.sweep.saturation()
    assert found.frame["full_rate_per_s"].isna().all()


def test_how_it_was_made(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", Told(), notes=["left <out>"])
    found = made_by(experiment)
    assert found.command == "capture/lab/datapath-sweep -o mine"
    assert (found.step_count, found.recording_count, found.kernel) == (1, 1, "6.18.0")
    assert f"    {found.command}\n" in experiment.ask.sweep.made_by().words
    (experiment.path / "steps.tsv").write_text((experiment.path / "steps.tsv").read_text() + "\n")
    assert made_by(experiment).sha256 != found.sha256

# What questions about batches say in words.

import re

import pandas as pd

import netcost_analysis as netcost
from netcost_analysis.answers.answer import about
from netcost_analysis.answers.registry import questions
from netcost_analysis.display.templates import as_text, render
from netcost_analysis.questions.batches.rate_curve import explained
from support.asked import rate_curve
from support.host import SAMPLES
from support.told_notebook import lacking


def said_of(table: pd.DataFrame) -> str:
    asked = netcost.open_experiment(SAMPLES / "nic-guest")
    answer = explained(asked, table)
    about(answer, questions()["rate_curve"], asked, {"Experiment": asked}, {})
    return as_text(answer.words)


def test_words_of_a_flat_curve() -> None:
    curve = rate_curve(netcost.open_experiment(SAMPLES / "nic-guest"))
    assert "only one step" in said_of(curve)
    flat = curve.assign(
        curve="mine",
        flatness=[float("nan"), 0.9, 0.1, 0.2],
        share_growth=1.1,
        rate_growth=5.0,
        batch_growth=5.0,
        scheduled_share=0.0,
        expected_share=0.2,
        unbatched_share=0.8,
        marginal_share=0.02,
        packet_part_ns=100.0,
        poll_part_ns=5_000.0,
    )
    figures = ("in 1 step: mine", "75.0 %", "11 times", "26 times", "50.0 times")
    assert lacking(said_of(flat), *figures) == []
    near = flat.assign(rate_per_s=[50_000.0, 1e6, 1e6, 1e6], batch_mean=2.0)
    near["flatness"] = [0.1, 0.9, 0.1, 0.2]
    # 10 (100 + 5,000 / 64) / (100 + 5,000 / 2) = 0.69: batches of 64 would do more than enough.
    assert lacking(said_of(near), "10 times", "0.7 times") == []


def test_counts_are_a_range_or_one() -> None:
    row = {"cpu": 0, "squeezes_low": 3, "squeezes_high": 3, "with_polls": 2_500, "by_budget": 3}
    row |= {"by_time_low": 1_000, "by_time_high": 2_000}
    told = {"by_cpu": [row], "against_softnet": []}
    text = as_text(render(questions()["squeezes"].template, told))
    found = re.findall(r"[\d,]+\d|\d", text.partition("CPU 0")[2])[:5]
    assert found == ["3", "2,500", "3", "1,000", "2,000"]

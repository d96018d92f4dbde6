# What was done, as steps, loads and victims say; how many repeats would tell a change of it.

import json
from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis.questions.comparison.metrics import TOLD, more_repeats, observed
from netcost_analysis.questions.comparison.work import is_work, printed
from support.run_sets import compared, measured, recorded

NETPERF = """\
THROUGHPUT=51234.50
THROUGHPUT_UNITS=Trans/s
P99_LATENCY=42.0
MEAN_LATENCY=18.5
"""


def iperf3(sent: int, received: int) -> str:
    sides = {
        "sum_sent": {"seconds": 1.0, "bytes": sent, "bits_per_second": 8.0 * sent, "packets": 100},
        "sum_received": {
            "seconds": 1.0,
            "bytes": received,
            "bits_per_second": 8.0 * received,
            # More than were sent, as iperf3 counts those that came in another order.
            "packets": 100,
            "lost_packets": 103,
            "jitter_ms": 0.25,
        },
    }
    return json.dumps({"start": {"version": "iperf 3.12"}, "end": sides})


def test_a_load_says_what_was_done(tmp_path: Path) -> None:
    of_netperf = printed(recorded(tmp_path / "a", output=NETPERF))
    assert of_netperf["latency_p99_ns"] == 42_000
    assert of_netperf["latency_mean_ns"] == 18_500
    of_iperf3 = printed(recorded(tmp_path / "b", output=iperf3(1_000_000, 400_000)))
    assert of_iperf3["bytes_per_s"] == 400_000
    assert of_iperf3["lost_share"] == pytest.approx(0.6)
    assert of_iperf3["jitter_ns"] == 250_000


def test_a_figure_that_one_run_lacks_is_no_metric(tmp_path: Path) -> None:
    one, other = (recorded(tmp_path / name, output=NETPERF) for name in ("a", "b"))
    names = {of.metric.name: of.metric.better for of in observed(compared(one, other))}
    assert names["latency_p99_ns"] == "less"
    nothing = recorded(tmp_path / "c", output="")
    assert "latency_p99_ns" not in {of.metric.name for of in observed(compared(one, nothing))}


def test_the_verdict_begins_with_the_work(tmp_path: Path) -> None:
    sides = [
        [
            recorded(tmp_path / f"{name}{at}", output=iperf3(1_000_000 + at, rate + at))
            for at in range(6)
        ]
        for name, rate in (("a", 900_000), ("b", 450_000))
    ]
    base, new = map(netcost.RunSet, sides)
    answer = compared(base, new, primary="bytes_per_s").ask.comparison.changes()
    row = answer["work_rows"][0]
    assert (row["metric"], row["differs"], row["outcome"]) == ("bytes_per_s", "yes", "worse")
    assert row["change"] == pytest.approx(-0.5, abs=1e-4)
    # What polls counted is redundant.
    assert "packets_per_s" not in set(answer.frame["metric"])


@pytest.mark.parametrize(
    ("name", "unit", "work"),
    [
        ("received_bits_per_second", "", True),
        ("qps", "", True),
        ("client_cpu_percent", "", False),
        ("dropped_egress", "", False),
        ("latency_p99_9_ns", "ns", True),
        ("network_ns_per_packet", "ns/packet", False),
        ("stolen_share", "share", False),
        ("lost_share", "share", True),
        ("get_requests_per_s", "requests/s", True),
    ],
)
def test_costs_are_no_work(name: str, unit: str, work: bool) -> None:
    assert is_work(name, unit) is work


def needed(scatter: float, count: int) -> int:
    draw = np.random.default_rng(3)
    values = {side: list(100 + scatter * draw.standard_normal(count)) for side in ("base", "new")}
    runs = {side: [(None, one) for one in of] for side, of in values.items()}
    more = more_repeats(runs, True)  # type: ignore[arg-type]
    assert more is not None
    return more


def test_more_scatter_takes_more_repeats() -> None:
    assert [needed(scatter, 6) for scatter in (0.0, 1.0)] == [0, 0]
    assert needed(5, 6) < needed(10, 6) < needed(20, 6)
    # With one run a side the scatter is unknown.
    assert needed(5, 1) == 5
    assert needed(0.0, 3) == 3


# The oracle: with as many runs a change of that size is told in about four of five draws.
def test_so_many_repeats_tell_the_change() -> None:
    # Of six values as far from their mean the deviation is 4.
    away = 4 * np.sqrt(5 / 6)
    of = [(None, 100 + away * sign) for sign in (1, -1) * 3]
    more = more_repeats({"base": of, "new": of}, True)  # type: ignore[dict-item]
    assert more is not None
    number = 6 + more
    draw = np.random.default_rng(5)
    base, new = np.mean(100 + 4 * draw.standard_normal((2, 1_000, number)), axis=2)
    chance_ends = 1.96 * np.std(new - base)
    assert 0.7 < np.mean(np.abs(new * (1 + TOLD) - base) > chance_ends) < 0.9


def test_figures_of_steps_stay_metrics() -> None:
    found = compared(measured("a", [10, 11]), measured("b", [10, 12])).ask.comparison.changes()
    assert [row["metric"] for row in found["work_rows"]] == ["received_bits_per_second"]
    assert 0 < found.frame["more_repeats"].iloc[0] < 1_000
    # Runs that scatter as far as this one's are beyond any number of repeats.
    wild = compared(measured("a", [1, 2]), measured("b", [1, 3])).ask.comparison.changes()
    assert wild.frame["more_repeats"].isna().all()

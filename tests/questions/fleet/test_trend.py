# A regression that was planted is found, with its day, its size and the part that makes it; where
# none was, none is found.

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import netcost_analysis as netcost
from netcost_analysis.stats.change_points import FALSE_ALARMS, LEAST_SIDE, change_points
from support.fleets import REGRESSED, Told, captures, dataset, days, gathered

Make = Callable[[list[Told]], netcost.Fleet]


@pytest.fixture
def fleet(tmp_path: Path) -> Make:
    return lambda told: netcost.open_fleet(dataset(tmp_path / "fleet", told))


def test_a_planted_regression_is_found(fleet: Make) -> None:
    answer = fleet(days(factor=1.15)).ask.fleet.trend()
    changes = answer.frame.set_index("metric")
    assert set(changes["kernel"]) == {REGRESSED}
    row = changes.loc["ns_per_work"]
    assert row["changed_at"] == "2026-03-09T12:00:00Z"
    # Of a packet's cost 9 of 10 parts are the poll's.
    assert row["change"] == pytest.approx(0.15 * 0.9, abs=0.02)
    assert row["change_low"] < row["change"] < row["change_high"]
    assert row["change_low"] > 0.08
    assert row["because"] == "poll cost"
    assert row["command"] == f"netcost report {row['path']}"
    assert (row["captures_before"], row["captures_after"]) == (16, 12)


# Of so many fleets more alarms come one time in a thousand, where they are as frequent as is
# promised.
FLEETS = [
    (range(3), 0),
    pytest.param(range(3, 60), binom.ppf(0.999, 57, FALSE_ALARMS), marks=pytest.mark.slow),
]


# It is made by its hosts alone, of other kernels nothing is said.
@pytest.mark.parametrize(("seeds", "most"), FLEETS, ids=["few", "many"])
def test_where_nothing_changes_little_is_found(tmp_path: Path, seeds: range, most: int) -> None:
    alarmed = []
    for seed in seeds:
        fleet = netcost.open_fleet(dataset(tmp_path / str(seed), days(seed=seed)))
        answer = fleet.ask.fleet.trend()
        assert answer["series_looked_at"] > 0
        alarmed += [seed] if len(answer.frame) else []
    assert len(alarmed) <= most, alarmed


# A host that is dear, and was recorded only after a day, is no change.
def test_a_new_host_is_no_change(fleet: Make) -> None:
    told = days(seed=5)
    new = [
        replace(one, host="big", around=2.0) for one in told if one.day > 7 and one.host > "web2"
    ]
    assert not len(fleet(told + new).ask.fleet.trend().frame)


def test_batches_that_shrink_are_told_from_dearer_polls(fleet: Make) -> None:
    told = [
        replace(one, batch=2) if one.kernel == REGRESSED and one.day >= 8 else one
        for one in days(seed=9)
    ]
    changes = fleet(told).ask.fleet.trend().frame.set_index("metric")
    assert changes.loc["ns_per_work", "because"].startswith("batch size")


@pytest.mark.parametrize(
    ("more", "because"),
    [
        ({"batch": 1}, "batch size"),
        ({"around": 1.8}, "poll cost"),
        ({"irq_ns": 12_000}, "interrupts"),
    ],
)
def test_an_outlier_and_its_reason(fleet: Make, more: dict[str, float], because: str) -> None:
    told = days(seed=2)
    odd = replace(told[-1], day=20, **more)  # type: ignore[arg-type]
    rows = fleet([*told, odd]).ask.fleet.outliers().frame
    row = rows[rows["metric"] == "ns_per_work"]
    assert row["path"].tolist() == [f"captures/{odd.name}"]
    [found] = row.to_dict("records")
    assert found["because"] == because
    assert found["command"] == f"netcost report captures/{odd.name}"
    whole = found["batch_part"] + found["poll_part"] + found["interrupt_part"]
    assert whole == pytest.approx(found["ratio"] - 1, abs=0.02)


def test_one_of_another_kernel_is_said_to_be(fleet: Make) -> None:
    told = [one for one in days(seed=2) if one.kernel != REGRESSED]
    odd = replace(told[0], kernel="5.4.0", around=2.0)
    rows = fleet([*told, odd]).ask.fleet.outliers().frame
    (because,) = rows[rows["metric"] == "ns_per_work"]["because"]
    assert because.split(", ") == ["poll cost", "other kernel"]


def test_alike_captures_have_no_outlier(fleet: Make) -> None:
    same = [Told(host="db", kernel="5.4.0", day=day) for day in range(9)]
    assert not len(fleet([*days(seed=4), *same]).ask.fleet.outliers().frame)


# Of series in which nothing changes, in random order, at most so many have a change point.
def test_the_rate_of_false_alarms() -> None:
    draw = np.random.default_rng(1)
    found = 0
    for number in range(400):
        hosts = draw.integers(0, 1 + number % 5, 40)
        # Heavy tails, and hosts of their own level.
        values = draw.standard_t(3, 40) + 5.0 * hosts
        found += bool(change_points(values, hosts))
    # 4 are to be expected; 12 or more have a chance of 0.1 %.
    assert found < 12
    assert FALSE_ALARMS == 0.01


def test_two_changes_in_a_series() -> None:
    draw = np.random.default_rng(2)
    values = draw.normal(0, 1, 90)
    values[30:60] += 4
    points = [one.first for one in change_points(values, np.zeros(90, dtype="int64"))]
    assert len(points) == 2
    assert abs(points[0] - 30) <= 2
    assert abs(points[1] - 60) <= 2
    for count in (0, 1, 2 * LEAST_SIDE - 1):
        assert change_points(values[:count], np.zeros(count, dtype="int64")) == []
    assert change_points(np.ones(50), np.zeros(50, dtype="int64")) == []


# The same of captures whose polls really took longer, read and asked one by one.
@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 1.15])
def test_it_is_found_in_recordings(tmp_path: Path, factor: float) -> None:
    captures(tmp_path / "captures", days(factor=factor))
    fleet = netcost.open_fleet(gathered(tmp_path / "captures", tmp_path / "out"))
    changes = fleet.ask.fleet.trend().frame
    priced = changes[changes["metric"] == "ns_per_work"]
    assert priced["changed_at"].tolist() == ["2026-03-09T12:00:00Z"] * (factor > 1)
    assert set(priced["because"]) <= {"poll cost"}

# Data paths and destinations in pairs: planted differences are found, of the size that was planted.

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

from netcost_analysis.errors import ArgumentError
from support.sweeps import AROUND_NS, Told, sweep

RATES = (2_000, 20_000)


def steps(path: str, seed: int, **told: int) -> list[Told]:
    return [
        Told(path, rate=rate, scatter=0.2, seed=seed + place, rounds=600, **told)  # type: ignore[arg-type]
        for place, rate in enumerate(RATES)
    ]


def test_the_cheaper_path_at_each_rate(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", *steps("bridge", 1), *steps("xdp", 11, packet_ns=900))
    found = experiment.ask.sweep.cheaper_path()
    rows = found.frame
    assert list(rows["offered"]) == ["2000", "20000"]
    assert set(rows["cheaper"]) == {"xdp"}
    for row in rows.to_dict("records"):
        # A poll of two packets takes 6 µs on the bridge, and 1.2 µs less by XDP; with its scatter
        # half a percent more.
        planted = -1_200 / (6_000 + AROUND_NS)
        assert row["change_low"] < planted < row["change_high"]
        assert row["change"] == pytest.approx(planted, abs=0.03)
        assert (row["base_name"], row["new_name"]) == ("bridge", "xdp")
        assert row["observed_in"] == "blocks"
    (verdict,) = found["verdicts"]
    assert (verdict["cheaper_name"], verdict["cheaper_at"], verdict["compared"]) == ("xdp", 2, 2)
    assert found["of_blocks"] == 2


def test_each_pair_of_three_paths(tmp_path: Path) -> None:
    told = [*steps("bridge", 1), *steps("route", 21, packet_ns=3_000), *steps("xdp", 11)]
    found = sweep(tmp_path / "s", *told).ask.sweep.cheaper_path()
    named = found.frame.groupby(["base_name", "new_name"])["cheaper"].agg(set)
    assert named["bridge", "route"] == {"bridge"}
    assert named["route", "xdp"] == {"xdp"}
    assert named["bridge", "xdp"] == {"~"}
    alike = found["verdicts"][named.index.get_loc(("bridge", "xdp"))]
    counts = [alike[name] for name in ("cheaper_at", "told_apart_not", "least_change")]
    assert counts == [0, 2, None]
    mpl.use("agg")
    assert len(found.plot().get_yticklabels()) == 6


def test_a_second_destination_as_a_difference(tmp_path: Path) -> None:
    more = steps("xdp", 11, destinations=2, packet_ns=2_000)
    found = sweep(tmp_path / "s", *steps("xdp", 1), *more).ask.sweep.destinations()
    rows = found.frame.set_index("offered")
    # 500 ns more for each packet.
    for rate in RATES:
        row = rows.loc[str(rate)]
        assert row["differs"] == "yes"
        assert row["change_low"] < 500 * rate / 1e9 < row["change_high"]
    assert rows["new_name"].iloc[0] == "destinations 2"
    (of_path,) = found["of_paths"]
    assert (of_path["differing"], of_path["compared"]) == (2, 2)
    assert of_path["most_change"]["offered"] == "20000"


def test_what_there_is_not_is_said(tmp_path: Path) -> None:
    ask = sweep(tmp_path / "s", Told(), Told("xdp", rate=1_000)).ask.sweep
    assert "in data path" in str(ask.cheaper_path().refusal)
    assert "in destinations" in str(ask.destinations().refusal)
    with pytest.raises(ArgumentError, match="no metric 'speed'"):
        sweep(tmp_path / "t", Told(), Told("xdp")).ask.sweep.cheaper_path(metric="speed")


def test_more_of_the_victims_share_is_no_cost(tmp_path: Path) -> None:
    experiment = sweep(tmp_path / "s", *steps("bridge", 1), *steps("xdp", 11, packet_ns=500))
    rows = experiment.ask.sweep.cheaper_path(metric="victim_share").frame
    assert set(rows["cheaper"]) == {""}
    assert (rows["change"] > 0).all()
    assert not rows["is_relative"].any()


# Runs of one step that are 15 % apart make 20 % between two single runs of another rate no finding,
# however little each scatters within itself.
@pytest.mark.parametrize(("repeats", "cheaper"), [(0, "xdp"), (6, "~")])
def test_single_runs_are_as_far_apart_as_repeats(
    tmp_path: Path, repeats: int, cheaper: str
) -> None:
    costs = (2_000, 2_300, 2_600, 2_900, 2_400, 2_200)[:repeats]
    again = [
        Told(path, rate=50_000, repeat=at, packet_ns=cost, rounds=64, scatter=0.1)
        for path in ("bridge", "xdp")
        for at, cost in enumerate(costs)
    ]
    single = [
        Told(path, packet_ns=cost, repeat=1, scatter=0.1, seed=cost)
        for path, cost in (("bridge", 2_500), ("xdp", 1_800))
    ]
    rows = sweep(tmp_path / "s", *again, *single).ask.sweep.cheaper_path()
    row = rows.frame.set_index("offered").loc["10000"]
    assert row["cheaper"] == cheaper
    assert row["change_low"] < row["change"] < row["change_high"]
    if repeats:
        assert row["run_scatter"] == pytest.approx(0.1, abs=0.05)
    else:
        assert pd.isna(rows["scatter"])

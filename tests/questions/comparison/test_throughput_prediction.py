# The arithmetic of Performance of Local IP Traffic, on recordings of which every nanosecond is
# planned.

from dataclasses import replace
from pathlib import Path

import pytest

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from support.run_sets import measured
from support.talking import Talk

MS = 1_000_000
# Of 10 s for the client's 1,000 packets 3 s are softirqs, then 4.5 s of 11.5 s.
BEFORE = Talk(softirq_ns=3 * MS, own_ns=7 * MS, packets=1_000)
AFTER = replace(BEFORE, softirq_ns=9 * MS // 2)


def compared(path: Path, base: Talk, new: Talk) -> Comparison:
    return netcost.compare(base.write(path / "base.data"), new.write(path / "new.data"))


def test_extra_softirq_time_predicts_the_throughput(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, AFTER).ask.comparison.throughput_prediction()
    whole = found.frame.set_index("softirq_work").loc["network softirqs"]
    assert whole["base_ns_per_unit"] * 1_000 == 3e9
    assert whole["new_ns_per_unit"] * 1_000 == 4.5e9
    assert whole["longer_share"] == pytest.approx(0.15, rel=1e-9)
    assert whole["predicted"] == pytest.approx(1 / 1.15 - 1, rel=1e-9)
    assert whole["predicted"] == pytest.approx(-0.13, abs=0.001)
    assert whole["predicted_low"] < whole["predicted"] < whole["predicted_high"]
    # The recordings last 10 s and 11.5 s, so the measured change is the same.
    rows = found.tables["throughputs"].set_index("measured_in")
    assert rows.loc["recordings", ["base", "new"]].to_list() == pytest.approx([100, 1_000 / 11.5])
    assert rows["change"].to_list() == pytest.approx([1 / 1.15 - 1] * 3, rel=1e-6)
    assert (whole["agrees"], whole["explained_share"]) == ("yes", pytest.approx(1, rel=1e-6))
    # The bottleneck is who has no time to spare.
    rows = found.tables["candidates"].set_index("candidate")
    assert rows["is_bottleneck"].to_dict() == {"client": True, "server": False}
    assert rows.loc["client", "base_busy_share"] == 1
    assert rows.loc["server", "new_busy_share"] < 0.01
    assert "throughput, %" in found.plot().get_xlabel()
    # Client and server stand beside each other.
    rows = found.tables["ends"].set_index(["side", "softirq_work"])
    assert rows.loc[("client", "NET_RX"), "difference_ns"] == 1.5 * MS
    assert rows.loc[("server", "NET_RX"), "new_ns_per_unit"] == 0


@pytest.mark.parametrize(("own", "softirq", "more"), [(2, 1, 7), (19, 5, -4), (3, 20, 0)])
def test_any_extra_time_predicts_its_part(
    tmp_path: Path, own: int, softirq: int, more: int
) -> None:
    base = Talk(softirq_ns=softirq * MS, own_ns=own * MS, packets=120)
    comparison = compared(tmp_path, base, replace(base, softirq_ns=(softirq + more) * MS))
    first = comparison.ask.comparison.throughput_prediction().frame.iloc[0]
    extra = more / (own + softirq)
    assert first["longer_share"] == pytest.approx(extra, rel=1e-6, abs=1e-9)
    assert first["predicted"] == pytest.approx(1 / (1 + extra) - 1, rel=1e-6, abs=1e-9)


# A client that sleeps a tenth of its time would only sleep less.
def test_without_a_bottleneck_there_is_no_prediction(tmp_path: Path) -> None:
    base = Talk(sleep_every=10, asleep_ns=12_000)
    comparison = compared(tmp_path, base, replace(base, softirq_ns=4_500))
    found = comparison.ask.comparison.throughput_prediction()
    assert found.frame["predicted"].isna().all()
    assert set(found.frame["reason"]) == {"no bottleneck"}
    assert found.tables["throughputs"]["change"].notna().all()
    for fact in ("client", "server", "95%"):
        assert fact in str(comparison.ask("other_causes").refusal)
    # Who is busy is who is not asleep by client_and_server.
    beside = netcost.open_capture(tmp_path / "base.data").ask.processes.client_and_server().frame
    life = beside["on_cpu_ns"] + beside["waited_ns"] + beside["asleep_between_ns"]
    busy = (1 - beside["asleep_between_ns"] / life).astype(float).to_list()
    candidates = found.tables["candidates"]
    assert candidates["base_busy_share"].to_list() == pytest.approx(busy, rel=1e-3)


# What the client itself takes longer is no softirq's doing.
def test_what_softirqs_do_not_explain_is_said(tmp_path: Path) -> None:
    base = Talk(packets=1_000)
    new = replace(base, softirq_ns=3_500, own_ns=9_000)
    found = compared(tmp_path, base, new).ask.comparison.throughput_prediction()
    first = found.frame.iloc[0]
    assert first["predicted"] == pytest.approx(1 / 1.05 - 1)
    assert first["agrees"] == "no"
    assert first["explained_share"] == pytest.approx((1 / 1.05 - 1) / (1 / 1.25 - 1), rel=1e-3)


# A neighbour that takes a third of the client's CPU on both sides changes no prediction.
def test_a_neighbour_on_the_bottlenecks_cpu_changes_no_prediction(tmp_path: Path) -> None:
    base = Talk(hog_every=10, hog_ns=50_000)
    new = replace(base, softirq_ns=4_500)
    found = compared(tmp_path, base, new).ask.comparison.throughput_prediction()
    assert found.frame["predicted"].to_list() == pytest.approx([1 / 1.15 - 1] * 2, rel=1e-3)
    rows = found.tables["throughputs"].set_index("measured_in")
    assert rows.loc["on CPU", "is_compared"]
    assert rows.loc["on CPU", "change"] == pytest.approx(1 / 1.15 - 1, rel=1e-3)
    assert found.tables["candidates"].loc[0, "base_cpu_share"] == pytest.approx(2 / 3, abs=0.01)


def repeated(path: Path, talk: Talk, side: str, rates: list[float]) -> netcost.RunSet:
    recorded = netcost.run_set(talk.write(path / f"{side}.data"), labels={"kernel": side})
    return netcost.RunSet([*measured(side, rates), *recorded])


@pytest.mark.parametrize(
    ("count", "factor", "agrees", "measured_in"),
    [(6, 0.87, "yes", "repeats"), (6, 1.2, "no", "repeats"), (5, 0.87, "yes", "on CPU")],
)
def test_repeats_without_a_recording_come_first(
    tmp_path: Path, count: int, factor: float, agrees: str, measured_in: str
) -> None:
    rates = [1e9 * (1 + 0.01 * (number % 3)) for number in range(count)]
    base = repeated(tmp_path, Talk(), "a", rates)
    new = repeated(tmp_path, Talk(softirq_ns=4_500), "b", [factor * rate for rate in rates])
    found = Comparison(base, new).ask.comparison.throughput_prediction()
    rows = found.tables["throughputs"]
    assert rows.loc[rows["is_compared"], "measured_in"].to_list() == [measured_in]
    assert rows.loc[0, "change"] == pytest.approx(factor - 1)
    assert found.frame["agrees"].iloc[0] == agrees


# What lasts a repeat moves both of a pair, whatever the order in which the runs were given.
def test_pairs_are_predicted_as_pairs(tmp_path: Path) -> None:
    sides: dict[str, list[netcost.Run]] = {"base": [], "new": []}
    for (side, runs), more in zip(sides.items(), (0, 450), strict=True):
        for repeat in range(6):
            talk = Talk(softirq_ns=2_000 + 400 * repeat + more, packets=60)
            path = talk.write(tmp_path / f"{side}{repeat}.data")
            labels = {"kernel": side, "repeat": repeat}
            runs += netcost.run_set(path, labels=labels)
    sides["new"].reverse()
    apart, beside = (
        Comparison(*map(netcost.RunSet, sides.values()), paired=paired).ask.comparison
        for paired in (False, True)
    )
    of_sides, of_pairs = (asked.throughput_prediction().frame.iloc[0] for asked in (apart, beside))
    assert of_sides["predicted"] == of_pairs["predicted"] == pytest.approx(1 / 1.045 - 1, abs=1e-3)
    assert of_pairs["predicted_low"] < of_pairs["predicted"] < of_pairs["predicted_high"] < 0
    assert of_sides["predicted_high"] > 0
    ends = beside.throughput_prediction().tables["ends"].iloc[0]
    assert (ends["difference_low_ns"], ends["difference_high_ns"]) == pytest.approx((450, 450))


def test_a_side_without_a_recording_has_no_prediction_and_no_tree(tmp_path: Path) -> None:
    paths = [Talk().write(tmp_path / f"{side}.data") for side in ("base", "new")]
    base, new = measured("base", [1.0]), measured("new", [1.0])
    recorded = netcost.run_set(paths[1], labels={"kernel": "new"})
    for other, lacking in ((new, "no run was"), (recorded, "no run of base was")):
        found = Comparison(base, other)
        for question in ("throughput_prediction", "other_causes", "cost_tree"):
            assert lacking in str(found.ask(question).refusal)
    per_second = netcost.compare(*paths, per="second")
    uncounted = per_second.ask.comparison.throughput_prediction()
    assert "was not counted" in str(uncounted.refusal)

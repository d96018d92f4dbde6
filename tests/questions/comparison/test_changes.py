# What changed, and how sure that is: planted changes are found, of the size that was planted, and
# none between recordings of one condition.

from pathlib import Path

import numpy as np
import pytest

import netcost_analysis as netcost
from netcost_analysis.comparison.comparison import Comparison
from netcost_analysis.errors import ArgumentError
from netcost_analysis.stats.change import TOLD
from netcost_analysis.units import signed_share
from support.compared import recorded
from support.live import record

NAMES = tuple(f"figure_{number}" for number in range(10))


# Runs that were only measured; the first figure of the new side is as many times the base's.
def of_figures(seed: int, count: int, times: float = 1.0) -> Comparison:
    draw = np.random.default_rng(seed)

    def side(name: str, first: float) -> netcost.RunSet:
        values = 100 * np.exp(draw.normal(0, 0.05, (count, len(NAMES))))
        values[:, 0] *= first
        return netcost.RunSet(
            netcost.Run(f"{name}{number}", {"side": name}, dict(zip(NAMES, row, strict=True)))
            for number, row in enumerate(values)
        )

    return Comparison(side("a", 1.0), side("b", times), primary=NAMES[0])


def recordings(path: Path, count: int, packets: int = 1_500, **planted: int) -> Comparison:
    def side(name: str, first: int, **more: int) -> list[Path]:
        seeds = range(first, first + count)
        return [recorded(path / f"{name}{one}", one, packets=packets, **more) for one in seeds]

    return netcost.compare(side("base", 0), side("new", 100, **planted))


def test_a_planted_change_is_found_in_two_recordings(tmp_path: Path) -> None:
    found = recordings(tmp_path, 1, poll_ns=4_800).ask.comparison.changes()
    first = found.frame.iloc[0]
    assert first["metric"] == "network_ns_per_packet"
    # 4,181 ns of softirq and 1,020 of interrupt a packet, and 816 more.
    planted = 816 / (4_181 + 1_020)
    assert first["change"] == pytest.approx(planted, abs=0.02)
    assert first["change_low"] < planted < first["change_high"]
    assert (first["differs"], first["outcome"], first["observed_in"]) == ("yes", "worse", "blocks")
    assert any("other runs" in note for note in found.notes)
    rows = found.frame.set_index("metric")
    # Interrupts cost what they cost before.
    assert rows.loc["network_irq_ns_per_packet", "differs"] == "no"
    assert rows.loc["batch_mean", "base"] == 1.0


def test_the_same_load_twice_is_no_difference(tmp_path: Path) -> None:
    found = recordings(tmp_path, 1).ask.comparison.changes()
    assert found.frame["differs"].iloc[0] == "no"


def test_six_repeats_are_observations_of_their_own(tmp_path: Path) -> None:
    found = recordings(tmp_path, 6, 100, poll_ns=4_800).ask.comparison.changes()
    first = found.frame.iloc[0]
    assert (first["observed_in"], first["base_observations"]) == ("repeats", 6)
    assert first["differs"] == "yes"
    assert set(found.frame["observed_in"]) == {"repeats"}


@pytest.mark.parametrize("count", [1, 5])
def test_fewer_than_six_repeats_claim_nothing(count: int) -> None:
    found = of_figures(1, count, times=3.0).ask.comparison.changes()
    assert set(found.frame["differs"]) == {"too_few"}
    assert any("fewer than 6" in note for note in found.notes)


def test_the_primary_metric_comes_first_and_is_not_corrected() -> None:
    found = of_figures(1, 6, times=1.2).ask.comparison.changes()
    row = found.frame.iloc[0]
    assert row["metric"] == "figure_0"
    assert row["p_adjusted"] == row["p_value"]
    assert (found.frame["p_adjusted"] >= found.frame["p_value"]).all()
    names = found["base_name"], found["new_name"]
    assert names == ("side a", "side b")
    for text in (found.words, found.plot().get_xlabel()):
        assert all(name in text for name in names)
    # Each figure in the unit of its metric, a part in percent, in every form that is read.
    markdown = next(one["text/markdown"] for one, _ in found.evidence() if "text/html" in one)
    for text in (repr(found), markdown, found._repr_html_()):
        assert signed_share(row["change"]) in text
        assert f"{row['change']:.3g}" not in text


@pytest.mark.parametrize("question", ["changes", "comparability"])
def test_what_there_is_not_is_refused(tmp_path: Path, question: str) -> None:
    paths = [recorded(tmp_path / f"{name}.data", 1, packets=100) for name in ("a", "b")]
    for unit in ("byte", "packets"):
        with pytest.raises(ArgumentError, match=rf"{unit}\b.*packet,.* second"):
            netcost.compare(*paths, per=unit).ask(question)
    with pytest.raises(ArgumentError, match=r"'nothing_ns'.*network_ns_per_packet"):
        netcost.compare(*paths, primary="nothing_ns").ask(question)


# As the definitions state: in 5 % of comparisons at most, of the primary metric and of all others.
@pytest.mark.parametrize("seeds", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_nothing_planted_is_rarely_found(seeds: int) -> None:
    primary = others = 0
    for seed in range(seeds):
        frame = of_figures(seed, 6).ask.comparison.changes().frame
        primary += frame["differs"].iloc[0] == "yes"
        others += (frame["differs"].iloc[1:] == "yes").any()
    # What chance exceeds once in a thousand times.
    assert primary <= {20: 5, 1_000: 72}[seeds]
    assert others <= {20: 5, 1_000: 72}[seeds]


# Runs with these figures, one after the other.
def side(name: str, **figures: list[float]) -> netcost.RunSet:
    rows = [dict(zip(figures, row, strict=True)) for row in zip(*figures.values(), strict=True)]
    return netcost.RunSet(
        netcost.Run(f"{name}{at}", {"side": name, "repeat": str(at)}, row)
        for at, row in enumerate(rows)
    )


SIX = [1.0, 2, 3, 4, 5, 6]


def test_what_one_side_alone_has_is_shown() -> None:
    base, new = side("a", both=SIX), side("b", both=SIX, added=SIX, nothing=[0.0] * 6)
    found = Comparison(base, new).ask.comparison.changes()
    rows = found.frame.set_index("metric")
    assert list(rows.index) == ["both", "added"]
    added = rows.loc["added"]
    assert (added["differs"], added["new"], added["new_observations"]) == ("one_side", 3.5, 6)
    assert added["new_low"] < 3.5 < added["new_high"]
    assert np.isnan(added[["base", "change", "p_value", "p_adjusted"]].astype(float)).all()
    assert (found["compared"], found["corrected"]) == (0, 0)
    # The words count the runs of what both sides have.
    assert "6 runs a side" in found.words
    assert " 0 and 6" not in found.words
    other = Comparison(new, base).ask.comparison.changes().frame.set_index("metric")
    assert (other.loc["added", "base"], other.loc["added", "differs"]) == (3.5, "one_side")


# The rounding of sums is no change, however it is computed.
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("base", [0.3, 0.0])
def test_what_rounding_makes_is_no_change(base: float, paired: bool) -> None:
    other = 0.1 + 0.2 - 0.3 + base
    assert other != base
    sides = side("a", one=[base] * 6), side("b", one=[other] * 6)
    row = Comparison(*sides, paired=paired).ask.comparison.changes().frame.iloc[0]
    if base:
        assert row[["change", "p_value"]].tolist() == [0, 1]
        assert (row["differs"], row["is_unchanged"]) == ("no", True)


# Wide intervals are undecided: only what is known to be small is unchanged.
def test_what_has_too_few_repeats_is_not_unchanged() -> None:
    near, far = [100.0, 101, 99, 100, 101, 99], [50.0, 150, 80, 120, 60, 140]
    figures = {"near": near, "far": far, "from_0": [0.0] * 6}
    new = {**figures, "near": near[::-1], "far": far[::-1], "from_0": [0.0, 0, 0, 0, 0, 1]}
    found = Comparison(side("a", **figures), side("b", **new)).ask.comparison.changes()
    rows = found.frame.set_index("metric")
    assert set(rows["differs"]) == {"no"}
    assert rows["is_unchanged"].to_dict() == {"near": True, "far": False, "from_0": False}
    assert rows.loc["near", "change_high"] <= TOLD < rows.loc["far", "change_high"]
    assert found["unchanged"] == rows.loc[~rows["is_primary"], "is_unchanged"].sum()


def test_a_change_from_0_is_a_difference_in_its_unit() -> None:
    zeros = {name: [0.0] * 6 for name in ("none", "named", "from_0", "near_0")}
    base = side("a", **{**zeros, "first": SIX, "near_0": [0, 0, 0, 0, 1, 2]})
    new = side("b", **{**zeros, "first": SIX, "from_0": SIX, "near_0": [10.0 + at for at in SIX]})
    comparison = Comparison(base, new, primary="first", beforehand=["named"])
    rows = comparison.ask.comparison.changes().frame.set_index("metric")
    # What is 0 everywhere is worth a row where it was asked for.
    assert set(rows.index) == {"first", "named", "from_0", "near_0"}
    assert rows.loc["named", ["change", "change_low", "change_high", "p_value"]].tolist() == [
        *(0, 0, 0, 1)
    ]
    for name, change in (("from_0", 3.5), ("near_0", 13)):
        row = rows.loc[name]
        assert (row["is_relative"], row["change"], row["differs"]) == (False, change, "yes")
        assert 0 < row["change_low"] < change < row["change_high"]
    assert rows.loc["first", "is_relative"]


# Six pairs are told apart by signs, and the order of the runs says nothing of who belongs to whom.
def test_pairs_are_found_by_their_repeat() -> None:
    days = [100.0, 200, 300, 400, 500, 600]
    base = side("a", figure=days)
    runs = list(side("b", figure=[1.05 * one for one in days]))
    mixed = netcost.RunSet(runs[at] for at in (3, 1, 0, 5, 4, 2))
    for new in (netcost.RunSet(runs), mixed):
        row = Comparison(base, new, paired=True).ask.comparison.changes().frame.iloc[0]
        assert row[["change", "change_low", "change_high"]].tolist() == pytest.approx([0.05] * 3)
        assert (row["p_value"], row["p_least"]) == pytest.approx((2 / 64, 2 / 64))
    for wrong in (
        runs[:5],
        [*runs[:5], netcost.Run("c", {"side": "b", "repeat": "9"}, {"figure": 1.0})],
    ):
        with pytest.raises(ArgumentError):
            _ = Comparison(base, netcost.RunSet(wrong), paired=True).ask.comparison.changes().frame


# Sixteen at once: without overlap each differs, 24 cannot.
@pytest.mark.parametrize(("metrics", "differing"), [(16, 16), (24, 0)])
def test_many_metrics_are_corrected_together(metrics: int, differing: int) -> None:
    values = {f"figure_{at}": SIX for at in range(metrics)}
    base = side("a", first=SIX, **values)
    new = side("b", first=SIX, **{name: [10 + one for one in SIX] for name in values})
    found = Comparison(base, new, primary="first").ask.comparison.changes()
    assert (found["corrected"], found["differing"]) == (metrics, differing)
    assert set(found.frame["p_least"]) == {2 / 924}
    corrected = found.frame["p_adjusted"].iloc[1:]
    assert corrected.to_numpy() == pytest.approx(metrics * 2 / 924)


# 5 % of such sets differ where the runs of each could be exchanged, more where the host drifts.
@pytest.mark.slow
@pytest.mark.measures
def test_runs_of_one_condition_do_not_differ(tmp_path: Path) -> None:
    runs = [record(tmp_path / f"{at}.data", seconds=0.3) for at in range(12)]
    found = netcost.compare(runs[::2], runs[1::2]).ask.comparison.changes()
    primary = found.frame.iloc[0]
    assert primary["metric"] == "network_ns_per_packet"
    assert primary["observed_in"] == "repeats"
    assert primary["change_low"] < primary["change_high"]
    assert primary["differs"] == "no"


# A verdict begins with three figures of the work; others that changed are not hidden.
def test_every_change_of_the_work_is_named_or_counted() -> None:
    draw = np.random.default_rng(1)

    def made(name: str, factor: float) -> netcost.RunSet:
        names = [f"rate_{at}_pps" for at in range(12)]
        return side(
            name,
            **{
                one: [*(100 * (factor if at > 2 else 1) * (1 + draw.normal(0, 0.01, 7)))]
                for at, one in enumerate(names)
            },
        )

    words = Comparison(made("a", 1.0), made("b", 1.5)).ask.comparison.changes().words
    assert "and 9 more:" in words
    assert all(f"rate {at} " in words for at in range(9))


# Without a recording the CPU time of both ends is all that is known of who paid.
def test_what_both_ends_took_of_a_cpu_is_named() -> None:
    def made(name: str, factor: float) -> netcost.RunSet:
        busy = [20.0 + at / 10 for at in range(6)]
        taken = {"client_cpu_percent": busy, "server_cpu_percent": [factor * one for one in busy]}
        return side(name, received_bits_per_second=[1e9] * 6, **taken)

    found = Comparison(made("a", 1.0), made("b", 2.0)).ask.comparison.changes()
    assert [row["metric"] for row in found["cpu_rows"]] == [
        "client_cpu_percent",
        "server_cpu_percent",
    ]
    _, paid = found.words.strip().split("\n\n")
    assert "server CPU \\+100" in paid
    assert "20.2 -\\> 40.5 %" in paid

# The line through polls, what it is refused for, and the curve over rates: known costs come back.

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netcost_analysis.questions.batches.curve_shares import curve_from, summed
from netcost_analysis.questions.batches.packet_costs import alone_and_together, packets_from
from netcost_analysis.questions.batches.poll_costs import costs_from
from netcost_analysis.questions.batches.poll_sizes import by_work, mean_batch, sizes_of
from netcost_analysis.questions.batches.poll_sums import Gathered
from support.asked import rate_curve
from support.pairs import gathered_from
from support.sized import counted
from support.sweeps import Told, sweep

FIXED, MARGINAL, CORE, IRQ = 1_500.0, 400.0, 120.0, 300.0
WINDOW = 1_000_000_000
STEP = {
    "curve": "mine",
    "cpu_ns": WINDOW,
    "window_ns": WINDOW,
    "scheduled_ns": 0,
    "repeat_count": 1,
}


def polls_of(
    work: list[int], ns: list[float] | None = None, device: str = "eth0", has_work: bool = True
) -> pd.DataFrame:
    own = ns if ns is not None else [FIXED + MARGINAL * size for size in work]
    return pd.DataFrame(
        {
            "cpu": 0,
            "device": device,
            "start_ns": pd.array(range(len(work)), dtype="Int64"),
            "work": pd.array(work if has_work else [pd.NA] * len(work), dtype="Int64"),
            "self_ns": pd.array(np.round(own), dtype="Int64"),
        }
    )


def gathered(work: list[int], ns: list[float] | None = None, has_work: bool = True) -> Gathered:
    return gathered_from(polls_of(work, ns, has_work=has_work), int(CORE), int(IRQ))


def test_a_line_without_scatter_comes_back_exactly() -> None:
    row = costs_from(gathered(list(range(1, 65)) * 10)).iloc[0]
    assert row["fixed_ns"] == pytest.approx(FIXED)
    assert row["marginal_ns"] == pytest.approx(MARGINAL)
    assert row["r_squared"] == pytest.approx(1)
    assert row[["fixed_low_ns", "fixed_high_ns"]].tolist() == pytest.approx([FIXED, FIXED])
    around = row[["outside_polls_per_poll_ns", "irq_per_poll_ns", "irqs_per_poll"]]
    assert around.tolist() == [CORE, IRQ, 1]
    assert (row["polls"], row["packets"], row["distinct_batches"]) == (640, 640 * 32.5, 64)
    assert row[["refused", "doubt", "why"]].isna().all()


# Twice nothing, 3, 5, 10, 2: 5.0, whoever says it.
def test_a_mean_batch_is_of_polls_that_received_any() -> None:
    work = [0, 3, 5, 0, 10, 2]
    costs = costs_from(gathered(work))
    assert costs["batch_mean"].tolist() == [5.0]
    polls = polls_of(work).assign(budget=pd.array([64] * 6, dtype="Int64"))
    assert mean_batch(by_work(sizes_of(counted(polls)))) == 5.0
    steps = pd.DataFrame([{**STEP, "bundle": "b"}])
    table = curve_from(steps, summed(gathered(work)).assign(bundle="b"))
    assert table["batch_mean"].tolist() == [5.0]


# Polls of 1 and 2 packets at half of what the line through all of them says, as those that the
# emulated NIC of nic-stolen-time takes.
def test_a_line_beside_the_polls_is_doubted() -> None:
    draw = np.random.default_rng(3)
    work = list(draw.permutation([1] * 400 + [2] * 200 + [8] * 1_500 + [16] * 500 + [64] * 200))
    took = {1: 20_000, 2: 26_000, 8: 107_000, 16: 234_000, 64: 560_000}
    bent = gathered(work, [took[one] * draw.uniform(0.8, 1.2) for one in work])
    row = costs_from(bent).iloc[0]
    assert row["fixed_low_ns"] > 0
    assert row["doubt"] == "not straight"
    assert "no straight line" in row["why"]
    assert packets_from(bent).empty
    # Ten polls beside the line are not enough to say so.
    few = [*list(range(8, 65)) * 20, *[1] * 10]
    beside = gathered(few, [100_000.0 if one == 1 else FIXED + MARGINAL * one for one in few])
    assert costs_from(beside).iloc[0]["doubt"] != "not straight"


def test_what_cannot_be_told_is_refused() -> None:
    assert costs_from(gathered([])).empty
    unknown = costs_from(gathered([1] * 300, has_work=False)).iloc[0]
    assert (unknown["refused"], unknown["polls"]) == ("no work field", 300)
    assert pd.isna(unknown["packets"])
    for work, reason in (
        ([1] * 199, ("199 polls", "needs 200")),
        ([1] * 400, ("1 size", "needs 5")),
        ([1, 2, 3, 4] * 100, ("4 sizes", "needs 5")),
        ([60, 61, 62, 63, 64] * 100, ("2.3 %", "20.0 %")),
        ([0] * 1_000, ("0 polls", "needs 200")),
    ):
        table = costs_from(gathered(work))
        assert not [fact for fact in reason if fact not in table["why"].iloc[0]], work
        assert table[["fixed_ns", "marginal_low_ns", "r_squared"]].isna().all(axis=None)
        # What is measured is told all the same.
        assert table["outside_polls_per_poll_ns"].iloc[0] == CORE
        assert packets_from(gathered(work)).empty


def test_empty_polls_are_in_no_line() -> None:
    work = list(range(1, 65)) * 10
    took = [*(FIXED + MARGINAL * np.array(work)), *[50.0] * 200]
    row = costs_from(gathered([*work, *[0] * 200], took)).iloc[0]
    assert row["fixed_ns"] == pytest.approx(FIXED)
    assert (row["empty_polls"], row["empty_poll_ns"]) == (200, 50)


@pytest.mark.parametrize(
    ("ns", "refused"),
    [(lambda n: n * n * 30, "fixed below 0"), (lambda n: 90_000 - n * 30, "marginal below 0")],
)
def test_a_cost_below_zero_is_refused_and_costs_no_packet(
    ns: Callable[[int], int], refused: str
) -> None:
    work = list(range(1, 65)) * 10
    sloped = gathered(work, [float(ns(size)) for size in work])
    row = costs_from(sloped).iloc[0]
    assert row["refused"] == refused
    assert row[["fixed_ns", "marginal_ns", "r_squared", "doubt"]].isna().all()
    assert packets_from(sloped).empty


# 600 ns a packet, and neighbouring polls alike: what they share moves the fixed part about.
def stretches(fixed: float, spread: float) -> Gathered:
    draw = np.random.default_rng(3)
    work = draw.integers(1, 33, 800)
    level = np.repeat(draw.normal(0, spread, 40), 20)
    return gathered(list(work), list(600 * work + fixed + level + draw.normal(0, 50, 800)))


def test_an_estimate_below_zero_is_refused_however_wide_its_interval() -> None:
    work = stretches(-1_500, 3_000)
    assert costs_from(work).iloc[0]["refused"] == "fixed below 0"
    assert packets_from(work).empty


# A fixed part that may be below 0 and is not: a price cannot be.
def test_no_price_reaches_below_zero() -> None:
    work = stretches(-1_700, 6_000)
    row = costs_from(work).iloc[0]
    assert row["fixed_low_ns"] < -1_020
    assert row["fixed_ns"] > 0
    prices = packets_from(work, sizes=(1, 64))
    assert prices["packet_low_ns"].min() == 0
    assert (prices["packet_low_ns"] <= prices["packet_ns"]).all()


# In the table and in the headline a packet has one price.
def test_a_packet_shares_what_surrounds_its_batch() -> None:
    work = gathered(list(range(2, 65)) * 10)
    headline = alone_and_together(costs_from(work).iloc[0])
    assert list(headline.values()) == pytest.approx([2_320, 64, 430])
    table = packets_from(work, sizes=(1, 10, 64, 100)).set_index("batch")
    for size in table.index:
        expected = (IRQ + CORE + FIXED) / size + MARGINAL
        assert table.loc[size, "packet_ns"] == pytest.approx(expected)
        assert table.loc[size, "fixed_share"] == pytest.approx(1 - MARGINAL / expected)
    assert table["seen"].tolist() == [False, True, True, False]
    assert (table["packet_low_ns"] <= table["packet_ns"]).all()
    assert (table["packet_ns"] <= table["packet_high_ns"] + 1e-6).all()


def test_interrupts_of_the_devices_own_lines_are_counted_whole() -> None:
    work = gathered(list(range(1, 65)) * 10)
    owner = {"cpu": [0, 1, 0], "device": ["eth0", "eth0", "eth1"]}
    lines = pd.DataFrame({**owner, "irqs": [640, 64, 9], "irq_ns": [64_000, 6_400, 9]})
    row = costs_from(work._replace(lines=lines)).iloc[0]
    assert row["irqs_per_poll"] == pytest.approx(1 + 704 / 640)
    assert row["irq_per_poll_ns"] == pytest.approx(IRQ + 110)
    of_cpu = costs_from(work._replace(lines=lines), by="cpu").iloc[0]
    assert (of_cpu["cpu"], of_cpu["irqs_per_poll"]) == (0, pytest.approx(2))


def curve(*steps: tuple[str, int, int]) -> pd.DataFrame:
    # Steps: name, batch, polls; each poll at its cost, in a second of one CPU. Half of the batches
    # are one smaller and half one larger, but for those of one.
    rows, parts = [], []
    for name, batch, number in steps:
        work = [batch - 1, batch + 1] * (number // 2) if batch > 1 else [1] * number
        parts.append(summed(gathered(work)).assign(bundle=name))
        rows.append({**STEP, "bundle": name})
    return curve_from(pd.DataFrame(rows), pd.concat(parts, ignore_index=True)).set_index("bundle")


# Of an experiment that repeats a rate: not three points of which the curve falls and rises.
def test_repeats_at_one_rate_are_one_step(tmp_path: Path) -> None:
    costs = {1: 1_000, 2: 2_000, 3: 4_000}
    repeats = [Told(repeat=number, packet_ns=cost) for number, cost in costs.items()]
    fast = Told(rate=20_000, repeat=1)
    together = rate_curve(sweep(tmp_path / "all", *repeats, fast))
    assert together["repeat_count"].tolist() == [3, 1]
    assert together["bundle"].tolist() == [repeats[0].name, fast.name]
    shares = [
        rate_curve(sweep(tmp_path / one.name, one))["receive_share"].iloc[0] for one in repeats
    ]
    assert together["receive_share"].iloc[0] == pytest.approx(np.mean(shares))
    assert together["rate_per_s"].tolist() == pytest.approx([10_000, 20_000], rel=0.01)


def test_a_step_is_predicted_from_the_others() -> None:
    table = curve(("slow", 1, 1_000), ("fast", 10, 1_000), ("faster", 40, 1_000))
    assert table["rate_per_s"].tolist() == [1_000, 10_000, 40_000]
    assert table["batch_mean"].tolist() == [1, 10, 40]
    around = FIXED + CORE + IRQ
    shares = [(around + MARGINAL * size) * 1_000 / WINDOW for size in (1, 10, 40)]
    assert table["receive_share"].tolist() == pytest.approx(shares)
    assert table["expected_share"].tolist() == pytest.approx(shares)
    assert table["marginal_share"].tolist() == pytest.approx(
        [MARGINAL * size * 1_000 / WINDOW for size in (1, 10, 40)]
    )
    # Had each packet come alone.
    assert table["unbatched_share"].tolist() == pytest.approx(
        [(around + MARGINAL) * rate / WINDOW for rate in (1_000, 10_000, 40_000)]
    )
    assert table["packet_part_ns"].tolist() == pytest.approx([MARGINAL] * 3)
    assert table["poll_part_ns"].tolist() == pytest.approx([around] * 3)
    parts = table[["poll_share", "outside_polls_share", "interrupt_share"]].sum(axis=1)
    assert parts.tolist() == pytest.approx(shares)


def test_flatness_is_one_minus_the_elasticity() -> None:
    table = curve(("slow", 1, 1_000), ("same batch", 1, 2_000), ("as many polls", 11, 2_000))
    # The same batch: twice the packets cost twice as much.
    grown = table.loc["same batch", ["rate_growth", "share_growth", "batch_growth"]]
    assert grown.tolist() == [2, pytest.approx(2), 1]
    assert table.loc["same batch", "flatness"] == pytest.approx(0)
    row = table.loc["as many polls"]
    assert row["flatness"] == pytest.approx(1 - np.log(row["share_growth"]) / np.log(11))
    assert 0.4 < row["flatness"] < 1
    assert np.isnan(table.loc["slow", "flatness"])


def test_what_other_steps_do_not_tell_is_not_predicted() -> None:
    table = curve(("one", 1, 1_000), ("other", 1, 2_000))
    # No step has batches of two sizes: neither tells fixed from marginal.
    assert table["expected_share"].isna().all()
    assert curve(("alone", 10, 1_000))["expected_share"].isna().all()
    # Batches of 30 and 32, of 31 and 33: a line through these says nothing of other batches.
    alike = curve(("a", 31, 1_000), ("b", 32, 2_000), ("c", 32, 4_000))
    assert alike["expected_share"].isna().all()

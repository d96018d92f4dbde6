# What polls and packets cost, and the curve over rates: known costs come back, and what cannot be
# known is refused.

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import netcost_analysis as netcost
from support.asked import device_batches, packet_costs, poll_costs, rate_curve
from support.perfdata import happenings as h
from support.perfdata import tracepoints as t
from support.sweeps import AROUND_NS, Told, sweep
from support.told import NET_RX, drawn, irq, softirq

IRQ, CORE, FIXED, MARGINAL = 300, 120, 1_500, 400
SIZES = list(range(1, 65)) * 10


def polled(
    path: Path, work: Sequence[int], ns: Sequence[float] = (), idle_irqs: int = 0, **settings: Any
) -> netcost.Timeline:
    # Polls of eth0, each in a softirq of its own, which spends CORE besides and was raised by an
    # interrupt of IRQ. idle_irqs: so many more interrupts of its line raise nothing, of 100 ns
    # each.
    at, story = 1_000, []
    for place, size in enumerate(work):
        end = at + IRQ + round(ns[place] if len(ns) else FIXED + MARGINAL * size)
        story += irq(at, at + IRQ, h.SoftirqRaise(at, NET_RX), name="eth0-rx")
        story += softirq(at + IRQ, end + CORE, h.NapiPoll(end, "eth0", int(size)))
        at = end + CORE + 1_000
    for _ in range(idle_irqs):
        story += irq(at, at + 100, name="eth0-rx")
        at += 200
    path.mkdir(exist_ok=True)
    return drawn(path, *story, until_ns=at, **settings)


def test_a_line_without_scatter_comes_back_exactly(tmp_path: Path) -> None:
    row = poll_costs(polled(tmp_path, SIZES)).iloc[0]
    expected = {
        "fixed_ns": FIXED,
        "fixed_low_ns": FIXED,
        "fixed_high_ns": FIXED,
        "r_squared": 1,
        "marginal_ns": MARGINAL,
        "polls": 640,
        "packets": 640 * 32.5,
        "distinct_batches": 64,
        "outside_polls_per_poll_ns": CORE,
        "irq_per_poll_ns": IRQ,
        "irqs_per_poll": 1,
    }
    assert row[list(expected)].to_dict() == pytest.approx(expected)
    assert row[["refused", "doubt", "why"]].isna().all()


def test_empty_polls_are_in_no_line_and_no_mean_batch(tmp_path: Path) -> None:
    took = [*(FIXED + MARGINAL * np.array(SIZES)), *[50] * 200]
    timeline = polled(tmp_path, [*SIZES, *[0] * 200], took)
    row = poll_costs(timeline).iloc[0]
    assert row["fixed_ns"] == pytest.approx(FIXED)
    assert (row["empty_polls"], row["empty_poll_ns"]) == (200, 50)
    assert row["batch_mean"] == device_batches(timeline)["batch_mean"].iloc[0] == 32.5
    assert timeline.ask("net_rx_totals")["batch_mean"] == 32.5


def test_all_interrupts_of_the_devices_own_line_are_counted(tmp_path: Path) -> None:
    timeline = polled(tmp_path, SIZES, idle_irqs=64)
    for by in ("device", "cpu"):
        row = poll_costs(timeline, by=by).iloc[0]
        assert row["irqs_per_poll"] == pytest.approx(1.1)
        assert row["irq_per_poll_ns"] == pytest.approx(IRQ + 10)


# Polls of 1 and 2 packets at half of what the line through all of them says, as those that the
# emulated NIC of nic-stolen-time takes.
def test_a_line_beside_the_polls_is_doubted(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    work = draw.permutation([1] * 400 + [2] * 200 + [8] * 1_500 + [16] * 500 + [64] * 200).tolist()
    took = {1: 20_000, 2: 26_000, 8: 107_000, 16: 234_000, 64: 560_000}
    timeline = polled(tmp_path, work, [took[one] * draw.uniform(0.8, 1.2) for one in work])
    row = poll_costs(timeline).iloc[0]
    assert row["fixed_low_ns"] > 0
    assert row["doubt"] == "not straight"
    assert "straight line" in row["why"]
    assert packet_costs(timeline).empty
    # Ten polls beside the line are not enough to say so.
    few = [*list(range(8, 65)) * 20, *[1] * 10]
    took_few = [100_000 if one == 1 else FIXED + MARGINAL * one for one in few]
    assert poll_costs(polled(tmp_path, few, took_few))["doubt"].iloc[0] != "not straight"


@pytest.mark.parametrize(
    ("work", "refused", "figures"),
    [
        ([1] * 199, "few polls", ("199 polls", "needs 200")),
        ([0] * 300, "few polls", ("0 polls", "needs 200")),
        ([1] * 400, "few sizes", ("1 size", "needs 5")),
        ([1, 2, 3, 4] * 100, "few sizes", ("4 sizes", "needs 5")),
        ([60, 61, 62, 63, 64] * 100, "similar sizes", ("2.3 %", "20.0 %")),
        (None, "no work field", ()),
    ],
)
def test_without_evidence_for_a_line_it_is_refused(
    tmp_path: Path, work: list[int] | None, refused: str, figures: tuple[str, ...]
) -> None:
    old = tuple(t.NAPI_POLL_OLD if one is t.NAPI_POLL else one for one in t.FORMATS)
    timeline = polled(tmp_path, work or [1] * 300, formats=t.FORMATS if work else old)
    row = poll_costs(timeline).iloc[0]
    assert row["refused"] == refused
    assert [fact for fact in figures if fact not in row["why"]] == []
    assert row[["fixed_ns", "marginal_low_ns", "r_squared"]].isna().all()
    # What is measured is there all the same.
    assert row["outside_polls_per_poll_ns"] == CORE
    assert pd.isna(row["packets"]) == (work is None)
    assert packet_costs(timeline).empty


@pytest.mark.parametrize(
    ("took", "refused"),
    [(lambda n: n * n * 30, "fixed below 0"), (lambda n: 90_000 - n * 30, "marginal below 0")],
)
def test_a_cost_below_zero_is_refused_and_costs_no_packet(
    tmp_path: Path, took: Callable[[int], int], refused: str
) -> None:
    timeline = polled(tmp_path, SIZES, [took(size) for size in SIZES])
    row = poll_costs(timeline).iloc[0]
    assert row["refused"] == refused
    assert row[["fixed_ns", "marginal_ns", "r_squared", "doubt"]].isna().all()
    assert packet_costs(timeline).empty


# 600 ns a packet, and neighbouring polls alike: what they share moves the fixed part about.
def test_no_price_reaches_below_zero(tmp_path: Path) -> None:
    def alike(seed: int) -> netcost.Timeline:
        draw = np.random.default_rng(seed)
        work = draw.integers(24, 65, 800)
        shared = np.repeat(draw.uniform(-10_000, 10_000, 40), 20)
        return polled(tmp_path / str(seed), work.tolist(), (600 * work + 900 + shared).tolist())

    # An estimate below 0 is refused however wide its interval.
    assert poll_costs(alike(3))["refused"].iloc[0] == "fixed below 0"
    # A fixed part may be below 0, and a price cannot.
    timeline = alike(4)
    row = poll_costs(timeline).iloc[0]
    assert row["fixed_low_ns"] < -1_020
    assert row["fixed_ns"] > 0
    prices = packet_costs(timeline, sizes=(1, 64))
    assert prices["packet_low_ns"].min() == 0
    assert (prices["packet_low_ns"] <= prices["packet_ns"]).all()


# In the table and in the headline a packet has one price.
def test_a_packet_shares_what_surrounds_its_batch(tmp_path: Path) -> None:
    timeline = polled(tmp_path, list(range(2, 65)) * 10)
    headline = timeline.ask("net_rx_totals")
    prices = [headline[name] for name in ("alone_ns", "together", "together_ns")]
    assert prices == pytest.approx([2_320, 64, 430])
    table = packet_costs(timeline, sizes=(1, 10, 64, 100)).set_index("batch")
    expected = (IRQ + CORE + FIXED) / table.index.to_numpy() + MARGINAL
    assert table["packet_ns"].tolist() == pytest.approx(expected)
    assert table["fixed_share"].tolist() == pytest.approx(1 - MARGINAL / expected)
    assert table["seen"].tolist() == [False, True, True, False]
    assert (table["packet_low_ns"] <= table["packet_ns"] + 1e-6).all()
    assert (table["packet_ns"] <= table["packet_high_ns"] + 1e-6).all()


# Of an experiment that repeats a rate: not three points of which the curve falls and rises.
def test_repeats_at_one_rate_are_one_step(tmp_path: Path) -> None:
    costs = {1: 1_000, 2: 2_000, 3: 4_000}
    repeats = [Told(repeat=number, packet_ns=cost) for number, cost in costs.items()]
    fast = Told(rate=20_000, repeat=1)
    together = rate_curve(sweep(tmp_path / "all", *repeats, fast))
    assert together["repeat_count"].tolist() == [3, 1]
    assert together["bundle"].tolist() == [repeats[0].name, fast.name]
    shares = [(one.poll_ns + AROUND_NS) / one.period_ns for one in repeats]
    assert together["receive_share"].iloc[0] == pytest.approx(np.mean(shares), rel=0.01)
    assert together["rate_per_s"].tolist() == pytest.approx([10_000, 20_000], rel=0.01)


def curve(folder: Path, *steps: tuple[int, int]) -> tuple[list[Told], pd.DataFrame]:
    # Steps: rate and batch.
    told = [Told(rate=rate, batch=batch) for rate, batch in steps]
    return told, rate_curve(sweep(folder, *told))


def test_a_step_is_predicted_from_the_others(tmp_path: Path) -> None:
    told, table = curve(tmp_path / "s", (1_000, 1), (10_000, 10), (40_000, 40))
    assert table["rate_per_s"].tolist() == pytest.approx([1_000, 10_000, 40_000])
    assert table["batch_mean"].tolist() == [1, 10, 40]
    around = Told.fixed_ns + AROUND_NS
    rates = np.array([one.rate for one in told])
    shares = [(one.poll_ns + AROUND_NS) / one.period_ns for one in told]
    parts = table[["poll_share", "outside_polls_share", "interrupt_share"]].sum(axis=1)
    for values in (table["receive_share"], table["expected_share"], parts):
        assert values.tolist() == pytest.approx(shares)
    marginal = [Told.packet_ns * one.batch / one.period_ns for one in told]
    assert table["marginal_share"].tolist() == pytest.approx(marginal)
    # Had each packet come alone.
    alone = (around + Told.packet_ns) * rates / 1e9
    assert table["unbatched_share"].tolist() == pytest.approx(alone)
    assert table["packet_part_ns"].tolist() == pytest.approx([Told.packet_ns] * 3)
    assert table["poll_part_ns"].tolist() == pytest.approx([around] * 3)


def test_flatness_is_one_minus_the_elasticity(tmp_path: Path) -> None:
    _, table = curve(tmp_path / "s", (1_000, 1), (2_000, 1), (22_000, 11))
    slow, same_batch, as_many_polls = table.to_dict("records")
    # The same batch: twice the packets cost twice as much.
    grown = [same_batch[f"{name}_growth"] for name in ("rate", "share", "batch")]
    assert grown == pytest.approx([2, 2, 1])
    assert same_batch["flatness"] == pytest.approx(0)
    elasticity = np.log(as_many_polls["share_growth"]) / np.log(11)
    assert as_many_polls["flatness"] == pytest.approx(1 - elasticity)
    assert 0.4 < as_many_polls["flatness"] < 1
    assert np.isnan(slow["flatness"])


# No step has batches of two sizes, there is no other step, or batches are so much alike that a line
# through them says nothing of others.
@pytest.mark.parametrize(
    "steps", [[(1_000, 1), (2_000, 1)], [(10_000, 10)], [(1_000, 31), (2_000, 32), (4_000, 33)]]
)
def test_what_other_steps_do_not_show_is_not_predicted(
    tmp_path: Path, steps: list[tuple[int, int]]
) -> None:
    assert curve(tmp_path / "s", *steps)[1]["expected_share"].isna().all()

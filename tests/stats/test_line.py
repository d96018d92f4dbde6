# The line through polls: the truth lies in its intervals as often as they say.

import numpy as np
import pytest

from netcost_analysis.stats.line import Line, Parts, kinds, line_of
from netcost_analysis.stats.resampling import Floats, Ints, middle

FIXED, MARGINAL = 1_500.0, 400.0


def scattered(count: int = 4_000, seed: int = 1) -> tuple[Ints, Ints]:
    draw = np.random.default_rng(seed)
    work = draw.integers(1, 65, count)
    # As polls do: the larger the more they scatter, and neighbours alike.
    drift = np.repeat(draw.normal(0, 300, count // 20), 20)
    return work, whole(FIXED + MARGINAL * work + draw.normal(0, 20 * work) + drift)


def fit(work: Ints, ns: Ints) -> Line:
    sums = np.stack([np.ones_like(work), work, ns, work * work, work * ns], axis=1)
    squares = float((ns.astype("float64") ** 2).sum())
    return line_of(Parts(np.arange(len(work)), kinds(work), sums, squares, np.unique(work)))


def whole(ns: Floats) -> Ints:
    return np.round(ns).astype("int64")


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = []
    for seed in range(60):
        line = fit(*scattered(1_500, seed))
        (low, high), (least, most) = middle(line.fixed), middle(line.marginal)
        held.append((low <= FIXED <= high, least <= MARGINAL <= most))
    # 95 % of 60 are 57; fewer than 50 would be had by chance once in some thousand times.
    assert np.min(np.sum(held, axis=0)) >= 50


# What 50 neighbours share, in 40 stretches of 75: shorter stretches took it for independent.
def test_intervals_hold_what_many_neighbours_share() -> None:
    held = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        work = draw.integers(1, 65, 3_000)
        shared = np.repeat(draw.normal(0, 1_500, 60), 50)
        line = fit(work, whole(FIXED + MARGINAL * work + draw.normal(0, 20 * work) + shared))
        low, high = middle(line.fixed)
        held += low <= FIXED <= high
    assert held >= 50


def test_a_straight_line_is_not_called_bent() -> None:
    lines = (scattered(1_500, seed) for seed in range(60))
    assert not any(fit(work, ns).bent for work, ns in lines)


def test_the_line_adds_up_to_the_polls() -> None:
    work, ns = scattered()
    line = fit(work, ns)
    total = line.fixed_ns * len(work) + line.marginal_ns * work.sum()
    assert total == pytest.approx(ns.sum(), rel=1e-9)


def test_the_same_polls_have_the_same_intervals() -> None:
    first, second = (fit(*scattered()) for _ in range(2))
    assert (first.fixed == second.fixed).all()

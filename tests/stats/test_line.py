# Least squares against numpy's. The line through polls: the truth lies in its intervals as often as
# they say.

import numpy as np
import pytest

from netcost_analysis.stats.line import Line, Parts, coefficients, kinds, line_by_sums, line_of
from netcost_analysis.stats.resampling import Ints, middle

DICE = np.random.default_rng(1)
X = DICE.uniform(1, 9, 40)
Y = 3 + 2 * X + DICE.normal(0, 1, 40)


def test_sums_of_parts_are_the_line_of_the_whole() -> None:
    slope, constant = np.polyfit(X, Y, 1)
    for centre in (0.0, 5.0):
        x = X - centre
        parts = np.stack([np.ones(40), x, Y, x * x, x * Y])
        sums = parts[:, :15].sum(axis=1) + parts[:, 15:].sum(axis=1)
        assert line_by_sums(sums, centre) == pytest.approx((constant, slope))
    # Where x does not vary there is no line.
    assert np.isnan(line_by_sums(np.array([2.0, 6.0, 5.0, 18.0, 15.0]))).all()


def test_weights_repeat_rows() -> None:
    causes = np.column_stack([X, DICE.uniform(1, 9, 40)])
    often = DICE.integers(0, 3, 40)
    rows = np.repeat(np.arange(40), often)
    wanted, *_ = np.linalg.lstsq(causes[rows], Y[rows], rcond=None)
    found = coefficients(causes, Y, np.stack([often, np.zeros(40)]).astype(float))
    assert found[0] == pytest.approx(wanted)
    assert np.isnan(found[1]).all()


def test_what_is_unknown_is_left_out() -> None:
    causes, effect = np.array([[1.0], [np.nan], [2.0], [3.0]]), np.array([5.0, 1.0, 10.0, np.nan])
    assert coefficients(causes, effect, np.ones((1, 4))) == pytest.approx(5.0)
    assert np.isnan(coefficients(causes[1:2], effect[1:2], np.ones((1, 1)))).all()


FIXED, MARGINAL = 1_500.0, 400.0


# As polls do: the larger the more they scatter, and so many neighbours alike.
def scattered(count: int, shared_by: int, shared: float, seed: int = 1) -> tuple[Ints, Ints]:
    draw = np.random.default_rng(seed)
    work = draw.integers(1, 65, count)
    drift = np.repeat(draw.normal(0, shared, count // shared_by), shared_by)
    ns = FIXED + MARGINAL * work + draw.normal(0, 20 * work) + drift
    return work, np.round(ns).astype("int64")


def fit(work: Ints, ns: Ints) -> Line:
    sums = np.stack([np.ones_like(work), work, ns, work * work, work * ns], axis=1)
    squares = float((ns.astype("float64") ** 2).sum())
    return line_of(Parts(np.arange(len(work)), kinds(work), sums, squares, np.unique(work)))


# 95 % of 60 are 57; fewer than 50 would be had by chance once in some thousand times. What 50
# neighbours share is in 40 stretches of 75: shorter stretches took it for independent.
@pytest.mark.parametrize(("count", "shared_by", "shared"), [(1_500, 20, 300), (3_000, 50, 1_500)])
def test_intervals_hold_the_truth_as_often_as_they_say(
    count: int, shared_by: int, shared: float
) -> None:
    held = []
    for seed in range(60):
        line = fit(*scattered(count, shared_by, shared, seed))
        (low, high), (least, most) = middle(line.fixed), middle(line.marginal)
        held.append((low <= FIXED <= high, least <= MARGINAL <= most))
        # A straight line is not called bent.
        assert line.bent is None or shared_by == 50
    assert np.min(np.sum(held, axis=0)) >= 50


def test_the_line_adds_up_to_the_polls_and_is_the_same_again() -> None:
    work, ns = scattered(4_000, 20, 300)
    line, again = fit(work, ns), fit(work, ns)
    total = line.fixed_ns * len(work) + line.marginal_ns * work.sum()
    assert total == pytest.approx(ns.sum(), rel=1e-9)
    assert (line.fixed == again.fixed).all()

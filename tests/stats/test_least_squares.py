# Least squares against numpy's.

import numpy as np
import pytest

from netcost_analysis.stats.least_squares import coefficients, line_by_sums

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

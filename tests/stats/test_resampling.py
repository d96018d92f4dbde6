# Intervals of resamples against those that follow from theory.

import numpy as np
import pytest
from scipy import stats

from netcost_analysis.stats.resampling import drawn, middle, reach, tail, wider


# One that scipy computes of a mean: its standard error is of n - 1, that of resamples of n.
@pytest.mark.parametrize("number", [2, 5, 40])
def test_the_interval_of_a_mean_is_students(number: int) -> None:
    values = np.random.default_rng(number).normal(7, 2, number)
    low, high = stats.t.interval(0.95, number - 1, values.mean(), stats.sem(values))
    width = reach(number) * values.std() / np.sqrt(number)
    assert (values.mean() - width, values.mean() + width) == pytest.approx((low, high))
    # As a factor of the normal distribution's, and as a place in it.
    assert wider(number) * stats.norm.ppf(0.975) == pytest.approx(reach(number))
    assert stats.norm.isf(tail(number)) == pytest.approx(reach(number))


def test_resamples_scatter_as_a_mean_does() -> None:
    values = np.random.default_rng(1).normal(7, 2, 30)
    draws = drawn(30, 4_000, np.random.default_rng(2))
    assert draws.shape == (4_000, 30)
    assert (draws.sum(axis=1) == 30).all()
    means = draws @ values / 30
    assert means.std() == pytest.approx(values.std() / np.sqrt(30), rel=0.05)
    assert (draws == drawn(30, 4_000, np.random.default_rng(2))).all()


def test_the_middle_leaves_out_both_ends_and_the_unknown() -> None:
    values = np.append(np.arange(1_001.0), [np.nan] * 500)
    assert middle(values) == pytest.approx((25, 975))
    assert middle(values, 0.1) == pytest.approx((100, 900))
    assert np.isnan(middle(np.full(3, np.nan))).all()

# Intervals of counts, by values that were published and by what they promise.

import numpy as np
import pytest

from netcost_analysis.stats.counts import count_interval, ratio_interval, share_interval


# R. G. Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3.
@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_share_has_wilsons_interval(count: int, of: int, low: float, high: float) -> None:
    ends = share_interval(count, of)
    assert [float(end) for end in ends] == pytest.approx([low, high], abs=5e-5)


def test_a_share_of_nothing_is_not_known() -> None:
    assert np.isnan(share_interval([0, 0], 0)).all()


# The interval of a share and of what is left of it are each other's mirror, and hold the share.
def test_shares_hold_theirs_within_0_and_1() -> None:
    count = np.arange(51)
    low, high = share_interval(count, 50)
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    assert (low >= 0).all()
    assert (high <= 1).all()
    assert (low <= count / 50).all()
    assert (count / 50 <= high).all()


# More counted than there is, by an effective size that is rounded: the share is 1.
def test_a_count_above_the_whole_is_the_whole() -> None:
    assert share_interval(7.0000001, 7)[1] == share_interval(7, 7)[1] == 1


# The score interval's ends are where the count is 1.96 standard deviations from the mean.
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_the_mean_of_a_count_has_the_score_interval(count: int) -> None:
    for end in map(float, count_interval(count)):
        assert abs(count - end) / np.sqrt(end) == pytest.approx(1.959964, abs=1e-6)


def test_nothing_counted_has_a_highest_mean() -> None:
    low, high = count_interval(0)
    assert (float(low), float(high)) == pytest.approx((0, 1.959964**2), abs=1e-5)


# How often the interval holds the mean: 95 of 100 samples, give or take.
@pytest.mark.parametrize("mean", [3.0, 30.0])
def test_the_interval_of_a_count_covers(mean: float) -> None:
    counts = np.random.default_rng(1).poisson(mean, 20_000)
    low, high = count_interval(counts)
    assert 0.93 < ((low <= mean) & (mean <= high)).mean() < 0.985


# Two Poisson counts: the interval of their ratio is where the share of the first is as far off.
@pytest.mark.parametrize(("first", "second"), [(10, 20), (50, 50), (1, 300), (300, 1)])
def test_interval_of_a_ratio(first: int, second: int) -> None:
    (low, high), share = ratio_interval(first, second), share_interval(first, first + second)
    assert (low / (1 + low), high / (1 + high)) == pytest.approx(share)
    assert low < first / second < high
    # Upside down it is the same.
    assert ratio_interval(second, first) == pytest.approx((1 / high, 1 / low))


def test_a_ratio_over_nothing_is_unknown() -> None:
    low, high = ratio_interval([0, 5, 0], [0, 0, 7])
    assert np.isnan(low[:2]).all()
    assert np.isnan(high[:2]).all()
    assert low[2] == 0
    assert 0 < high[2] < 1


# Of many pairs of counts 95 in a hundred hold the ratio of their means.
def test_ratios_hold_what_they_came_of() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.poisson(12, 4000), rng.poisson(30, 4000)
    low, high = ratio_interval(first, second)
    assert np.mean((low <= 0.4) & (high >= 0.4)) == pytest.approx(0.95, abs=0.015)

# Intervals of counts, by values that were published and by what they promise.

import numpy as np
import pytest

from netcost_analysis.stats.counts import (
    count_interval,
    difference_interval,
    ratio_interval,
    share_interval,
)


# R. G. Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3.
def test_the_share_has_wilsons_interval() -> None:
    count, of = [81, 15, 0, 1], [263, 148, 20, 29]
    low, high = share_interval(count, of)
    assert low == pytest.approx([0.2553, 0.0624, 0.0000, 0.0061], abs=5e-5)
    assert high == pytest.approx([0.3662, 0.1605, 0.1611, 0.1718], abs=5e-5)
    assert np.isnan(share_interval([0, 0], 0)).all()
    # More counted than there is, by an effective size that is rounded: the share is 1.
    assert share_interval(7.0000001, 7)[1] == share_interval(7, 7)[1] == 1


# The interval of a share and of what is left of it are each other's mirror, and hold the share.
def test_shares_hold_theirs_within_0_and_1() -> None:
    count = np.arange(51)
    low, high = share_interval(count, 50)
    np.testing.assert_allclose(low, 1 - high[::-1], atol=1e-12)
    assert ((low >= 0) & (low <= count / 50) & (count / 50 <= high) & (high <= 1)).all()


# The score interval's ends are where the count is 1.96 standard deviations from the mean.
def test_the_mean_of_a_count_has_the_score_interval() -> None:
    count = np.array([1, 10, 1000])
    for end in count_interval(count):
        assert abs(count - end) / np.sqrt(end) == pytest.approx(1.959964, abs=1e-6)
    assert count_interval(0) == pytest.approx((0, 1.959964**2), abs=1e-5)


# Two Poisson counts: the interval of their ratio is where the share of the first is as far off.
def test_the_interval_of_a_ratio_is_that_of_a_share() -> None:
    first, second = np.array([10, 50, 1, 300]), np.array([20, 50, 300, 1])
    low, high = ratio_interval(first, second)
    np.testing.assert_allclose(
        (low / (1 + low), high / (1 + high)), share_interval(first, first + second)
    )
    assert ((low < first / second) & (first / second < high)).all()
    # Upside down it is the same.
    np.testing.assert_allclose(ratio_interval(second, first), (1 / high, 1 / low))
    low, high = ratio_interval([0, 5, 0], [0, 0, 7])
    assert np.isnan([low[:2], high[:2]]).all()
    assert low[2] == 0 < high[2] < 1


# Of counts drawn at random 95 in a hundred intervals hold what they came of.
@pytest.mark.parametrize(("first", "second"), [(3, 3), (20, 20), (5, 50), (30, 12), (200, 100)])
def test_intervals_hold_what_counts_came_of(first: float, second: float) -> None:
    draw = np.random.default_rng(3)
    counts = [draw.poisson(mean, 20_000).astype(float) for mean in (first, second)]
    one, other = ((count, *count_interval(count)) for count in counts)
    for (low, high), truth in (
        (one[1:], first),
        (difference_interval(one, other), second - first),
        (ratio_interval(*counts), first / second),
    ):
        known = ~np.isnan(low)
        held = np.mean(((low <= truth) & (truth <= high))[known])
        assert 0.93 < held < (0.985 if min(first, second) < 5 else 0.965)

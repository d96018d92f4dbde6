# Intervals of resamples against those that follow from theory; the exact test against scipy's, and
# its intervals against all that it rejects one by one.

from math import comb

import numpy as np
import pytest
from scipy import stats

from netcost_analysis.stats.resampling import (
    CHANCE,
    Floats,
    Judged,
    drawn,
    least_chance,
    middle,
    of_sides,
    of_signs,
    one_side,
    reach,
    tail,
    two_sides,
    wider,
)


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


ONES = np.ones(6)


def observed(seed: int, count: int, kind: str) -> tuple[Floats, Floats]:
    draw = np.random.default_rng(seed)
    if kind == "tied":
        return draw.integers(1, 4, count).astype("float64"), np.ones(count)
    if kind == "blocks":
        work = draw.poisson(50, count).astype("float64")
        return work * np.exp(draw.normal(0, 0.2, count)), work
    return draw.normal(100, 5, count), np.ones(count)


# Of the same observations scipy goes through the same orders.
def scipys(base: tuple[Floats, Floats], new: tuple[Floats, Floats]) -> float:
    above, below = (np.concatenate(both) for both in zip(base, new, strict=True))

    def apart(one: np.ndarray, other: np.ndarray, axis: int) -> Floats:
        ratios = [above[some].sum(axis) / below[some].sum(axis) for some in (one, other)]
        return np.asarray(ratios[1] - ratios[0])

    places = np.arange(len(above))
    test = stats.permutation_test(
        (places[: len(base[0])], places[len(base[0]) :]), apart, vectorized=True
    )
    return float(test.pvalue)


@pytest.mark.parametrize("kind", ["normal", "tied", "blocks"])
@pytest.mark.parametrize("seed", range(4))
def test_of_as_many_on_either_side_it_is_scipys(kind: str, seed: int) -> None:
    base, new = observed(seed, 6, kind), observed(seed + 100, 6, kind)
    for relative in (True, False):
        assert two_sides(base, new, relative).p == pytest.approx(scipys(base, new))


def test_signs_are_scipys() -> None:
    one, _ = observed(1, 6, "normal")
    other, _ = observed(7, 6, "normal")

    def mean(values: Floats, axis: int) -> Floats:
        return np.asarray(values.mean(axis))

    test = stats.permutation_test((other - one,), mean, permutation_type="samples", vectorized=True)
    assert one_side(other - one, ONES).p == pytest.approx(float(test.pvalue))


# All orders once, the observed one first; of many some, as often as is said.
def test_orders() -> None:
    for base, new in ((6, 6), (3, 5), (1, 1)):
        orders = of_sides(base, new)
        assert len(orders) == len(np.unique(orders, axis=0)) == comb(base + new, new)
        assert orders[0].tolist() == [0] * base + [1] * new
        assert (orders.sum(axis=1) == new).all()
    signs = of_signs(6)
    assert len(signs) == len(np.unique(signs, axis=0)) == 64
    for many in (of_sides(30, 40), of_signs(40)):
        assert len(many) == 10_000
        assert many[0].tolist() in ([0] * 30 + [1] * 40, [1] * 40)


@pytest.mark.parametrize(
    ("base", "new", "paired", "least"),
    [(6, 6, False, 2 / 924), (6, 6, True, 2 / 64), (6, 7, False, 1 / 1_716), (64, 64, False, 1e-4)],
)
def test_the_smallest_chance_is_reached_without_overlap(
    base: int, new: int, paired: bool, least: float
) -> None:
    assert least_chance(base, new, paired) == pytest.approx(least)
    one, other = np.linspace(1, 2, base), np.linspace(3, 5, new)
    if paired:
        found = one_side(other - one, np.ones(base))
    else:
        found = two_sides((one, np.ones(base)), (other, np.ones(new)), False)
    assert found.p == pytest.approx(least)


# benchstat judges by ranks, and has no more orders.
def test_without_overlap_it_is_benchstats() -> None:
    one, other = np.arange(6.0), 10 + np.arange(6.0)
    ranks = stats.mannwhitneyu(one, other, method="exact")
    assert two_sides((one, ONES), (other, ONES), True).p == pytest.approx(ranks.pvalue)


def at(base: tuple[Floats, Floats], new: tuple[Floats, Floats], by: float, relative: bool) -> float:
    # The p of no change once the sides are moved together by a value.
    moved = (base[0] * by, base[1]) if relative else (base[0] + by * base[1], base[1])
    return two_sides(moved, new, False).p


# Not by search: inside each interval the test does not reject, outside it does.
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("kind", ["normal", "tied", "blocks"])
@pytest.mark.parametrize(("first", "second"), [(6, 6), (6, 8), (7, 7)])
def test_the_interval_is_all_that_is_not_rejected(
    relative: bool, kind: str, first: int, second: int
) -> None:
    for seed in range(5):
        base, new = observed(seed, first, kind), observed(seed + 50, second, kind)
        found = two_sides(base, new, relative)
        assert found.low < found.value < found.high
        width = found.high - found.low
        for end, way in ((found.low, -1), (found.high, 1)):
            assert at(base, new, end - way * 1e-6 * width, relative) >= CHANCE
            assert at(base, new, end + way * 1e-6 * width, relative) < CHANCE
        none = float(relative)
        assert (found.low <= none <= found.high) == (found.p >= CHANCE)


def test_constant_sides_have_an_interval() -> None:
    base = (ONES, ONES)
    assert two_sides(base, base, True) == Judged(1, 1, 1, 1)
    assert two_sides((0 * ONES, ONES), (0 * ONES, ONES), False) == Judged(0, 0, 0, 1)
    for relative, value in ((True, 14), (False, 13)):
        found = two_sides(base, (14 * ONES, ONES), relative)
        assert found[:3] == pytest.approx((value, value, value))
        assert found.p == pytest.approx(2 / 924)
    # Packets a poll: all 1, against 10 to 14.
    batches = np.array([10.0, 14, 12, 11, 13, 12])
    found = two_sides(base, (batches, ONES), True)
    assert (found.p, found.value) == pytest.approx((2 / 924, 12))
    assert 10 < found.low < found.high < 14


def test_what_bounds_nothing_is_unbounded() -> None:
    few = np.array([1.0, 2.0]), np.ones(2)
    found = two_sides(few, (2 * few[0], few[1]), False)
    assert (found.low, found.high) == (-np.inf, np.inf)
    # Of a base that is mostly 0 no part has an upper end, and of 0 there is none.
    mostly = np.array([0, 0, 0, 0, 1.0, 2.0]), ONES
    assert two_sides(mostly, (ONES * 9, ONES), True).high == np.inf
    assert np.isnan(two_sides((0 * ONES, ONES), (ONES, ONES), True)).all()
    assert np.isfinite(two_sides(mostly, (ONES * 9, ONES), False)).all()


# Student's interval of the same values, on data that are as it wants them.
def test_the_interval_of_one_side_is_as_wide_as_students() -> None:
    widths = []
    for seed in range(40):
        values, ones = observed(seed, 12, "normal")
        found = one_side(values, ones)
        low, high = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
        assert found.value == pytest.approx(values.mean())
        widths.append((found.high - found.low) / (high - low))
    assert np.mean(widths) == pytest.approx(1, abs=0.05)


# Of ranks the test is Mann and Whitney's: p as benchstat prints it of these values as ns/op,
# golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da -format csv -col side FILE.
@pytest.mark.parametrize(
    ("base", "new", "printed"),
    [
        ([12, 10, 13, 11, 15, 14], [21, 20, 24, 22, 23, 25], "0.002"),
        ([10, 12, 12, 13, 14, 14], [12, 13, 14, 15, 15, 16], "0.126"),
        ([101, 105, 99, 103, 108, 97, 110, 100], [109, 104, 112, 111, 115, 107], "0.020"),
    ],
)
def test_of_ranks_p_is_benchstats(base: list[int], new: list[int], printed: str) -> None:
    ranks = stats.rankdata([*base, *new])
    sides = ((part, np.ones(len(part))) for part in (ranks[: len(base)], ranks[len(base) :]))
    assert f"{two_sides(*sides, relative=False).p:.3f}" == printed

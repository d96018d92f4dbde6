# The line through polls: the truth lies in its intervals as often as they say.

import numpy as np
import pytest

from netcost_analysis.stats.line import Line, Parts, kinds, line_of
from netcost_analysis.stats.resampling import Ints, middle

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

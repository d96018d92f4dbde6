"""Least squares: a line from sums, several causes without a constant, and a line through polls."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .resampling import Floats, Ints, drawn, middle, wider


def line_by_sums(sums: Floats, centre: float = 0.0) -> tuple[Floats, Floats]:
    """The intercept and slope of a line; NaN if x does not vary.

    sums: count, x, y, xx, xy (of one line or several), with x relative to the centre. Sums of parts
    add up, so resamples and experiments need no second pass over rows.
    """
    count, x, y, xx, xy = sums
    variation = count * xx - x * x
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(variation > 0, (count * xy - x * y) / variation, np.nan)
    return (y - slope * x) / count - slope * centre, slope


def coefficients(causes: Floats, effect: Floats, weights: Floats) -> Floats:
    """The coefficient of each cause, a row per row of weights.

    causes: a column each. weights: how often each row of causes counts. Rows with a missing figure
    are left out; NaN if none is left.
    """
    known = np.isfinite(causes).all(axis=1) & np.isfinite(effect)
    x, y, w = causes[known], effect[known], weights[:, known]
    if not len(x):
        return np.full((len(weights), causes.shape[1]), np.nan)
    squares = np.einsum("bi,ij,ik->bjk", w, x, x)
    products = np.einsum("bi,ij,i->bj", w, x, y)
    # If causes cannot be separated, the pseudo-inverse takes the smallest coefficients that fit.
    fitted: Floats = np.einsum("bjk,bk->bj", np.linalg.pinv(squares, hermitian=True), products)
    fitted[w.sum(axis=1) == 0] = np.nan
    return fitted


_RESAMPLES = 2_000
_SEED = 6
# Blocks of neighbouring polls are resampled together. Few and long ones, since neighbours may be
# correlated for long: with runs of 50 similar polls, intervals from 200 blocks covered the true
# value in 77 % of cases, those from 40 blocks in 92 %.
_MAX_BLOCKS, _MIN_POLLS = 40, 10
# The line does not fit if it misses the mean of this many polls or more by this share, at this
# confidence: share, polls, confidence.
_BESIDE, _KIND, _CERTAIN = 0.25, 30, 0.99


class Bent(NamedTuple):
    """Polls of `least` to `most` packets whose mean time certainly differs from the line's."""

    least: int
    most: int
    mean_ns: float
    line_ns: float


@dataclass(frozen=True)
class Line:
    """ns = fixed_ns + marginal_ns * work.

    fixed, marginal: the values of each resample. bent: None if the line fits all polls.
    """

    fixed_ns: float
    marginal_ns: float
    r_squared: float
    fixed: Floats
    marginal: Floats
    bent: "Bent | None"


class Parts(NamedTuple):
    """Polls in order of time, summed in parts: neighbours of one kind (see kinds()).

    first: the index of a part's first poll, at least approximately. sums: a row per part with the
    number of polls and the sums of work, ns, work squared and work * ns. squares: the sum of ns
    squared over all polls. work: the values that occur, ascending.
    """

    first: Ints
    kind: Ints
    sums: Ints
    squares: float
    work: Ints


def kinds(work: Ints) -> Ints:
    """The size class of each poll: 1, 2, 3 to 4, 5 to 8, ... packets."""
    return np.ceil(np.log2(work)).astype("int64")


def line_of(polls: Parts) -> Line:
    """The least-squares line; middle() of fixed and of marginal gives its intervals.

    Least squares makes the line's sum over all polls equal theirs, as needed for shares of a CPU. A
    poll's scatter grows with its packets, and neighbours share a cache, a burst or a hypervisor
    pause. So blocks of neighbours are resampled, which assumes neither equal scatter nor
    independence.

    polls: with at least two different values of work.
    """
    number = int(polls.sums[:, 0].sum())
    blocks = int(np.clip(number // _MIN_POLLS, 2, _MAX_BLOCKS))
    which = polls.first * blocks // number
    count, work, ns, _, products = map(float, polls.sums.sum(axis=0))
    centre = work / count
    sums = _centred(_by_block(polls.sums, which, blocks), centre)
    fixed_ns, marginal_ns = map(float, line_by_sums(sums.sum(axis=0), centre))
    draws = drawn(blocks, _RESAMPLES, np.random.default_rng(_SEED))
    # With so few blocks a bootstrap interval is too narrow.
    times = wider(blocks)
    fixed, marginal = line_by_sums((draws @ sums).T, centre)
    fixed, marginal = (
        point + times * (values - point)
        for point, values in ((fixed_ns, fixed), (marginal_ns, marginal))
    )
    scatter = polls.squares - ns * ns / count
    # The residual sum of squares, by the normal equations.
    rest = max(polls.squares - fixed_ns * ns - marginal_ns * products, 0.0)
    r_squared = 1 - rest / scatter if scatter > 0 else float("nan")
    line = Line(fixed_ns, marginal_ns, r_squared, fixed, marginal, None)
    return replace(line, bent=_bent(line, polls, which, draws))


def _by_block(sums: Ints, which: Ints, blocks: int) -> Floats:
    # Adding integers is exact, so it does not matter how the polls were split into parts.
    totals = np.zeros((blocks, sums.shape[1]), dtype="int64")
    np.add.at(totals, which, sums)
    return totals.astype("float64")


def _centred(sums: Floats, centre: float) -> Floats:
    # The same sums with work relative to the centre.
    count, work, ns, squares, products = sums.T
    x, xx = work - centre * count, squares - 2 * centre * work + centre * centre * count
    return np.stack([count, x, ns, xx, products - centre * ns], axis=1)


def _bent(line: Line, polls: Parts, which: Ints, draws: Floats) -> Bent | None:
    # Compares the mean time of each kind with the line's; the worst misfit beyond _BESIDE, or None.
    blocks, times = draws.shape[1], wider(draws.shape[1])
    of_work = kinds(polls.work)
    worst, bent = _BESIDE, None
    for kind in np.unique(polls.kind):
        here = polls.kind == kind
        number, packets, took = _by_block(polls.sums[here], which[here], blocks)[:, :3].T
        if number.sum() < _KIND:
            continue
        mean, size = took.sum() / number.sum(), packets.sum() / number.sum()
        beside = mean - line.fixed_ns - line.marginal_ns * size
        counts = draws @ number
        with np.errstate(divide="ignore", invalid="ignore"):
            resampled = (draws @ took - line.marginal * (draws @ packets)) / counts - line.fixed
        low, high = middle(beside + times * (resampled - beside), (1 - _CERTAIN) / 2)
        surely = max(low, -high) / mean if mean > 0 else 0.0
        if surely > worst:
            works = polls.work[of_work == kind]
            worst = surely
            bent = Bent(int(works[0]), int(works[-1]), float(mean), float(mean - beside))
    return bent

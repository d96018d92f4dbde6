"""Least squares: a line by its sums, several causes without a constant, and a line through polls.

Intervals of the line through polls do not assume more than there is.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .resampling import Floats, Ints, drawn, middle, wider


def line_by_sums(sums: Floats, centre: float = 0.0) -> tuple[Floats, Floats]:
    """The constant and the slope of a line; NaN where x does not vary.

    sums: count, x, y, xx, xy (each of one line or of several), where x is counted from the centre.
    Sums of parts add up, so that neither a resample nor an experiment needs its rows again.
    """
    count, x, y, xx, xy = sums
    below = count * xx - x * x
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(below > 0, (count * xy - x * y) / below, np.nan)
    return (y - slope * x) / count - slope * centre, slope


def coefficients(causes: Floats, effect: Floats, weights: Floats) -> Floats:
    """What each cause adds to the effect: a row for each row of weights.

    causes: a column each. weights: how often each row of causes counts. Rows without all of the
    figures are left out; NaN where nothing is left.
    """
    known = np.isfinite(causes).all(axis=1) & np.isfinite(effect)
    x, y, w = causes[known], effect[known], weights[:, known]
    if not len(x):
        return np.full((len(weights), causes.shape[1]), np.nan)
    squares = np.einsum("bi,ij,ik->bjk", w, x, x)
    products = np.einsum("bi,ij,i->bj", w, x, y)
    # A cause that never varies has no coefficient of its own: then the smallest that fit.
    found: Floats = np.einsum("bjk,bk->bj", np.linalg.pinv(squares, hermitian=True), products)
    found[w.sum(axis=1) == 0] = np.nan
    return found


_RESAMPLES = 2_000
_SEED = 6
# Stretches of neighbouring polls that are drawn together. Few and long, for what neighbours share
# may last: 200 of them held the truth in 77 % where each 50 polls were alike, 40 in 92 %.
_MAX_BLOCKS, _MIN_POLLS = 40, 10
# A line that is so far beside the mean of this many polls or more, for certain, is none.
_BESIDE, _KIND, _CERTAIN = 0.25, 30, 0.99


class Bent(NamedTuple):
    """Polls of least to most packets, which surely take another mean time than the line says."""

    least: int
    most: int
    mean_ns: float
    line_ns: float


@dataclass(frozen=True)
class Line:
    """ns = fixed_ns + marginal_ns * work.

    fixed, marginal: of each resample. bent: None where the line describes all polls.
    """

    fixed_ns: float
    marginal_ns: float
    r_squared: float
    fixed: Floats
    marginal: Floats
    bent: "Bent | None"


class Parts(NamedTuple):
    """Polls in order of time, summed in parts: neighbours of one kind (see kinds()).

    first: the place of a part's first poll among all, or near it. sums: a row per part: how many
    polls, and the sums of work, ns, work squared and work * ns. squares: the sum of ns squared, of
    all polls. work: each that occurs, rising.
    """

    first: Ints
    kind: Ints
    sums: Ints
    squares: float
    work: Ints


def kinds(work: Ints) -> Ints:
    """Which polls are alike: those of 1, 2, 3 to 4, 5 to 8, ... packets."""
    return np.ceil(np.log2(work)).astype("int64")


def line_of(polls: Parts) -> Line:
    """The line by least squares; its intervals are the middle of fixed and of marginal.

    Least squares, so that the line's sum over all polls is their sum: shares of a CPU are sums. A
    poll's scatter grows with its packets, and neighbours share a cache, a burst, a hypervisor's
    pause: stretches of neighbours are resampled, which needs neither even scatter nor independence.

    polls: of at least two different works.
    """
    number = int(polls.sums[:, 0].sum())
    blocks = int(np.clip(number // _MIN_POLLS, 2, _MAX_BLOCKS))
    which = polls.first * blocks // number
    count, work, ns, _, products = map(float, polls.sums.sum(axis=0))
    centre = work / count
    sums = _centred(_by_block(polls.sums, which, blocks), centre)
    fixed_ns, marginal_ns = map(float, line_by_sums(sums.sum(axis=0), centre))
    draws = drawn(blocks, _RESAMPLES, np.random.default_rng(_SEED))
    # So few stretches say less of their scatter than the normal distribution supposes.
    times = wider(blocks)
    fixed, marginal = line_by_sums((draws @ sums).T, centre)
    fixed, marginal = (
        point + times * (values - point)
        for point, values in ((fixed_ns, fixed), (marginal_ns, marginal))
    )
    scatter = polls.squares - ns * ns / count
    # Of the line's own normal equations.
    rest = max(polls.squares - fixed_ns * ns - marginal_ns * products, 0.0)
    r_squared = 1 - rest / scatter if scatter > 0 else float("nan")
    line = Line(fixed_ns, marginal_ns, r_squared, fixed, marginal, None)
    return replace(line, bent=_bent(line, polls, which, draws))


def _by_block(sums: Ints, which: Ints, blocks: int) -> Floats:
    # Whole numbers are added as such: in which parts they came changes no digit.
    found = np.zeros((blocks, sums.shape[1]), dtype="int64")
    np.add.at(found, which, sums)
    return found.astype("float64")


def _centred(sums: Floats, centre: float) -> Floats:
    # The same with work counted from the centre.
    count, work, ns, squares, products = sums.T
    x, xx = work - centre * count, squares - 2 * centre * work + centre * centre * count
    return np.stack([count, x, ns, xx, products - centre * ns], axis=1)


def _bent(line: Line, polls: Parts, which: Ints, draws: Floats) -> Bent | None:
    # The means of each kind's time beside the line's.
    blocks, times = draws.shape[1], wider(draws.shape[1])
    of_work = kinds(polls.work)
    worst, found = _BESIDE, None
    for kind in np.unique(polls.kind):
        here = polls.kind == kind
        number, packets, took = _by_block(polls.sums[here], which[here], blocks)[:, :3].T
        if number.sum() < _KIND:
            continue
        mean, size = took.sum() / number.sum(), packets.sum() / number.sum()
        beside = mean - line.fixed_ns - line.marginal_ns * size
        counts = draws @ number
        with np.errstate(divide="ignore", invalid="ignore"):
            each = (draws @ took - line.marginal * (draws @ packets)) / counts - line.fixed
        low, high = middle(beside + times * (each - beside), (1 - _CERTAIN) / 2)
        surely = max(low, -high) / mean if mean > 0 else 0.0
        if surely > worst:
            own = polls.work[of_work == kind]
            worst = surely
            found = Bent(int(own[0]), int(own[-1]), float(mean), float(mean - beside))
    return found

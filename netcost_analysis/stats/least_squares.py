"""Least squares: a line by its sums, and several causes without a constant."""

import numpy as np

from .resampling import Floats


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

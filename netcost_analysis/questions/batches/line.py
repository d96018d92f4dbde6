# A straight line through polls, with intervals that do not assume more than there is.

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from .common import Ints

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_RESAMPLES = 2_000
_SEED = 6
_CONFIDENCE = 0.95
# Stretches of neighbouring polls that are drawn together. Few and long, for what neighbours share
# may last: 200 of them held the truth in 77 % where each 50 polls were alike, 40 in 92 %.
_MOST_BLOCKS, _LEAST_POLLS = 40, 10
# A line that is so far beside the mean of this many polls or more, for certain, is none.
_BESIDE, _KIND, _CERTAIN = 0.25, 30, 0.99


class Bent(NamedTuple):
    # Polls of least to most packets, which surely take another time in the mean than the line says.
    least: int
    most: int
    mean_ns: float
    line_ns: float


@dataclass(frozen=True)
class Line:
    # ns = fixed_ns + marginal_ns * work. fixed, marginal: of each resample. bent: None where the
    # line describes all polls.
    fixed_ns: float
    marginal_ns: float
    r_squared: float
    fixed: Floats
    marginal: Floats
    bent: "Bent | None"

    def interval(self, values: Floats) -> tuple[float, float]:
        # The middle 95 % of what the resamples say of a figure.
        tail = (1 - _CONFIDENCE) / 2
        low, high = np.nanquantile(values, [tail, 1 - tail])
        return float(low), float(high)


def floats(values: "pd.Series[int]") -> Floats:
    # A column without nulls as an array of floats.
    return np.asarray(values.to_numpy(dtype="float64"))


def fit(work: Floats, ns: Floats) -> Line:
    # Least squares, so that the line's sum over all polls is their sum: shares of a CPU are sums.
    # A poll's scatter grows with its packets, and neighbours share a cache, a burst, a hypervisor's
    # pause: stretches of neighbours are resampled, which needs neither even scatter nor
    # independence. work, ns: in order of time; at least two different works.
    blocks = int(np.clip(len(work) // _LEAST_POLLS, 2, _MOST_BLOCKS))
    which: Ints = np.arange(len(work)) * blocks // len(work)
    centre = work.mean()
    x = work - centre
    sums: Floats = np.stack(
        [np.bincount(which, values, blocks) for values in (np.ones_like(x), x, ns, x * x, x * ns)],
        axis=1,
    )
    fixed_ns, marginal_ns = solve(sums.sum(axis=0), centre)
    draw = np.random.default_rng(_SEED)
    drawn: Floats = draw.multinomial(blocks, np.full(blocks, 1 / blocks), size=_RESAMPLES).astype(
        "float64"
    )
    # So few stretches say less of their scatter than the normal distribution supposes.
    wider = _wider(blocks)
    fixed, marginal = solve((drawn @ sums).T, centre)
    fixed, marginal = (
        point + wider * (values - point)
        for point, values in ((fixed_ns, fixed), (marginal_ns, marginal))
    )
    scatter = float(((ns - ns.mean()) ** 2).sum())
    rest = float(((ns - fixed_ns - marginal_ns * work) ** 2).sum())
    r_squared = 1 - rest / scatter if scatter else float("nan")
    line = Line(float(fixed_ns), float(marginal_ns), r_squared, fixed, marginal, None)
    return replace(line, bent=_bent(line, work, ns, which, drawn))


def _wider(blocks: int) -> float:
    # It takes a second to import, which commands that ask for no line need not wait.
    from scipy import stats

    tail = (1 + _CONFIDENCE) / 2
    return float(
        stats.t.ppf(tail, blocks - 1) / stats.norm.ppf(tail) * np.sqrt(blocks / (blocks - 1))
    )


def _bent(line: Line, work: Floats, ns: Floats, which: Ints, drawn: Floats) -> Bent | None:
    # Polls of 1, 2, 3 to 4, 5 to 8, ... packets: the means of their time beside the line's.
    kinds = np.ceil(np.log2(work)).astype("int64")
    blocks, wider = drawn.shape[1], _wider(drawn.shape[1])
    worst, found = _BESIDE, None
    for kind in np.unique(kinds):
        here = kinds == kind
        if here.sum() < _KIND:
            continue
        number, packets, took = (
            np.bincount(which[here], values, blocks)
            for values in (np.ones(int(here.sum())), work[here], ns[here])
        )
        mean, size = ns[here].mean(), work[here].mean()
        beside = mean - line.fixed_ns - line.marginal_ns * size
        counts = drawn @ number
        with np.errstate(divide="ignore", invalid="ignore"):
            each = (drawn @ took - line.marginal * (drawn @ packets)) / counts - line.fixed
        tail = (1 - _CERTAIN) / 2
        low, high = np.nanquantile(beside + wider * (each - beside), [tail, 1 - tail])
        surely = max(low, -high) / mean if mean > 0 else 0.0
        if surely > worst:
            least, most = int(work[here].min()), int(work[here].max())
            worst, found = surely, Bent(least, most, float(mean), float(mean - beside))
    return found


def solve(sums: Floats, centre: float = 0.0) -> tuple[Floats, Floats]:
    # The line by sums: count, x, y, xx, xy, where x is counted from the centre.
    count, x, y, xx, xy = sums
    below = count * xx - x * x
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(below > 0, (count * xy - x * y) / below, np.nan)
    return (y - slope * x) / count - slope * centre, slope


def refusal(
    work: Floats, has_work: bool, min_polls: int, min_works: int, min_spread: float
) -> str | None:
    # Why no line can be laid through these polls; None where one can.
    if not has_work:
        return "no work field"
    if len(work) < min_polls:
        return "few polls"
    if len(np.unique(work)) < min_works:
        return "few sizes"
    return "similar sizes" if work.std() / work.mean() < min_spread else None

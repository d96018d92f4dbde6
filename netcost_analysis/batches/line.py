# A straight line through polls, with intervals that do not assume more than there is.

from dataclasses import dataclass

import numpy as np
import pandas as pd

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

_RESAMPLES = 2_000
_SEED = 6
_CONFIDENCE = 0.95
# Stretches of neighbouring polls that are drawn together.
_MOST_BLOCKS, _LEAST_POLLS = 200, 10


@dataclass(frozen=True)
class Line:
    # ns = fixed_ns + marginal_ns * work. fixed, marginal: of each resample.
    fixed_ns: float
    marginal_ns: float
    r_squared: float
    fixed: Floats
    marginal: Floats

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
    which = np.arange(len(work)) * blocks // len(work)
    centre = work.mean()
    x = work - centre
    sums: Floats = np.stack(
        [np.bincount(which, values, blocks) for values in (np.ones_like(x), x, ns, x * x, x * ns)],
        axis=1,
    )
    fixed_ns, marginal_ns = _solve(sums.sum(axis=0), centre)
    drawn = np.random.default_rng(_SEED).multinomial(
        blocks, np.full(blocks, 1 / blocks), size=_RESAMPLES
    )
    fixed, marginal = _solve((drawn.astype("float64") @ sums).T, centre)
    scatter = float(((ns - ns.mean()) ** 2).sum())
    rest = float(((ns - fixed_ns - marginal_ns * work) ** 2).sum())
    r_squared = 1 - rest / scatter if scatter else float("nan")
    return Line(float(fixed_ns), float(marginal_ns), r_squared, fixed, marginal)


def _solve(sums: Floats, centre: float) -> tuple[Floats, Floats]:
    # sums: count, x, y, xx, xy, where x is counted from the centre.
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
        return "this kernel's napi_poll has no work field"
    sizes = len(np.unique(work))
    if len(work) < min_polls:
        return f"{len(work):,} polls with packets; it takes {min_polls:,}"
    if sizes < min_works:
        kinds = "size" if sizes == 1 else "sizes"
        return f"batches of {sizes} {kinds} only; it takes {min_works}"
    spread = work.std() / work.mean()
    if spread < min_spread:
        return (
            f"batches hardly differ: their standard deviation is {100 * spread:.0f} % of their "
            f"mean; it takes {100 * min_spread:.0f} %"
        )
    return None

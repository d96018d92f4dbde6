# How many repeats would tell a change that matters, from the scatter of those there are.

from math import ceil
from statistics import NormalDist

import numpy as np

from ...comparison.run import Run
from ...stats.change import LEAST_REPEATS, POWER
from ...stats.resampling import CONFIDENCE

# The change to tell, as a share of the base or in points of a share.
TOLD = 0.05
_Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) + NormalDist().inv_cdf(POWER)


def more_repeats(runs: dict[str, list[tuple[Run, float]]], relative: bool) -> int:
    # How many more on each side; 0 where there are enough. runs: by side, each run and its value.
    # With one run a side the scatter is unknown, and fewer than LEAST_REPEATS never tell.
    values = [np.array([value for _, value in of]) for of in runs.values()]
    fewest = min(map(len, values))
    told = TOLD * abs(float(np.mean(values[0]))) if relative else TOLD
    spreads = [one.var(ddof=1) for one in values if len(one) > 1]
    needed = LEAST_REPEATS
    if spreads and told > 0:
        found = 2 * (_Z / told) ** 2 * float(np.mean(spreads))
        needed = max(needed, ceil(found)) if np.isfinite(found) else needed
    return max(needed - fewest, 0)

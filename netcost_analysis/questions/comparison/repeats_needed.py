# How many repeats would tell a change that matters, from the scatter of those there are.

import numpy as np

from ...comparison.run import Run
from ...stats.change import LEAST_REPEATS, repeats_that_tell

# The change to tell, as a share of the base or in points of a share.
TOLD = 0.05


def more_repeats(runs: dict[str, list[tuple[Run, float]]], relative: bool) -> int | None:
    # How many more on each side; 0 where there are enough, None where no number that can be run
    # is. runs: by side, each run and its value. With one run a side the scatter is unknown.
    values = [np.array([value for _, value in of]) for of in runs.values()]
    told = TOLD * abs(float(np.mean(values[0]))) if relative else TOLD
    variances = [one.var(ddof=1) for one in values if len(one) > 1]
    needed: int | None = LEAST_REPEATS
    if variances and told > 0:
        needed = repeats_that_tell(told, float(np.sqrt(np.mean(variances))))
    return None if needed is None else max(needed - min(map(len, values)), 0)

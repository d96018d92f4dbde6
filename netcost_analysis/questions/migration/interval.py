# How sure a mean effect is, where migrations are not independent of each other.

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...stats.resampling import Floats, Ints, drawn, middle, tail

# Fewer clusters, and a bootstrap's interval is far from what it says.
FEWEST = 10
# A block of time is this part of the recording, or four widths where that is longer: the windows
# of a migration, before and after, then lie in one block or in two neighbours.
BLOCKS, WIDTHS = 40, 4
_RESAMPLES, _SEED = 2_000, 1


class Compared(NamedTuple):
    """Migrations, and the moments each is compared with.

    tids, times: of the migrations. change: of each. moments: times, a row for each migration.
    controls: the change at each moment, NaN where it has none.
    """

    tids: Ints
    times: Ints
    change: Floats
    moments: npt.NDArray[np.int64]
    controls: npt.NDArray[np.float64]


def interval(compared: Compared, width_ns: int, window: tuple[int, int]) -> tuple[float, float]:
    """The 95 % interval of mean change minus mean control change, NaN where it cannot be told.

    A cluster bootstrap: whole blocks of time are drawn again, with the migrations and the
    moments in them; and whole tasks, where there are enough. The wider on either side is returned.
    Percentiles are taken as far out as Student's t is wider than the normal distribution for so
    many clusters. The same for the same values. NaN where migrations, or moments, lie in fewer than
    10 blocks.
    """
    length = max((window[1] - window[0]) // BLOCKS, WIDTHS * width_ns, 1)
    block = (compared.times - window[0]) // length
    known = ~np.isnan(compared.controls)
    beside = np.where(known, (compared.moments - window[0]) // length, -1)
    fewest = min(len(np.unique(block)), len(np.unique(beside[known])))
    if fewest < FEWEST:
        return float("nan"), float("nan")
    intervals = [_drawn(compared, block, beside, fewest)]
    each = np.unique(compared.tids, return_counts=True)[1]
    # As many tasks as have a part in the mean: one that was moved all the time counts for one.
    tasks = int(each.sum() ** 2 / (each**2).sum())
    if tasks >= FEWEST:
        of_task = np.repeat(compared.tids[:, None], known.shape[1], axis=1)
        intervals.append(_drawn(compared, compared.tids, of_task, tasks))
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _drawn(
    compared: Compared, clusters: Ints, beside: npt.NDArray[np.int64], number: int
) -> tuple[float, float]:
    # clusters: of each migration. beside: of each moment. A migration is compared with the moments
    # of its own task and block's migrations, as often as each was drawn.
    known = ~np.isnan(compared.controls)
    names = np.unique(np.concatenate([clusters, beside[known]]))
    own, other = np.searchsorted(names, clusters), np.searchsorted(names, beside[known])
    pairs = np.stack([compared.tids, clusters], axis=1)
    row = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
    rows = int(row.max()) + 1
    of_row = np.zeros(rows, dtype="int64")
    of_row[row] = own
    count = np.bincount(row, minlength=rows).astype("float64")
    total = np.bincount(row, compared.change, minlength=rows)
    # Each migration's moments weigh one together.
    weight = np.repeat((1 / known.sum(axis=1))[:, None], known.shape[1], axis=1)[known]
    place = np.repeat(row[:, None], known.shape[1], axis=1)[known] * len(names) + other
    size = rows * len(names)
    weights = np.bincount(place, weight, minlength=size).reshape(rows, -1).T
    sums = np.bincount(place, weight * compared.controls[known], minlength=size)
    sums = sums.reshape(rows, -1).T
    generator = np.random.default_rng(_SEED)
    means: list[Floats] = []
    for _ in range(0, _RESAMPLES, 200):
        draws = drawn(len(names), 200, generator)
        there = draws @ weights
        good = there > 0
        control = np.divide(draws @ sums, there, out=np.zeros_like(there), where=good)
        often = np.where(good, draws[:, of_row], 0.0)
        whole = (often * count).sum(axis=1)
        effect = (often * (total - count * control)).sum(axis=1)
        means.append(effect[whole > 0] / whole[whole > 0])
    return middle(np.concatenate(means), tail(number))

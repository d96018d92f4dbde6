# How sure a mean effect is, where migrations are not independent of each other.

from typing import Any, NamedTuple

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
        of_task = np.broadcast_to(compared.tids[:, None], known.shape)
        intervals.append(_drawn(compared, compared.tids, of_task, tasks))
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _drawn(
    compared: Compared, clusters: Ints, beside: npt.NDArray[np.int64], number: int
) -> tuple[float, float]:
    # clusters: of each migration. beside: of each moment. A migration is compared with the moments
    # of the migrations of its own task and cluster, as often as each was drawn.
    known = ~np.isnan(compared.controls)
    names = np.unique(np.concatenate([clusters, beside[known]]))
    # Rows are migrations of one task in one cluster.
    pairs = np.stack([compared.tids, clusters], axis=1)
    pairs, row = np.unique(pairs, axis=0, return_inverse=True)
    row, of_row = row.reshape(-1), np.searchsorted(names, pairs[:, 1])
    count = np.bincount(row).astype("float64")
    total = np.bincount(row, compared.change)
    # Each migration's moments weigh one together.
    weight = np.broadcast_to(1 / known.sum(axis=1)[:, None], known.shape)[known]
    place = np.broadcast_to(row[:, None], known.shape)[known] * len(names)
    place += np.searchsorted(names, beside[known])

    def by_cluster(values: Floats) -> npt.NDArray[Any]:
        sums = np.bincount(place, values, minlength=len(pairs) * len(names))
        return sums.reshape(len(pairs), -1).T

    weights, sums = by_cluster(weight), by_cluster(weight * compared.controls[known])
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

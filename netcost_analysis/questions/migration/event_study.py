# Which migrations can be studied, the moments of the same task that each is compared with, and how
# sure a mean effect is, where migrations are not independent of each other.

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...spans import Flags, Ints, Spans
from ...stats.resampling import Floats, drawn, middle, tail
from .lifetimes import Lifetimes

# Of a window's length: with a longer gap in it its shares are not known well enough.
WORST_GAP_SHARE = 0.01
LEFT_OUT = ("edge", "gap", "overlap", "unmatched")
# Moments drawn for each migration.
DRAWS = 8
_SEED = 1
# Fewer clusters, and a bootstrap's interval is far from what it says.
FEWEST = 10
# A block of time is this part of the recording, or four widths where that is longer: the windows
# of a migration, before and after, then lie in one block or in two neighbours.
BLOCKS, WIDTHS = 40, 4
_RESAMPLES = 2_000


class Study(NamedTuple):
    """Migrations that can be compared, and with what.

    tids, times: of them. controls: a row of moments for each, -1 where one cannot be used; every
    row has one that can. left_out: of each migration asked about, why it is not among them
    ("edge", "gap", "overlap", "unmatched"), None for those that are.
    """

    tids: Ints
    times: Ints
    controls: npt.NDArray[np.int64]
    left_out: "pd.Series[str]"


def study(moved: pd.DataFrame, lifetimes: Lifetimes, migrated: Spans, width_ns: int) -> Study:
    """Choose the migrations whose windows can be measured, and moments to compare them with.

    moved: time_ns, tid, cause of the migrations in question. migrated: spans of no length where
    each task was migrated. width_ns: of a window, on either side. A moment is of the same task in
    the same state, as long after that state began: for a wake-up another wake-up; for a task that
    waited or ran, another wait or slice that lasted at least as long. None of its windows holds a
    migration, follows one within a width, or reaches over an edge or a gap.
    """
    tids = moved["tid"].to_numpy(dtype="int64")
    times = moved["time_ns"].to_numpy(dtype="int64")
    why = pd.Series([None] * len(moved), index=moved.index, dtype=object)
    for reason, bad in (
        ("edge", ~lifetimes.alive(tids, times - width_ns, times + width_ns)),
        ("gap", _in_gap(lifetimes, times, width_ns)),
        ("overlap", _migrations_near(migrated, tids, times, width_ns) != 1),
    ):
        why[why.isna().to_numpy() & bad] = reason
    kept = why.isna().to_numpy()
    is_woken = (moved["cause"] == "wake-up").to_numpy(dtype=bool)[kept]
    moments = _drawn(lifetimes, tids[kept], times[kept], is_woken)
    group, flat = np.repeat(tids[kept], DRAWS), moments.reshape(-1)
    usable = (flat >= 0) & lifetimes.alive(group, flat - width_ns, flat + width_ns)
    usable &= ~_in_gap(lifetimes, flat, width_ns)
    usable &= _migrations_near(migrated, group, flat, width_ns) == 0
    controls = np.where(usable, flat, -1).reshape(-1, DRAWS)
    matched = (controls >= 0).any(axis=1)
    why[why.index[np.flatnonzero(kept)[~matched]]] = "unmatched"
    return Study(tids[kept][matched], times[kept][matched], controls[matched], why)


def moments_in(studies: Iterable[tuple[int, Study]]) -> tuple[Ints, Ints]:
    # Where windows begin and end: whose, and when. studies: each with its width_ns.
    tids, times = [np.empty(0, "int64")], [np.empty(0, "int64")]
    for width_ns, studied in studies:
        every = np.concatenate([studied.times[:, None], studied.controls], axis=1)
        group = np.repeat(studied.tids, every.shape[1])
        usable = (every >= 0).reshape(-1)
        for shift in (-width_ns, 0, width_ns):
            tids.append(group[usable])
            times.append(every.reshape(-1)[usable] + shift)
    return np.concatenate(tids), np.concatenate(times)


def _migrations_near(migrated: Spans, tids: Ints, times: Ints, width_ns: int) -> Ints:
    # Migrations of the task in (time - 2 widths, time + width): the effect of an earlier one must
    # not be in the window before.
    until, since = times + width_ns - 1, times - 2 * width_ns
    return migrated.begun(tids, until)[1] - migrated.begun(tids, since)[1]


def _in_gap(lifetimes: Lifetimes, times: Ints, width_ns: int) -> Flags:
    nobody = np.zeros(len(times), dtype="int64")
    before = lifetimes.gaps.within(nobody, times - width_ns, times)
    after = lifetimes.gaps.within(nobody, times, times + width_ns)
    return np.maximum(before, after) > WORST_GAP_SHARE * width_ns


def _drawn(lifetimes: Lifetimes, tids: Ints, times: Ints, is_woken: Flags) -> npt.NDArray[np.int64]:
    generator = np.random.default_rng(_SEED)
    moments = np.full((len(tids), DRAWS), -1, dtype="int64")
    at_wake_up = np.zeros(int(is_woken.sum()), "int64")
    moments[is_woken] = _moments_like(lifetimes.woken, tids[is_woken], at_wake_up, generator)
    for spans in (lifetimes.waiting, lifetimes.on_cpu):
        index = spans.last_begun(tids, times)
        inside = ~is_woken & (index >= 0) & (moments[:, 0] == -1)
        inside[inside] &= times[inside] < spans.ends[index[inside]]
        since = times[inside] - spans.starts[index[inside]]
        moments[inside] = _moments_like(spans, tids[inside], since, generator)
    return moments


def _moments_like(
    spans: Spans, tids: Ints, since: Ints, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    # Moments as long after the start of a span of the same task that lasts longer, drawn with
    # replacement. The migration's own span falls out later: its windows hold a migration.
    lengths = spans.ends - spans.starts
    order = np.lexsort((lengths, spans.groups))
    by_length = Spans(spans.groups[order], lengths[order], lengths[order])
    low = by_length.begun(tids, since - 1)[1]
    count = np.searchsorted(by_length.groups, tids, side="right") - low
    steps = np.floor(generator.random((len(tids), DRAWS)) * count[:, None]).astype("int64")
    good = count > 0
    moments = np.full((len(tids), DRAWS), -1, dtype="int64")
    place = (low[:, None] + steps)[good]
    moments[good] = spans.starts[order][place] + since[good, None]
    return moments


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
    intervals = [_resampled(compared, block, beside, fewest)]
    each = np.unique(compared.tids, return_counts=True)[1]
    # As many tasks as have a part in the mean: one that was moved all the time counts for one.
    tasks = int(each.sum() ** 2 / (each**2).sum())
    if tasks >= FEWEST:
        of_task = np.broadcast_to(compared.tids[:, None], known.shape)
        intervals.append(_resampled(compared, compared.tids, of_task, tasks))
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _resampled(
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

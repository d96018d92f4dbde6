# Which migrations can be studied, and the moments of the same task that each is compared with.

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from ...spans import Flags, Ints, Spans
from .lives import Lives

# Of a window's length: more without a record, and its shares are not known well enough.
WORST_GAP_SHARE = 0.01
LEFT_OUT = ("edge", "gap", "overlap", "unmatched")


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


def study(
    moved: pd.DataFrame,
    lives: Lives,
    wakes: Spans,
    migrated: Spans,
    width_ns: int,
    draws: int,
    seed: int,
) -> Study:
    """Choose the migrations whose windows can be measured, and moments to compare them with.

    moved: time_ns, tid, cause of the migrations in question. wakes, migrated: spans of no length
    where each task was woken, and migrated. width_ns: of a window, on either side. draws: moments
    drawn for each. A moment is of the same task in the same state, as long after that state began:
    for a wake-up another wake-up; for a task that waited or ran, another wait or stay that lasted
    at least as long. None of its windows holds a migration, follows one within a width, or
    reaches over an edge or a gap.
    """
    tids = moved["tid"].to_numpy(dtype="int64")
    times = moved["time_ns"].to_numpy(dtype="int64")
    why = pd.Series([None] * len(moved), index=moved.index, dtype=object)
    alone = _count(migrated, tids, times, width_ns) == 1
    for reason, bad in (
        ("edge", ~lives.alive(tids, times - width_ns, times + width_ns)),
        ("gap", _in_gap(lives, times, width_ns)),
        ("overlap", ~alone),
    ):
        why[why.isna().to_numpy() & bad] = reason
    kept = why.isna().to_numpy()
    causes = moved["cause"].to_numpy(dtype=object)[kept]
    drawn = _drawn(lives, wakes, tids[kept], times[kept], causes == "wake-up", draws, seed)
    group = np.repeat(tids[kept], draws)
    flat = drawn.reshape(-1)
    usable = (flat >= 0) & lives.alive(group, flat - width_ns, flat + width_ns)
    usable &= ~_in_gap(lives, flat, width_ns)
    usable &= _count(migrated, group, flat, width_ns) == 0
    controls = np.where(usable, flat, -1).reshape(-1, draws)
    matched = (controls >= 0).any(axis=1)
    why[why.index[np.flatnonzero(kept)[~matched]]] = "unmatched"
    return Study(tids[kept][matched], times[kept][matched], controls[matched], why)


def moments_in(studies: dict[int, Study]) -> tuple[Ints, Ints]:
    # Where windows begin and end: whose, and when.
    tids, times = [np.empty(0, "int64")], [np.empty(0, "int64")]
    for width_ns, studied in studies.items():
        every = np.concatenate([studied.times[:, None], studied.controls], axis=1)
        group = np.repeat(studied.tids, every.shape[1])
        usable = (every >= 0).reshape(-1)
        for shift in (-width_ns, 0, width_ns):
            tids.append(group[usable])
            times.append(every.reshape(-1)[usable] + shift)
    return np.concatenate(tids), np.concatenate(times)


def _count(migrated: Spans, tids: Ints, times: Ints, width_ns: int) -> Ints:
    # Migrations of the task in (time - 2 widths, time + width): what an earlier one did must not be
    # in the window before.
    until, since = times + width_ns - 1, times - 2 * width_ns
    return migrated.begun(tids, until)[1] - migrated.begun(tids, since)[1]


def _in_gap(lives: Lives, times: Ints, width_ns: int) -> Flags:
    nobody = np.zeros(len(times), dtype="int64")
    gone = [
        lives.gaps.within(nobody, times - width_ns, times),
        lives.gaps.within(nobody, times, times + width_ns),
    ]
    return np.maximum(*gone) > WORST_GAP_SHARE * width_ns


def _drawn(
    lives: Lives, wakes: Spans, tids: Ints, times: Ints, woken: Flags, draws: int, seed: int
) -> npt.NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    result = np.full((len(tids), draws), -1, dtype="int64")
    result[woken] = _longer(
        wakes, tids[woken], np.zeros(int(woken.sum()), "int64"), draws, generator
    )
    for spans in (lives.waiting, lives.on_cpu):
        index = spans.last_begun(tids, times)
        inside = ~woken & (index >= 0) & (result[:, 0] == -1)
        inside[inside] &= times[inside] < spans.ends[index[inside]]
        since = times[inside] - spans.starts[index[inside]]
        result[inside] = _longer(spans, tids[inside], since, draws, generator)
    return result


def _longer(
    spans: Spans, tids: Ints, since: Ints, draws: int, generator: np.random.Generator
) -> npt.NDArray[np.int64]:
    # Moments as long after the start of a span of the same task that lasts longer; drawn with
    # replacement. Nothing of the same migration's own span is left: its windows hold a migration.
    lengths = spans.ends - spans.starts
    order = np.lexsort((lengths, spans.groups))
    by_length = Spans(spans.groups[order], lengths[order], lengths[order])
    last = np.searchsorted(by_length.groups, tids, side="right")
    low = by_length.begun(tids, since - 1)[1]
    count = last - low
    place = low[:, None] + np.floor(generator.random((len(tids), draws)) * count[:, None]).astype(
        "int64"
    )
    good = count > 0
    moments = np.full((len(tids), draws), -1, dtype="int64")
    moments[good] = spans.starts[order][place[good]] + since[good, None]
    return moments

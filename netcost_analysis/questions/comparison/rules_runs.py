# Rules of comparability: how many runs there are, in which order, and how far apart.

import itertools
from collections.abc import Iterator

import numpy as np

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.host import Snapshot
from ...stats.change import LEAST_BLOCKS, LEAST_REPEATS
from ...stats.resampling import CONFIDENCE
from .finding import Finding
from .metrics import primary

# How far the middle half of the base's figures may spread, over their median; of few runs the
# figures are those of parts of their time.
_SPREAD, _PARTS = 0.1, LEAST_BLOCKS


def _runs(comparison: Comparison) -> dict[str, list[Run]]:
    # Those that the verdict rests on.
    first = primary(comparison)
    if first is None:
        return {side: list(runs) for side, runs in comparison.sides.items()}
    return {side: [run for run, _ in runs] for side, runs in first.runs.items()}


def repeats(comparison: Comparison) -> Iterator[Finding]:
    for side, runs in _runs(comparison).items():
        if len(runs) < LEAST_REPEATS:
            yield Finding("repeats", "note", side, found=len(runs), limit=LEAST_REPEATS)


def in_order(runs: dict[str, list[Run]]) -> list[tuple[str, Run]] | None:
    # These runs of both sides, each with its side, the first one first; None where that is not
    # known: by the rows of their experiments, else by when the recorder read its host's clock.
    every = [(side, run) for side, some in runs.items() for run in some]
    places = [run.place for _, run in every]
    began = {place[0] for place in places if place is not None}
    if None not in places and (len(began) == 1 or "" not in began):
        return sorted(every, key=lambda one: one[1].place or ("", 0))
    starts = [_started(run) for _, run in every]
    hosts = {host for _, host in starts if host}
    if len(hosts) > 1 or any(at is None for at, _ in starts):
        return None
    order = sorted(range(len(every)), key=lambda at: starts[at][0] or 0)
    return [every[at] for at in order]


def _started(run: Run) -> tuple[int | None, str]:
    # ns since the epoch, and the host's name.
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is None:
        return None, ""
    host = (bundle.text("before/settings/hostname") or "").partition("\n")[0]
    settings = Snapshot({"stamp": bundle.text("before/settings/stamp") or ""})
    return (bundle.before.stamp or settings.stamp).get("realtime_ns"), host


def order(comparison: Comparison) -> Iterator[Finding]:
    # One run a side has no order that would tell anything.
    runs = _runs(comparison)
    if sum(map(len, runs.values())) < 3:
        return
    made = in_order(runs)
    if made is None:
        yield Finding("order_unknown", "note")
        return
    sides = [side for side, _ in made]
    changes = sum(one != other for one, other in itertools.pairwise(sides))
    if changes == 1:
        yield Finding("order", "warning", figures={"first": sides[0]})


def drift(comparison: Comparison) -> Iterator[Finding]:
    from scipy import stats

    first = primary(comparison)
    if first is None:
        return
    for side, runs in first.runs.items():
        figures = dict(runs)
        made = in_order({side: list(figures)})
        values = [figures[run] for _, run in made or ()]
        if len(values) < LEAST_REPEATS or len(set(values)) < 2:
            continue
        test = stats.spearmanr(range(len(values)), values)
        if test.pvalue < 1 - CONFIDENCE:
            yield Finding(
                "drift",
                "warning",
                side,
                found=float(test.pvalue),
                limit=1 - CONFIDENCE,
                figures={
                    "metric": first.observed.metric.name,
                    "rises": test.statistic > 0,
                    "runs": len(values),
                },
            )


def baseline(comparison: Comparison) -> Iterator[Finding]:
    # Over repeats, where there are as many as it takes to know them; else over parts of their time,
    # as long as they can be: the shorter, the more chance there is in each.
    first = primary(comparison)
    if first is None:
        return
    base = first.observed.base
    values = np.array([value for _, value in first.runs["base"]])
    of_runs = len(values) >= LEAST_REPEATS
    if not of_runs and base.of == "blocks":
        parts = [np.array_split(one, _PARTS) for one in (base.numerator, base.denominator)]
        above, below = (np.array([part.sum() for part in one]) for one in parts)
        values = above[below > 0] / below[below > 0]
    if len(values) < 2 or not np.median(values):
        return
    low, middle, high = np.percentile(values, [25, 50, 75])
    spread = float((high - low) / abs(middle))
    if spread > _SPREAD:
        yield Finding(
            "baseline",
            "warning",
            "base",
            found=spread,
            limit=_SPREAD,
            figures={
                "metric": first.observed.metric.name,
                "number": len(values),
                "of": "repeats" if of_runs or base.of == "repeats" else "parts",
            },
        )


def labels(comparison: Comparison) -> Iterator[Finding]:
    # A label that one side lacks is not known to differ.
    differs = {name: values for name, values in comparison.differs.items() if all(values)}
    if len(differs) > 1:
        yield Finding("labels", "warning", figures={"labels": differs})

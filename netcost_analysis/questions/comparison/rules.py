# What a rule of comparability returns, and its sentence; and rules of the number, order and scatter
# of the runs.

import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...comparison.comparison import Comparison
from ...comparison.run import CONTROL, Run
from ...display.templates import as_text, render
from ...parsers.host import Snapshot
from ...stats.change import LEAST_BLOCKS, LEAST_REPEATS
from ...stats.resampling import CONFIDENCE
from .metrics import primary

# The gravest first: no verdict at all, one that may be wrong, worth knowing.
SEVERITIES = ("refused", "warning", "note")
_SENTENCES = Path(__file__).with_name("comparability_why.md")


class Finding(NamedTuple):
    # side: "base", "new", or "" for both. of_run: the name of one run, or "". found, limit: the
    # figure that the rule rests on, and the limit that it exceeds; NaN where there is none.
    # figures: what the sentence needs, by the names used in comparability_why.md.
    code: str
    severity: str
    side: str = ""
    of_run: str = ""
    found: float = float("nan")
    limit: float = float("nan")
    figures: Mapping[str, Any] = {}

    @property
    def why(self) -> str:
        # A sentence without its full stop, as plain text.
        known = {**self._asdict(), **self.figures}
        return as_text(render(_SENTENCES, known)).strip()


def finding(*facts: Any, **more: Any) -> Finding:
    # What is no field of a Finding is one of its figures.
    named = {name: more.pop(name) for name in Finding._fields if name in more}
    return Finding(*facts, **named)._replace(figures=more)


def recorded(comparison: Comparison) -> Iterator[tuple[str, Run]]:
    return ((side, run) for side, runs in comparison.sides.items() for run in runs.recorded)


def unlike(
    comparison: Comparison,
    code: str,
    severity: str,
    fact: Callable[[Run], Any],
    figure: str = "values",
) -> Iterator[Finding]:
    # A finding where this fact differs between recorded runs. None is unknown, and differs from
    # nothing.
    values = {
        side: list(dict.fromkeys(one for one in map(fact, runs.recorded) if one is not None))
        for side, runs in comparison.sides.items()
    }
    if len({one for some in values.values() for one in some}) > 1:
        yield Finding(code, severity, figures={figure: values})


# How far the middle half of the base's values may spread, relative to their median. With few runs
# these are values of parts of their time.
_SPREAD, _PARTS = 0.1, LEAST_BLOCKS
# A step with RPS hands over so many packets or more, and fewer without.
_HANDED = 100


def _runs(comparison: Comparison) -> dict[str, list[Run]]:
    # The runs that the verdict rests on.
    first = primary(comparison)
    if first is None:
        return {side: list(runs) for side, runs in comparison.sides.items()}
    return {side: [run for run, _ in runs] for side, runs in first.runs.items()}


def repeats(comparison: Comparison) -> Iterator[Finding]:
    for side, runs in _runs(comparison).items():
        if len(runs) < LEAST_REPEATS:
            yield finding("repeats", "note", side, found=len(runs), limit=LEAST_REPEATS)


def in_order(runs: dict[str, list[Run]]) -> list[tuple[str, Run]] | None:
    # The runs of both sides in the order in which they were made, each with its side. The order is
    # that of the rows of their experiments, else of the host's clock. None where unknown.
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
    if run.bundle is None:
        return None, ""
    host, stamp = (
        run.bundle.text(f"before/settings/{name}") or "" for name in ("hostname", "stamp")
    )
    at = run.bundle.before.stamp or Snapshot({"stamp": stamp}).stamp
    return at.get("realtime_ns"), host.partition("\n")[0]


def order(comparison: Comparison) -> Iterator[Finding]:
    # The order of one run per side says nothing.
    runs = _runs(comparison)
    if sum(map(len, runs.values())) < 3:
        return
    made = in_order(runs)
    if made is None:
        yield finding("order_unknown", "note")
        return
    sides = [side for side, _ in itertools.groupby(side for side, _ in made)]
    if len(sides) == 2:
        yield finding("order", "warning", first=sides[0])


def drift(comparison: Comparison) -> Iterator[Finding]:
    from scipy import special

    first = primary(comparison)
    if first is None:
        return
    for side, runs in first.runs.items():
        figures = dict(runs)
        made = in_order({side: list(figures)})
        values = [figures[run] for _, run in made or ()]
        if len(values) < LEAST_REPEATS or len(set(values)) < 2:
            continue
        # Spearman's, without scipy.stats, which takes long to import.
        alike = np.corrcoef(np.arange(len(values)), pd.Series(values).rank())[0, 1]
        free, rest = len(values) - 2, max(1 - alike**2, 1e-15)
        p = float(2 * special.stdtr(free, -np.sqrt(free * alike**2 / rest)))
        if p < 1 - CONFIDENCE:
            yield finding(
                *("drift", "warning", side, "", p, 1 - CONFIDENCE),
                metric=first.metric.name,
                rises=bool(alike > 0),
                runs=len(values),
            )


def baseline(comparison: Comparison) -> Iterator[Finding]:
    # Over repeats where there are enough, else over parts of their time, which are as long as
    # possible: short parts scatter by chance.
    first = primary(comparison)
    if first is None:
        return
    base = first.base
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
        yield finding(
            *("baseline", "warning", "base", "", spread, _SPREAD),
            metric=first.metric.name,
            number=len(values),
            of="repeats" if of_runs or base.of == "repeats" else "parts",
        )


def labels(comparison: Comparison) -> Iterator[Finding]:
    # A label that one side lacks may not differ.
    differs = {name: values for name, values in comparison.differs.items() if all(values)}
    if len(differs) > 1:
        yield finding("labels", "warning", labels=differs)


def controls(comparison: Comparison) -> Iterator[Finding]:
    # Steps whose own control says that a setting was not in force: docs/lab.md lists them.
    for side, run in ((side, run) for side, runs in comparison.sides.items() for run in runs):
        for setting, holds in _controls(run).items():
            if not holds:
                yield finding("controls", "refused", side, run.name, setting=setting)


def _controls(run: Run) -> dict[str, bool]:
    of, found = {name.removeprefix(CONTROL): value for name, value in run.controls.items()}, {}
    defer_max, rps = run.labels.get("skb_defer_max"), run.labels.get("rps")
    if {"packets", "packets_elsewhere"} <= set(of):
        found["its packets are for one CPU"] = of["packets"] > of["packets_elsewhere"]
    if {"freed_by_allocator", "freed_by_reader"} <= set(of) and defer_max is not None:
        deferred = of["freed_by_allocator"] > of["freed_by_reader"]
        found[f"skb_defer_max is {defer_max}"] = deferred == (defer_max != "0")
    if "handed" in of and rps is not None and run.labels.get("cpus") != "one":
        found[f"RPS is {rps}"] = (of["handed"] >= _HANDED) == (rps == "on")
    return found

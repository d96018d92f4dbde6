# Rules of comparability: recordings that were made differently, or are incomplete.

from collections.abc import Iterator
from contextlib import suppress
from statistics import fmean
from typing import Any

from ..._native import CaptureError
from ...capture.recorder import recorder
from ...capture.requires import recorded_events
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import LackingError
from ...timeline.reading import once
from ...units import absent
from ..completeness.completeness import MAX_MISSING, network_missing
from ..samples.sampled import sampled
from ..tracing_overhead.event_cost import chosen, event_cost
from .metrics import observed, primary, unknown_ns
from .rules import Finding, finding, recorded, unlike
from .run_blocks import run_blocks
from .work import Unit, unit_of, units_of

# The share of network softirqs that a recording may lack.
_MISSING = 0.01
# The share of the CPUs' time that must be recorded and have an owner.
_COVERAGE = 0.99
# A side of which no more has an owner tells no times.
_HALF = 0.5
# By event the contexts that it begins; vectors are known by their names.
_OWNERS = {
    "irq:irq_handler_entry": ("hardirq",),
    "irq:softirq_entry": ("softirq", "poll"),
}
# A warning needs a difference in tracing cost above these shares of the difference found and of the
# base's value.
_TRACED, _WORTH = 0.1, 0.01


def unreadable(comparison: Comparison) -> Iterator[Finding]:
    # Recordings without a ledger. Where all of them have samples of functions, component_changes
    # compares them.
    every, failed = list(recorded(comparison)), []
    for side, run in every:
        try:
            run_blocks(run)
        except CaptureError as error:
            said = str(error).removeprefix(f"{run.captures[0].path}: ")
            failed.append(finding("unreadable", "refused", side, run.name, error=said))
    with suppress(LackingError):
        captures = [one for _, run in every for one in run.captures]
        if failed and len(failed) == len(every) and all(map(sampled, captures)):
            yield finding("samples_alone", "note")
            return
    yield from failed


def missing(comparison: Comparison) -> Iterator[Finding]:
    # Network softirqs that the kernel counted and the recording lacks, without a reported loss.
    lacking: dict[str, list[tuple[float, str]]] = {}
    for side, run in recorded(comparison):
        share = max(network_missing(capture) for capture in run.captures)
        if share > _MISSING:
            lacking.setdefault(side, []).append((share, run.name))
    for side, runs in lacking.items():
        share, name = max(runs)
        is_much = share > MAX_MISSING
        limit, severity = (MAX_MISSING, "refused") if is_much else (_MISSING, "warning")
        yield finding("missing", severity, side, name, share, limit, more=len(runs) - 1)


def recorders(comparison: Comparison) -> Iterator[Finding]:
    # perf leaves out what happens while it writes an event, and ftrace does not. So the same load
    # has other owners; versions of one of them see the same.
    seen = {_recorder(run).startswith("perf") for _, run in recorded(comparison)}
    severity = "refused" if len(seen) > 1 else "warning"
    yield from unlike(comparison, "recorders", severity, _recorder, "names")


def _recorder(run: Run) -> str:
    return recorder(run.captures[0].info)


def windows(comparison: Comparison) -> Iterator[Finding]:
    yield from unlike(comparison, "windows", "refused", lambda run: run.part, "names")


def events(comparison: Comparison) -> Iterator[Finding]:
    # A text shows only events that happened, not what was recorded. ftrace's own events are in all
    # of its recordings.
    sets = [
        (side, {name for name in recorded_events(capture) if not name.startswith("ftrace:")})
        for side, run in recorded(comparison)
        if (capture := run.captures[0]).header["format"] != "text"
    ]
    everywhere = set.intersection(*(names for _, names in sets)) if sets else set()
    unlike = {
        side: sorted(set().union(*(names for of, names in sets if of == side)) - everywhere)
        for side in comparison.sides
    }
    if any(unlike.values()):
        # What one side records as interrupts is the time of tasks on the other.
        share = max(_unseen_share(comparison, side, some) for side, some in unlike.items())
        severity = "refused" if share > 1 - _COVERAGE else "warning"
        yield finding("events", severity, found=share, limit=1 - _COVERAGE, unlike=unlike)


def _unseen_share(comparison: Comparison, side: str, names: list[str]) -> float:
    # The most of a run's CPU time that such events of its side alone are the owners of.
    contexts = {context for name in names for context in _OWNERS.get(name, ())}
    # What runs in a vector is called as the vector is.
    vectors = [name.removeprefix("irq_vectors:").removesuffix("_entry") for name in names]
    shares = [0.0]
    for run in comparison.sides[side].recorded:
        sums = run_blocks(run).sums
        of_them = sums["context"].isin(contexts)
        of_them |= (sums["context"] == "vector") & sums["thief"].astype("string").isin(vectors)
        shares.append(float(sums["ns"][of_them.to_numpy(bool)].sum()) / max(sums["ns"].sum(), 1))
    return max(shares)


def tracing(comparison: Comparison) -> Iterator[Finding]:
    # The cost of tracing per unit of work, compared with the difference found.
    first = primary(comparison)
    if first is None or not first.metric.unit.startswith("ns/"):
        return
    base, new = first.base, first.new
    if base.of == "repeats" and not all(
        run.is_recorded for runs in first.runs.values() for run, _ in runs
    ):
        return
    price, costs = tracing_costs(comparison)
    apart, difference = abs(costs["new"] - costs["base"]), abs(new.value - base.value)
    if apart > _WORTH * base.value and apart > _TRACED * difference:
        figures: dict[str, Any] = {**costs, "unit": str(unit_of(comparison)), "price": price}
        figures |= {"apart": apart, "difference": difference}
        part = apart / difference if difference else float("inf")
        yield finding("tracing", "warning", found=part, limit=_TRACED, **figures)


@once
def tracing_costs(comparison: Comparison) -> tuple[int, dict[str, float]]:
    # Of an event, and by side of a unit of work: ns of tracing. One price for both sides: two
    # separate measurements would add a difference. Where the cost is only a range, its lower end:
    # the upper end is for cold caches.
    unit = unit_of(comparison)
    costs = [chosen(event_cost(run.captures[0]).frame) for run in comparison.recorded]
    price = max(
        int(one["event_low_ns" if absent(one["event_ns"]) else "event_ns"]) for one in costs
    )
    return price, {
        side: price * fmean(_events_per(run, unit) for run in runs.recorded)
        for side, runs in comparison.sides.items()
    }


def _events_per(run: Run, unit: Unit) -> float:
    # Events in the whole recording, per unit of work done in that time.
    events = sum(capture.event_count for capture in run.captures)
    seconds = sum((capture.info["duration_ns"] or 0) / 1e9 for capture in run.captures)
    done = float(units_of(run)[unit].sum()) / float(run_blocks(run).seconds.sum())
    return events / seconds / done if seconds and done else 0.0


def uneven(comparison: Comparison) -> Iterator[Finding]:
    # Time without an owner may be of any. Where more of one side has none, by more than a metric
    # changed, the metric may not have changed; of a side of which half has none nothing is known.
    owned = {}
    for side, runs in comparison.sides.items():
        whole = sum(int(run_blocks(run).sums["ns"].sum()) for run in runs.recorded)
        unknown = sum(float(unknown_ns(run).sum()) for run in runs.recorded)
        if not runs.recorded:
            return
        owned[side] = 1 - (unknown / whole if whole else 0.0)
    apart, least = abs(owned["new"] - owned["base"]), min(owned.values())
    if apart <= 1 - _COVERAGE and least > _HALF:
        return
    names = [
        one.metric.name
        for one in observed(comparison)
        if one.metric.kind == "times"
        and (
            least <= _HALF
            or abs(one.unowned[1] - one.unowned[0]) > abs(one.new.value - one.base.value)
        )
    ]
    if names:
        yield finding(
            "uneven", "refused", found=apart, limit=1 - _COVERAGE, metrics=names, owned=owned
        )


def coverage(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        infos = [capture.info for capture in run.captures]
        shares = [info["recorded"] for info in infos if info["recorded"] is not None]
        sums = run_blocks(run).sums
        ns = sums.groupby(sums["context"] != "unknown")["ns"].sum()
        figures = {
            "lost": sum(info["lost_events"] for info in infos),
            "lost_unknown": any(info["lost_unknown"] for info in infos),
            "recorded": min(shares, default=None),
            "owned": float(ns.get(True, 0) / ns.sum()) if ns.sum() else 1.0,
        }
        least = min([figures["owned"], *shares])
        if least < _COVERAGE or figures["lost"] or figures["lost_unknown"]:
            yield finding("coverage", "warning", side, run.name, least, _COVERAGE, **figures)

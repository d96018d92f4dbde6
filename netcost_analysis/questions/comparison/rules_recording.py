# Rules of comparability: recordings that were not made alike, or do not say all.

from collections.abc import Iterator

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
from .finding import Finding, recorded, unlike
from .measured import measured
from .metrics import primary
from .work import Unit, unit_of, units_of

# Softirqs of the network that a recording may lack.
_MISSING = 0.01
# What has to be recorded, and owned, of the CPUs' time.
_COVERAGE = 0.99
# Tracing is worth a warning where its cost differs by more than these parts of the difference found
# and of the base's figure.
_TRACED, _WORTH = 0.1, 0.01


def unreadable(comparison: Comparison) -> Iterator[Finding]:
    # Recordings of which no time can be said. Of samples alone, on both sides, there is something
    # else to compare.
    every, failed = list(recorded(comparison)), []
    for side, run in every:
        try:
            measured(run)
        except CaptureError as error:
            said = str(error).removeprefix(f"{run.captures[0].path}: ")
            failed.append(Finding("unreadable", "refused", side, run.name, figures={"error": said}))
    if failed and len(failed) == len(every) and all(_is_sampled(run) for _, run in every):
        yield Finding("samples_alone", "note")
        return
    yield from failed


def _is_sampled(run: Run) -> bool:
    try:
        return all(sampled(one) for one in run.captures)
    except LackingError:
        return False


def missing(comparison: Comparison) -> Iterator[Finding]:
    # Softirqs of the network that the kernel counted and the recording has not, though its recorder
    # knows of no loss.
    lacking: dict[str, list[tuple[float, str]]] = {}
    for side, run in recorded(comparison):
        share = max(network_missing(capture) for capture in run.captures)
        if share > _MISSING:
            lacking.setdefault(side, []).append((share, run.name))
    for side, runs in lacking.items():
        share, name = max(runs)
        is_much = share > MAX_MISSING
        limit, severity = (MAX_MISSING, "refused") if is_much else (_MISSING, "warning")
        yield Finding("missing", severity, side, name, share, limit, {"more": len(runs) - 1})


def recorders(comparison: Comparison) -> Iterator[Finding]:
    yield from unlike(
        comparison, "recorders", "warning", lambda run: recorder(run.captures[0].info), "names"
    )


def events(comparison: Comparison) -> Iterator[Finding]:
    sets: list[tuple[str, set[str]]] = []
    for side, run in recorded(comparison):
        # A text has those that happened, and does not say what was recorded.
        if run.captures[0].header["format"] != "text":
            # ftrace's own come with every recording of it, whatever was asked for.
            names = {
                name for name in recorded_events(run.captures[0]) if not name.startswith("ftrace:")
            }
            sets.append((side, names))
    everywhere = set.intersection(*(names for _, names in sets)) if sets else set()
    unlike = {
        side: sorted(set().union(*(names for of, names in sets if of == side)) - everywhere)
        for side in comparison.sides
    }
    if any(unlike.values()):
        yield Finding("events", "warning", figures={"unlike": unlike})


def tracing(comparison: Comparison) -> Iterator[Finding]:
    # What the tracing of events cost per unit of work, beside the difference found.
    first = primary(comparison)
    if first is None or not first.observed.metric.unit.startswith("ns/"):
        return
    base, new = first.observed.base, first.observed.new
    if base.of == "repeats" and not all(
        run.is_recorded for runs in first.runs.values() for run, _ in runs
    ):
        return
    unit = unit_of(comparison)
    # One price for both sides: two that were measured apart would be a difference of their own.
    price = max(_price(run) for _, run in recorded(comparison))
    costs = {}
    for side, runs in comparison.sides.items():
        events = [_events_per(run, unit) for run in runs.recorded]
        costs[side] = price * sum(events) / len(events)
    apart, difference = abs(costs["new"] - costs["base"]), abs(new.value - base.value)
    if apart > _WORTH * base.value and apart > _TRACED * difference:
        yield Finding(
            "tracing",
            "warning",
            found=apart / difference if difference else float("inf"),
            limit=_TRACED,
            figures={
                **costs,
                "unit": str(unit),
                "price": price,
                "apart": apart,
                "difference": difference,
            },
        )


@once
def _events_per(run: Run, unit: Unit) -> float:
    # Of its whole recording, for each unit of the work done in that time.
    events = sum(capture.event_count for capture in run.captures)
    seconds = sum((capture.info["duration_ns"] or 0) / 1e9 for capture in run.captures)
    done = float(units_of(run)[unit].sum()) / float(measured(run).seconds.sum())
    return events / seconds / done if seconds and done else 0.0


@once
def _price(run: Run) -> int:
    # Where an event's cost is a range only, its lower end: the upper one is of cold caches.
    cost = chosen(event_cost(run.captures[0]).frame)
    return int(cost["event_low_ns"] if absent(cost["event_ns"]) else cost["event_ns"])


def coverage(comparison: Comparison) -> Iterator[Finding]:
    for side, run in recorded(comparison):
        infos = [capture.info for capture in run.captures]
        shares = [info["recorded"] for info in infos if info["recorded"] is not None]
        sums = measured(run).sums
        ns = sums.groupby(sums["context"] != "unknown")["ns"].sum()
        figures = {
            "lost": sum(info["lost_events"] for info in infos),
            "lost_unknown": any(info["lost_unknown"] for info in infos),
            "recorded": min(shares, default=None),
            "owned": float(ns.get(True, 0) / ns.sum()) if ns.sum() else 1.0,
        }
        least = min([figures["owned"], *shares])
        if least < _COVERAGE or figures["lost"] or figures["lost_unknown"]:
            yield Finding("coverage", "warning", side, run.name, least, _COVERAGE, figures)

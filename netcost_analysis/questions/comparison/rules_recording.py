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
from ..completeness.missing import MAX_MISSING, network_missing
from ..samples.sampled import sampled
from ..tracing_overhead.event_cost import chosen, event_cost
from .finding import Finding
from .measured import measured
from .primary import primary
from .rules_host import recorded
from .work import Unit, unit_of, units_of

# Softirqs of the network that a recording may lack.
_MISSING = 0.01
# What has to be recorded, and owned, of the CPUs' time.
_COVERAGE = 0.99
# A difference of what tracing cost, of the difference found and of the base's figure.
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
    by_side: dict[str, dict[str, None]] = {side: {} for side in comparison.sides}
    for side, run in recorded(comparison):
        by_side[side][recorder(run.captures[0].info)] = None
    names = {side: list(some) for side, some in by_side.items()}
    if len({name for some in names.values() for name in some}) > 1:
        yield Finding("recorders", "warning", figures={"names": names})


def events(comparison: Comparison) -> Iterator[Finding]:
    # A text has those that happened, and does not say what was recorded.
    sets: list[tuple[str, set[str]]] = []
    for side, run in recorded(comparison):
        capture = run.captures[0]
        if capture.header["format"] != "text":
            # ftrace's own come with every recording of it, whatever was asked for.
            own = {one for one in recorded_events(capture) if not one.startswith("ftrace:")}
            sets.append((side, own))
    if not sets:
        return
    everywhere = set.intersection(*(some for _, some in sets))
    unlike = {
        side: sorted({one for of, some in sets for one in some if of == side} - everywhere)
        for side in comparison.sides
    }
    if any(unlike.values()):
        yield Finding("events", "warning", figures={"unlike": unlike})


def tracing(comparison: Comparison) -> Iterator[Finding]:
    # What the tracing of events cost per unit of work, beside the difference found.
    found = primary(comparison)
    if found is None or not found.observed.metric.unit.startswith("ns/"):
        return
    base, new = found.observed.base.value, found.observed.new.value
    if found.observed.base.of == "repeats" and not all(
        run.is_recorded for runs in found.runs.values() for run, _ in runs
    ):
        return
    unit = unit_of(comparison)
    each = {
        side: [_events_per(run, unit) for run in runs.recorded]
        for side, runs in comparison.sides.items()
    }
    # One price for both sides: two that were measured apart would be a difference of their own.
    price = max(_price(run) for _, run in recorded(comparison))
    costs = {side: price * sum(some) / len(some) for side, some in each.items()}
    apart, difference = abs(costs["new"] - costs["base"]), abs(new - base)
    if apart > _WORTH * base and apart > _TRACED * difference:
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
        lost = sum(info["lost_events"] for info in infos)
        shares = [info["recorded"] for info in infos if info["recorded"] is not None]
        sums = measured(run).sums
        whole = int(sums["ns"].sum())
        owned = int(sums.loc[sums["context"] != "unknown", "ns"].sum()) / whole if whole else 1.0
        least = min([owned, *shares])
        some = any(info["lost_unknown"] for info in infos)
        if least < _COVERAGE or lost or some:
            figures = {"lost": lost, "lost_unknown": some, "recorded": min(shares, default=None)}
            yield Finding(
                "coverage", "warning", side, run.name, least, _COVERAGE, {**figures, "owned": owned}
            )

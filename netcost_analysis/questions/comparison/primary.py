# The metric that a verdict is about, and what each run has of it.

from typing import NamedTuple

from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...errors import AbsentError, no_such
from ...timeline.reading import once
from .metrics import Observed, observed, of_recordings
from .work import unit_of

# The verdict is about the first of these that there is, unless another is named.
_PRIMARY = ("network_ns_per_", "received_bits_per_second")


class Primary(NamedTuple):
    # observed: both sides of the metric. runs: by side each run that has it, with its figure.
    observed: Observed
    runs: dict[str, list[tuple[Run, float]]]


def primary_name(comparison: Comparison, names: list[str]) -> str:
    # Of the metrics that there are, the one that was named beforehand.
    if comparison.primary is None:
        for wanted in _PRIMARY:
            for name in names:
                if name.startswith(wanted):
                    return name
        return names[0]
    if comparison.primary not in names:
        raise AbsentError(no_such("metric", comparison.primary, names))
    return comparison.primary


@once
def primary(comparison: Comparison) -> Primary | None:
    # None where the sides have no metric in common.
    found = {one.metric.name: one for one in observed(comparison)}
    if not found:
        return None
    name = primary_name(comparison, list(found))
    return Primary(found[name], _of_runs(comparison, name))


def _of_runs(comparison: Comparison, name: str) -> dict[str, list[tuple[Run, float]]]:
    sides = comparison.sides.items()
    if all(name in run.figures for _, side in sides for run in side.measured):
        measured = {key: [(run, run.figures[name]) for run in side.measured] for key, side in sides}
        if all(measured.values()):
            return measured
    recorded = of_recordings(comparison, unit_of(comparison))
    of = next(counted for metric, counted in recorded if metric.name == name)
    found: dict[str, list[tuple[Run, float]]] = {}
    for key, side in sides:
        counts = [(run, of(run)) for run in side.recorded]
        known = [(run, pair) for run, pair in counts if pair is not None and pair[1].sum()]
        found[key] = [(run, float(above.sum() / below.sum())) for run, (above, below) in known]
    return found

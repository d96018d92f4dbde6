# Whether two run sets can be compared: all rules applied.

from collections.abc import Callable, Iterator

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...timeline.reading import once
from . import rules, rules_host, rules_load, rules_recording
from .counted import Kind, Metric
from .metrics import primary
from .rules import SEVERITIES, Finding

Rule = Callable[[Comparison], Iterator[Finding]]
# The kinds of metrics that a finding refuses, by its code, and the others all kinds. Whose the CPU
# time is decides nothing about a throughput or the size of a batch.
_REFUSES: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(("processor", "clock_speed", "throughput"), ("times",)),
    **dict.fromkeys(("recorders", "events", "windows", "controls", "uneven"), ("times",)),
    **dict.fromkeys(("cpu_number", "missing"), ("times", "counts")),
}
_KINDS: tuple[Kind, ...] = ("times", "counts", "figures")
# Rules that need only labels, manifests and headers.
RULES: tuple[Rule, ...] = (
    *(rules_host.processor, rules_host.clock_speed, rules_host.cpu_number, rules_host.governor),
    *(rules_host.settings, rules_load.load_command, rules.labels, rules.controls),
    *(rules_recording.recorders, rules_recording.windows),
    *(rules_load.confidence, rules_load.work, rules_host.hypervisor, rules_host.unknown),
)
# Rules that need the events.
MEASURED: tuple[Rule, ...] = (
    *(rules_load.packet_size, rules_load.packets_counted, rules_load.throughput),
    *(rules_recording.missing, rules_recording.tracing, rules_recording.coverage),
    *(rules_recording.events, rules_recording.uneven),
    rules_host.neighbour,
    *(rules.baseline, rules.drift, rules.order, rules.repeats),
)


@question(
    columns=("severity", "code", "refuses", "side", "why", "of_run", "found", "limit"), rows=0
)
def comparability(comparison: Comparison) -> Answer:
    """Whether the sides can be compared at all, and what may be wrong with a comparison.

    A row per finding, the gravest first: "refused" (there is no verdict on the metrics of refuses),
    "warning" (a verdict may be wrong), "note" (worth knowing). side is "" for both sides, of_run
    for all runs of a side.
    The rules and their limits are in docs/definitions.md. What was not recorded is called unknown,
    and is not assumed to be alike.

    Source: manifests and snapshots of each bundle, its load's output, the sums of each recording,
    and the table of steps.
    """
    columns = ["code", "severity", "side", "of_run", "found", "limit", "why"]
    found = findings(comparison)
    rows = [[*(getattr(one, name) for name in columns), ", ".join(_refused(one))] for one in found]
    frame = pd.DataFrame(rows, columns=[*columns, "refuses"])
    return Answer(
        frame,
        refusals=[one.why for one in found if one.severity == "refused"],
        warnings=int((frame["severity"] == "warning").sum()),
    )


@once
def findings(comparison: Comparison) -> list[Finding]:
    # Of all rules, the gravest first.
    found = list(rules_recording.unreadable(comparison))
    applied = RULES if found else (*RULES, *MEASURED)
    found += [one for rule in applied for one in rule(comparison)]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def _refused(one: Finding) -> tuple[str, ...]:
    # The kinds of metrics that it refuses, or their names.
    if one.severity != "refused":
        return ()
    return tuple(one.figures.get("metrics") or _REFUSES.get(one.code, _KINDS))


def refusals(comparison: Comparison, metric: Metric | None = None) -> tuple[str, ...]:
    # Why there is no verdict on a metric, or on times; empty where there is one.
    first = None if metric else primary(comparison)
    names = {metric.name, metric.kind} if metric else {"times"}
    names |= {first.metric.name} if first else set()
    return tuple(one.why for one in findings(comparison) if names & set(_refused(one)))

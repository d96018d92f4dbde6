# Whether two run sets can be compared: all rules applied.

from collections.abc import Callable, Iterator

import pandas as pd

from ...answers.answer import Answer
from ...answers.question import question
from ...comparison.comparison import Comparison
from ...timeline.reading import once
from . import rules_host, rules_load, rules_recording, rules_runs
from .finding import SEVERITIES, Finding

Rule = Callable[[Comparison], Iterator[Finding]]
# Rules that need only labels, manifests and headers.
RULES: tuple[Rule, ...] = (
    *(rules_host.processor, rules_host.clock_speed, rules_host.cpu_number, rules_host.governor),
    *(rules_host.settings, rules_load.load_command, rules_runs.labels),
    *(rules_recording.recorders, rules_recording.events),
    *(rules_load.confidence, rules_load.work, rules_host.hypervisor, rules_host.unknown),
)
# Rules that need the events.
MEASURED: tuple[Rule, ...] = (
    *(rules_load.packet_size, rules_load.packets_counted, rules_load.throughput),
    *(rules_recording.missing, rules_recording.tracing, rules_recording.coverage),
    rules_host.neighbour,
    *(rules_runs.baseline, rules_runs.drift, rules_runs.order, rules_runs.repeats),
)


@question(columns=("severity", "code", "side", "why", "of_run", "found", "limit"), rows=0)
def comparability(comparison: Comparison) -> Answer:
    """Whether the sides can be compared at all, and what may be wrong with a comparison.

    A row per finding, the gravest first: "refused" (there can be no verdict), "warning" (a verdict
    may be wrong), "note" (worth knowing). side is "" for both sides, of_run for all runs of a side.
    The rules and their limits are in docs/definitions.md. What was not recorded is called unknown,
    and is not assumed to be alike.

    Source: manifests and snapshots of each bundle, its load's output, the sums of each recording,
    and the table of steps.
    """
    columns = ["code", "severity", "side", "of_run", "found", "limit", "why"]
    rows = [[getattr(one, name) for name in columns] for one in findings(comparison)]
    frame = pd.DataFrame(rows, columns=columns)
    return Answer(
        frame,
        refusals=list(refusals(comparison)),
        warnings=int((frame["severity"] == "warning").sum()),
    )


@once
def findings(comparison: Comparison) -> list[Finding]:
    # Of all rules, the gravest first.
    found = list(rules_recording.unreadable(comparison))
    rules = RULES if found else (*RULES, *MEASURED)
    found += [one for rule in rules for one in rule(comparison)]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def refusals(comparison: Comparison) -> tuple[str, ...]:
    # Why no question gives a verdict; empty where they do.
    return tuple(one.why for one in findings(comparison) if one.severity == "refused")

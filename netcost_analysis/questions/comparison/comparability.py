# Whether two run sets can be compared, by rule.

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...answers.question import question
from ...comparison.comparison import Comparison
from ...timeline.reading import once
from . import rules_host, rules_load, rules_recording, rules_runs
from .finding import SEVERITIES, Finding

if TYPE_CHECKING:
    from ...answers.answer import Answer

Rule = Callable[[Comparison], Iterator[Finding]]
COLUMNS = ("code", "severity", "side", "of_run", "found", "limit", "why")
# What labels, manifests and headers tell.
RULES: tuple[Rule, ...] = (
    *(rules_host.processor, rules_host.clock_speed, rules_host.cpu_number, rules_host.governor),
    *(rules_host.settings, rules_load.load_command, rules_runs.labels),
    *(rules_recording.recorders, rules_recording.events),
    *(rules_load.confidence, rules_host.hypervisor, rules_host.unknown),
)
# What only the events tell.
MEASURED: tuple[Rule, ...] = (
    *(rules_load.packet_size, rules_load.packets_counted, rules_load.throughput),
    *(rules_recording.missing, rules_recording.tracing, rules_recording.coverage),
    rules_host.neighbour,
    *(rules_runs.baseline, rules_runs.drift, rules_runs.order, rules_runs.repeats),
)
# So many findings of one rule words say in full.
_SHOWN = 3


@question(
    topic="comparison",
    columns=("severity", "code", "side", "why", "of_run", "found", "limit"),
    rows=0,
)
def comparability(comparison: Comparison) -> pd.DataFrame:
    """Whether the sides can be compared at all, and what may be wrong about it.

    A row per finding, the gravest first: code, severity ("refused": no verdict can be given;
    "warning": one may be wrong; "note": worth knowing), side ("base", "new", or "" for both),
    of_run (one run, or "" for all of the side), found, limit (the figure that the rule rests on,
    and from which on it fires; NaN where it has none), why (a sentence with its figures).

    The rules and their limits are in docs/definitions.md. What was not recorded is said to be
    unknown, and is not taken for alike. Source: manifests and snapshots of each bundle, its load's
    output, the sums of each recording, and the table of steps.
    """
    rows = [[getattr(one, name) for name in COLUMNS] for one in findings(comparison)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


@once
def findings(comparison: Comparison) -> list[Finding]:
    # Of all rules, the gravest first.
    found = list(rules_recording.unreadable(comparison))
    rules = RULES if found else (*RULES, *MEASURED)
    found += [one for rule in rules for one in rule(comparison)]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def refusals(comparison: Comparison) -> tuple[str, ...]:
    # Why there is no verdict, whatever is asked of the two; empty where there is one.
    return tuple(one.why for one in findings(comparison) if one.severity == "refused")


@comparability.totals
def _totals(answer: "Answer") -> dict[str, Any]:
    # refusals: of what allows no verdict the sentences. warnings: how many.
    frame = answer.frame
    return {
        "refusals": list(frame.loc[frame["severity"] == "refused", "why"]),
        "warnings": int((frame["severity"] == "warning").sum()),
    }


@comparability.figures
def _figures(answer: "Answer") -> dict[str, Any]:
    frame = answer.frame
    kinds = []
    for severity, code in frame[["severity", "code"]].drop_duplicates().to_numpy():
        alike = frame[(frame["severity"] == severity) & (frame["code"] == code)]
        kinds.append(
            {
                "severity": severity,
                "code": code,
                "whys": list(alike["why"][:_SHOWN]),
                "more": len(alike[_SHOWN:]),
            }
        )
    return {"kinds": kinds, "refusals": answer.parts["refusals"]}

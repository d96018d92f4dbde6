# Whether two run sets can be compared, by all rules; which runs they are; and each observation of a
# metric, for other statistics.

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.capture import Capture
from ...capture.checksum import checksum
from ...capture.manifest import Load, Manifest
from ...capture.recorder import recorder
from ...comparison.comparison import Comparison
from ...timeline.reading import once
from . import rules, rules_host, rules_load, rules_recording
from .counted import Kind, Metric
from .metrics import observed, primary
from .rules import SEVERITIES, Finding, in_order
from .tasks import senders_and_receivers

Rule = Callable[[Comparison], Iterator[Finding]]
# The kinds of metrics that a finding refuses, by its code, or what they count; others refuse all
# kinds. Whose the CPU time is decides nothing about a throughput or the size of a batch.
_REFUSES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("processor", "clock_speed", "throughput"), ("times",)),
    **dict.fromkeys(("events", "windows", "controls", "uneven"), ("times",)),
    # perf leaves out switches that ftrace shows.
    "recorders": ("times", "switches", "migrations"),
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
    columns = ["code", "severity", "side", "of_run", "found", "limit", "why", "refuses"]
    rows = [
        one._asdict() | {"why": one.why, "refuses": ", ".join(_refused(one))}
        for one in findings(comparison)
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return Answer(
        frame,
        refusals=list(frame.loc[frame["severity"] == "refused", "why"]),
        warnings=int((frame["severity"] == "warning").sum()),
    )


@once
def findings(comparison: Comparison) -> list[Finding]:
    found = list(rules_recording.unreadable(comparison))
    for rule in RULES if found else (*RULES, *MEASURED):
        found += rule(comparison)
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


def _refused(one: Finding) -> tuple[str, ...]:
    # The kinds of metrics that it refuses, or their names.
    if one.severity != "refused":
        return ()
    return tuple(one.figures.get("metrics") or _REFUSES.get(one.code, _KINDS))


def refusals(comparison: Comparison, metric: Metric | None = None) -> tuple[str, ...]:
    # Why there is no verdict on a metric, or on times; empty where there is one.
    if metric:
        names = {metric.name, metric.kind, metric.name.partition("_per_")[0]}
    else:
        first = primary(comparison)
        names = {"times", first.metric.name if first else "times"}
    return tuple(one.why for one in findings(comparison) if names & set(_refused(one)))


_COLUMNS = (
    *("side", "of_run", "is_recorded", "path", "sha256", "kernel", "cpu_model", "recorder"),
    *("record_command", "load", "victim_command", "duration_ns", "event_count", "lost_events"),
    "recorded_share",
)


@question(columns=("side", "of_run", "sha256", "kernel", "recorder", "duration_ns"), rows=24)
def runs_compared(comparison: Comparison) -> Answer:
    """Which runs are compared: each with its recording's checksum, host, command and coverage.

    A row per run, and per file of a rotated recording. What is not known is null, as is everything
    of a run that was not recorded. `run_order`: the order in which they were made. Source:
    provenance's checksum, Capture.info, the bundles' manifests.
    """
    rows: list[dict[str, Any]] = []
    for side, runs in comparison.sides.items():
        for run in runs:
            named = {"side": side, "of_run": run.name, "is_recorded": run.is_recorded}
            recordings = [_recording(capture) for capture in run.captures] or [{}]
            rows += [{**named, "kernel": run.labels.get("kernel"), **one} for one in recordings]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(object)
    sides = [
        {
            "side": name,
            "runs": len(runs),
            "recorded": len(runs.recorded),
            "kernels": list(frame.loc[frame["side"] == name, "kernel"].dropna().unique()),
            "models": list(frame.loc[frame["side"] == name, "cpu_model"].dropna().unique()),
        }
        for name, runs in comparison.sides.items()
    ]
    made = in_order({side: list(runs) for side, runs in comparison.sides.items()})
    task_counts = []
    for side, runs in comparison.sides.items():
        # A recording without a ledger follows no packets.
        with suppress(CaptureError):
            if runs.recorded and (counts := senders_and_receivers(runs.recorded[0])):
                task_counts.append({"side": side, "senders": counts[0], "receivers": counts[1]})
    return Answer(
        frame,
        sides=sides,
        load_commands=list(frame["load"].dropna().unique()),
        victim_commands=list(frame["victim_command"].dropna().unique()),
        run_order="".join(side[0] for side, _ in made or ()) or None,
        task_counts=task_counts,
    )


def _recording(capture: Capture) -> dict[str, Any]:
    manifest = capture.bundle.manifest if capture.bundle else Manifest()
    found = {
        "path": capture.path,
        "sha256": checksum(capture),
        "cpu_model": manifest.host.cpu_model,
        "load": (manifest.load or Load()).command,
        "victim_command": (manifest.victim or Load()).command,
        "record_command": manifest.record_command or " ".join(capture.header["cmdline"] or ()),
    }
    kernel = capture.header.get("os_release") or manifest.host.kernel
    found |= {"kernel": str(kernel)} if kernel else {}
    try:
        info = capture.info
    except CaptureError:
        return found
    return found | {
        "recorder": recorder(info),
        "duration_ns": info["duration_ns"],
        "event_count": capture.event_count,
        "lost_events": info["lost_events"],
        "recorded_share": info["recorded"],
    }


@question()
def observations(comparison: Comparison) -> Answer:
    """Each repeat or block of time in which a metric of the comparison was observed.

    A row per metric, side and repeat or block: the values that `changes` judges; `spread`: their
    standard deviation. A block without any work has no value. The figure over blocks is the ratio
    of their sums, not a mean of these values. Source: as `changes`.
    """
    values, spread = [], []
    for metric, base, new, *_ in observed(comparison):
        for name, side in {"base": base, "new": new}.items():
            row = {"metric": metric.name, "per_unit": metric.unit, "side": name}
            frame = pd.DataFrame({**row, "observed_value": side.observed})
            frame.insert(3, "observation", range(1, len(frame) + 1))
            values.append(frame[np.isfinite(side.observed)])
            deviation = {"deviation_share": side.deviation_share}
            spread.append(row | deviation | {"observed_in": side.of, "wanted": metric.better})
    if not spread:
        raise CaptureError("the sides have no metric in common: nothing can be compared")
    columns = ["metric", "per_unit", "wanted", "side", "observed_in", "deviation_share"]
    return Answer(
        observations=pd.concat(values, ignore_index=True), spread=pd.DataFrame(spread)[columns]
    )

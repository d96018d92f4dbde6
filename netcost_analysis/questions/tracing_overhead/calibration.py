# The cost of an event from netcost-record --calibrate, which runs the victim four times: alone and
# under load, each untraced and traced.

from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...display.templates import as_text, render
from ...opening.opening import open_capture
from ...spans import Floats
from ...stats.resampling import reach
from .event_counts import event_count
from .loads import ALIKE, Compared, compared, load_of

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...parsers.openssl import SpeedRun

_Rates = dict[tuple[str, int], float]
_RUNS = ("idle", "idle_traced", "load")
# Tracing hardly affects the 28 idle pairs of sample-data/hidden-cost. They differ by 0.8 %
# (median), with a standard deviation of 1.2 %, so a single pair may agree by luck.
_LEAST_NOISE = 0.01
# From the help of the kernel's CONFIG_TRACEPOINT_BENCHMARK: hot and cold caches.
PUBLISHED_NS = (300, 3_700)
# A third of the former. netcost-record --check measured at least 214 ns (docs/capture.md); less
# than this is a difference between runs, not the cost of an event.
_LEAST_NS = 100
# As a share of a CPU. Differences between loads that explain less are not mentioned.
_WORTH_SAYING = 0.001
_WHY = Path(__file__).with_name("event_cost_reason.md")


class Cost(NamedTuple):
    # A row of event_cost.
    source: str
    event_ns: float | None
    event_low_ns: float
    event_high_ns: float
    measured_events: int | None
    cpu: int | None
    usable: bool
    why: str


def calibrated(capture: "Capture") -> list[Cost]:
    # The pair under load first, which has most events. Empty without a calibration.
    bundle = capture.bundle
    folders = bundle.manifest.calibration if bundle else None
    if bundle is None or folders is None:
        return []
    idle, idle_traced, load = (bundle.run(getattr(folders, name)) for name in _RUNS)
    if idle is None or not idle.speed_runs:
        return []
    full, cpu = _rates(idle.speed_runs), bundle.victim_cpu
    costs, noise = [], None
    if idle_traced is not None and idle_traced.speed_runs:
        lost = _shares_lost(full, full, _rates(idle_traced.speed_runs))
        if len(lost):
            noise = abs(float(lost.mean()))
            costs = _judged("idle", lost, open_capture(idle_traced.path), cpu)
    if load is not None and bundle.speed_runs:
        untraced = _rates(load.speed_runs)
        lost = _shares_lost(full, untraced, _rates(bundle.speed_runs))
        to_load = _shares_lost(full, full, untraced)
        if len(lost):
            lost_to_load = float(to_load.mean()) if len(to_load) else 0.0
            loads = compared(load_of(load, cpu), load_of(bundle, cpu))
            costs = _judged("load", lost, capture, cpu, noise, lost_to_load, loads) + costs
    return costs


def _rates(runs: "list[SpeedRun]") -> _Rates:
    # Blocks per second of wall time, by algorithm and block size.
    return {run.work: run.per_s for run in runs if run.blocks}


def _shares_lost(full: _Rates, untraced: _Rates, traced: _Rates) -> Floats:
    # For each block size, the share of the victim's full speed that tracing cost; 1 is a CPU.
    keys = [key for key in traced if key in untraced and full.get(key)]
    return np.array([(untraced[key] - traced[key]) / full[key] for key in keys])


def _judged(
    pair: str,
    lost: Floats,
    traced: "Capture",
    cpu: int | None,
    noise: float | None = None,
    lost_to_load: float = 0.0,
    loads: Compared = ALIKE,
) -> list[Cost]:
    # judged() with the events on the victim's CPU while it ran; empty where there were none.
    summary = traced.victim_timeline().summary
    start, end = int(summary["start_ns"]), int(summary["end_ns"])
    events = event_count(traced, start, end, summary["cpus"])
    if not events:
        return []
    cost = judged(pair, lost, events, (end - start) / 1e9, noise, lost_to_load, loads)
    return [cost._replace(cpu=cpu)]


def judged(
    pair: str,
    lost: Floats,
    events: int,
    seconds: float,
    noise: float | None,
    lost_to_load: float = 0.0,
    loads: Compared = ALIKE,
) -> Cost:
    # lost, lost_to_load: what tracing, and the untraced load, cost the victim, as shares of a CPU.
    # noise: by how much two equal runs differ, None where unknown. loads: how the two loads differ.
    each = 1e9 * seconds / events
    mean = float(lost.mean())
    if len(lost) > 1:
        width = reach(len(lost)) * float(lost.std()) / sqrt(len(lost))
    else:
        width = float("inf") if noise is None else max(noise, _LEAST_NOISE)
    # What the difference between the loads may have cost, at least and at most: the cost of a
    # packet without tracing, times the difference in packets.
    less, more = (max(lost_to_load, 0.0) * end for end in (loads.low, loads.high))
    low = max(mean - more - width, 0.0) * each
    # Without an interval the published cost is the upper end.
    high = max(mean - less + (width if isfinite(width) else 0.0), 0.0) * each
    refused = loads.refused or _implausible(mean * each, low, high)
    figures = {
        "lost_share": mean,
        "events": events,
        "sizes": len(lost),
        "noise_share": width if isfinite(width) else None,
        "loads_share": more - less if loads.differ and more - less >= _WORTH_SAYING else None,
        "differ": loads.differ,
        "refused": refused,
    }
    why = as_text(render(_WHY, figures))
    source = f"calibration, {pair}"
    return Cost(source, mean * each, low, high, events, None, refused is None, why)


def _implausible(ns: float, low: float, high: float) -> str | None:
    # Why this cannot be the cost of an event; a reason in event_cost_reason.md.
    if not low:
        return "no cost"
    if max(low, ns) > PUBLISHED_NS[1]:
        # The recorder's work on another CPU, its caches, or a busy host.
        return "too high"
    return "too low" if high < _LEAST_NS else None

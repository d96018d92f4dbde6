# What tracing took from the victim of netcost-record --calibrate, which runs it four times: alone
# and under the load, each untraced and traced.

from math import isfinite, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...display.templates import as_text, render
from ...opening.opening import open_capture
from ...spans import Floats
from ...stats.resampling import reach
from .counts import event_count
from .loads import Compared, compared, load_of

if TYPE_CHECKING:
    from ...capture.capture import Capture
    from ...parsers.openssl import SpeedRun

Rates = dict[tuple[str, int], float]
_RUNS = ("idle", "idle_traced", "load")
# The 28 idle pairs of sample-data/hidden-cost, which tracing hardly tells apart, differ by 0.8 % in
# the median and 1.2 % in the standard deviation: one pair alone may be alike by luck.
_LEAST_NOISE = 0.01
# From the help of the kernel's CONFIG_TRACEPOINT_BENCHMARK: hot and cold caches.
PUBLISHED_NS = (300, 3_700)
# A third of the former: netcost-record --check measured 214 ns at the least (docs/capture.md), and
# what is lower than this is a difference of two runs, not an event's cost.
_LEAST_NS = 100
# Of a CPU: loads that explain less than this go without saying.
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
    # The pair under load first: it has most events, so most to see. Empty without a calibration.
    bundle = capture.bundle
    folders = bundle.manifest.calibration if bundle else None
    if bundle is None or folders is None:
        return []
    runs = {name: bundle.run(getattr(folders, name)) for name in _RUNS}
    idle, idle_traced, load = runs.values()
    if idle is None or not idle.speed_runs:
        return []
    full, cpu = rates(idle.speed_runs), bundle.victim_cpu
    found, noise = [], None
    if idle_traced is not None and idle_traced.speed_runs:
        lost = shares_lost(full, full, rates(idle_traced.speed_runs))
        if len(lost):
            noise = abs(float(lost.mean()))
            found = _judged("idle", lost, open_capture(idle_traced.path), cpu)
    if load is not None and bundle.speed_runs:
        untraced = rates(load.speed_runs)
        lost = shares_lost(full, untraced, rates(bundle.speed_runs))
        to_load = shares_lost(full, full, untraced)
        if len(lost):
            taken = float(to_load.mean()) if len(to_load) else 0.0
            loads = taken, compared(load_of(load, cpu), load_of(bundle, cpu))
            found = _judged("load", lost, capture, cpu, noise, loads) + found
    return found


def rates(runs: "list[SpeedRun]") -> Rates:
    # Blocks per second of wall time, by what was computed.
    return {run.work: run.per_s for run in runs if run.blocks}


def shares_lost(full: Rates, untraced: Rates, traced: Rates) -> Floats:
    # Of each block size: how much of the victim's full pace was lost to tracing, 1 being a CPU.
    keys = [key for key in traced if key in untraced and full.get(key)]
    return np.array([(untraced[key] - traced[key]) / full[key] for key in keys])


def _judged(
    pair: str,
    lost: Floats,
    traced: "Capture",
    cpu: int | None,
    noise: float | None = None,
    loads: tuple[float, Compared] | None = None,
) -> list[Cost]:
    # judged() of the events on the victim's CPU while it ran; nothing where there were none.
    summary = traced.victim_timeline().summary
    start, end = int(summary["start_ns"]), int(summary["end_ns"])
    events = event_count(traced, start, end, summary["cpus"])
    cost = judged(pair, lost, events, (end - start) / 1e9, noise, loads) if events else None
    return [cost._replace(cpu=cpu)] if cost else []


def judged(
    pair: str,
    lost: Floats,
    events: int,
    seconds: float,
    noise: float | None,
    loads: tuple[float, Compared] | None = None,
) -> Cost:
    # lost: shares of a CPU. noise: how much two runs differ that should hardly, None where unknown.
    # loads: what the victim lost to the untraced load, as a share of a CPU, and how the traced one
    # differed; None where there was no load.
    each = 1e9 * seconds / events
    mean = float(lost.mean())
    if len(lost) > 1:
        width = reach(len(lost)) * float(lost.std()) / sqrt(len(lost))
    else:
        width = float("inf") if noise is None else max(noise, _LEAST_NOISE)
    # What the loads' difference may have taken, at least and at most: what a packet took from the
    # victim untraced, times the packets that there were more or less.
    taken, differ, refused, less, more = 0.0, [], None, 0.0, 0.0
    if loads is not None:
        taken, differ, refused = max(loads[0], 0.0), loads[1].differ, loads[1].refused
        less, more = taken * loads[1].low, taken * loads[1].high
    low = max(mean - more - width, 0.0) * each
    # Without an end the published one must do.
    high = max(mean - less + (width if isfinite(width) else 0.0), 0.0) * each
    refused = refused or implausible(mean * each, low, high)
    said = {
        "lost_share": mean,
        "events": events,
        "sizes": len(lost),
        "noise_share": width if isfinite(width) else None,
        "loads_share": more - less if differ and more - less >= _WORTH_SAYING else None,
        "differ": differ,
        "refused": refused,
    }
    why = as_text(render(_WHY, said))
    source = f"calibration, {pair}"
    return Cost(source, mean * each, low, high, events, None, refused is None, why)


def implausible(ns: float, low: float, high: float) -> str | None:
    # Why a price cannot be an event's; as event_cost_reason.md has it.
    if not low:
        return "no cost"
    if max(low, ns) > PUBLISHED_NS[1]:
        # The recorder's own work on another CPU, its caches, a host that was not quiet.
        return "too high"
    return "too low" if high < _LEAST_NS else None

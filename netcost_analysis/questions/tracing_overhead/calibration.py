# What tracing took from the victim of netcost-record --calibrate, which runs it four times: alone
# and under the load, each untraced and traced.

from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...display.templates import as_text, render
from ...stats.resampling import reach
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


class Calibrated(NamedTuple):
    # One pair of runs. cpu: the victim's, where it was measured; None where it was not pinned. ns,
    # low, high: of an event. why: how it was got, or why it is of no use.
    pair: str
    cpu: int | None
    ns: float
    low: float
    high: float
    events: int
    usable: bool
    why: str


def calibrated(capture: "Capture") -> list[Calibrated]:
    # The pair under load first: it has most events, so most to see. Empty without a calibration.
    from ...opening.opening import open_capture

    bundle = capture.bundle
    folders = bundle.manifest.calibration if bundle else None
    if bundle is None or folders is None:
        return []
    runs = {name: bundle.run(getattr(folders, name)) for name in _RUNS}
    idle = runs["idle"]
    if idle is None or not idle.speed_runs:
        return []
    full = rates(idle.speed_runs)
    lost: dict[str, np.ndarray[Any, Any]] = {}
    counted: dict[str, tuple[int, float]] = {}
    loads: tuple[float, Compared] | None = None
    traced = runs["idle_traced"]
    if traced is not None and traced.speed_runs:
        lost["idle"] = shares_lost(full, full, rates(traced.speed_runs))
        counted["idle"] = events_on(open_capture(traced.path))
    cpu = bundle.victim_cpu
    if runs["load"] is not None and bundle.speed_runs:
        untraced = rates(runs["load"].speed_runs)
        lost["load"] = shares_lost(full, untraced, rates(bundle.speed_runs))
        counted["load"] = events_on(capture)
        to_load = shares_lost(full, full, untraced)
        taken = float(to_load.mean()) if len(to_load) else 0.0
        loads = taken, compared(load_of(runs["load"], cpu), load_of(bundle, cpu))
    noise = abs(float(lost["idle"].mean())) if len(lost.get("idle", ())) else None
    return [
        judged(pair, lost[pair], *counted[pair], *beside)._replace(cpu=cpu)
        for pair, beside in (("load", (noise, loads)), ("idle", (None, None)))
        if pair in lost and len(lost[pair]) and counted[pair][0]
    ]


def rates(runs: "list[SpeedRun]") -> Rates:
    # Blocks per second of wall time, by what was computed.
    return {run.work: run.per_s for run in runs if run.blocks}


def shares_lost(full: Rates, untraced: Rates, traced: Rates) -> "np.ndarray[Any, Any]":
    # Of each block size: how much of the victim's full pace was lost to tracing, 1 being a CPU.
    keys = [key for key in traced if key in untraced and full.get(key)]
    return np.array([(untraced[key] - traced[key]) / full[key] for key in keys])


def events_on(capture: "Capture") -> tuple[int, float]:
    # Events on the victim's CPU while it ran, and how long that was, s.
    from .counts import event_count

    timeline = capture.victim_timeline()
    start, end = int(timeline.summary["start_ns"]), int(timeline.summary["end_ns"])
    events = event_count(capture, start, end, timeline.summary["cpus"])
    return events, (end - start) / 1e9


def judged(
    pair: str,
    lost: "np.ndarray[Any, Any]",
    events: int,
    seconds: float,
    noise: float | None,
    loads: tuple[float, Compared] | None = None,
) -> Calibrated:
    # lost: shares of a CPU. noise: how much two runs differ that should hardly, None where unknown.
    # loads: what the victim lost to the untraced load, as a share of a CPU, and how the traced one
    # differed; None where there was no load.
    each = 1e9 * seconds / events
    mean = float(lost.mean())
    if len(lost) > 1:
        width = reach(len(lost)) * float(lost.std()) / sqrt(len(lost))
    else:
        width = float("inf") if noise is None else max(noise, _LEAST_NOISE)
    less, more = explained(loads)
    low = max(mean - more - width, 0.0) * each
    # Without an end the published one must do.
    high = max(mean - less + (width if np.isfinite(width) else 0.0), 0.0) * each
    refused = (loads[1].refused if loads else None) or implausible(mean * each, low, high)
    differ = loads[1].differ if loads else []
    said = {
        "lost_share": mean,
        "events": events,
        "sizes": len(lost),
        "noise_share": width if np.isfinite(width) else None,
        "loads_share": more - less if differ and more - less >= _WORTH_SAYING else None,
        "differ": differ,
        "refused": refused,
    }
    why = as_text(render(_WHY, said))
    return Calibrated(pair, None, mean * each, low, high, events, refused is None, why)


def explained(loads: tuple[float, Compared] | None) -> tuple[float, float]:
    # What the loads' difference may have taken from the victim, at least and at most, as a share of
    # a CPU: what a packet took from it untraced, times the packets that there were more or less.
    if loads is None:
        return 0.0, 0.0
    taken, of = max(loads[0], 0.0), loads[1]
    return taken * of.low, taken * of.high


def implausible(ns: float, low: float, high: float) -> str | None:
    # Why a price cannot be an event's; as event_cost_reason.md has it.
    if not low:
        return "no cost"
    if max(low, ns) > PUBLISHED_NS[1]:
        # The recorder's own work on another CPU, its caches, a host that was not quiet.
        return "too high"
    if high < _LEAST_NS:
        return "too low"
    return None

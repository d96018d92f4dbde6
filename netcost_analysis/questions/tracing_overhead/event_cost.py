# What an event costs: measured by this bundle, by its recorder, or elsewhere. By this bundle with
# netcost-record --calibrate, which runs the victim four times: alone and under load, each untraced
# and traced.

from math import isfinite, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.answer import Answer
from ...answers.question import question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...display.templates import as_text, render
from ...opening.opening import open_capture
from ...parsers.openssl import SpeedRun
from ...parsers.recorder_texts import parse_preflight_cost
from ...spans import Floats
from ...stats.resampling import reach

_WHY = Path(__file__).with_name("event_cost_reason.md")
_RUNS = ("idle", "idle_traced", "load")
# From the help of the kernel's CONFIG_TRACEPOINT_BENCHMARK: hot and cold caches.
PUBLISHED_NS = (300, 3_700)
# A third of the former. netcost-record --check measured at least 214 ns (docs/capture.md); less
# than this is a difference between runs, not the cost of an event.
_LEAST_NS = 100
# Tracing hardly affects the 28 idle pairs of sample-data/hidden-cost. They differ by 0.8 %
# (median), with a standard deviation of 1.2 %, so a single pair may agree by luck.
_LEAST_NOISE = 0.01
# As a share of a CPU. Differences between loads that explain less are not mentioned.
_WORTH_SAYING = 0.001
# Loads that differ by more are not compared: batches grow with the rate, so a packet costs less.
_MAX_APART = 0.2
_WORTH_NAMING = 0.005
_Rates = dict[tuple[str, int], float]


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


# By what was counted, "packets/s" first, the rate at least and at most: a counter is read at some
# moment within its reading. Counters that are missing or did not grow are left out.
Load = dict[str, tuple[float, float]]


@question()
def event_cost(capture: Capture) -> Answer:
    """What one traced event costs, from each available source, the best first.

    A row per source; tracing_cost takes the first that is usable.

    - "calibration": The work that the victim of the bundle's own calibration runs lost while it was
      traced, as time, over the events on its CPU in that time. The difference between the two runs'
      loads is in the interval; loads more than a fifth apart are not compared.
    - "preflight": What netcost-record measured on this host before it recorded, or what it assumes
      for its tool. That is with hot caches, so the published cost with cold ones is the upper end.
    - "published": The averages in the help of the kernel's TRACEPOINT_BENCHMARK, on older hardware.

    Source: the bundle's calibration runs and preflight; that help.
    """
    try:
        rows = calibrated(capture)
    except CaptureError as error:
        # A run that cannot be read leaves the other sources.
        rows = [Cost("calibration", None, 0, 0, None, None, False, str(error))]
    text, (hot, cold) = (
        capture.bundle.text("preflight.txt") if capture.bundle else None,
        PUBLISHED_NS,
    )
    if found := parse_preflight_cost(text or ""):
        here, ns = "measured here" in found.how, found.event_ns
        source, low = ("preflight", ns) if here else ("preflight, elsewhere", min(ns, hot))
        rows.append(Cost(source, ns, low, max(ns, cold), None, None, True, found.how))
    how = "TRACEPOINT_BENCHMARK, hot and cold"
    rows.append(Cost("published", None, hot, cold, None, None, True, how))
    return Answer(pd.DataFrame(rows))


def chosen(costs: pd.DataFrame) -> "pd.Series[Any]":
    """The row of event_cost that is used."""
    return costs[costs["usable"]].iloc[0]


def load_of(bundle: Bundle, cpu: int | None) -> Load:
    """What a run's counters say of its load: on the victim's CPU, or where that had none, on all.

    cpu: the victim's, None where it was not pinned.
    """
    sides = bundle.before, bundle.after
    processed = [side.softnet_stat.get("processed") for side in sides]
    net_rx = [side.softirqs.T.get("NET_RX") for side in sides]
    rates = {
        "packets/s": _rate(bundle, "net_softnet_stat", processed, cpu),
        "NET_RX/s": _rate(bundle, "softirqs", net_rx, cpu),
    }
    return {what: rate for what, rate in rates.items() if rate}


def _rate(
    bundle: Bundle, file: str, counts: "list[pd.Series[float] | None]", cpu: int | None
) -> tuple[float, float] | None:
    # counts: by CPU, before and after.
    before, after = counts
    first, last = bundle.before.reads.get(file), bundle.after.reads.get(file)
    if before is None or after is None or first is None or last is None or last[0] <= first[1]:
        return None
    growth = (after - before).dropna()
    count = float(growth.get(cpu, 0.0)) or float(growth.sum())
    if (growth < 0).any() or not count:
        return None
    return count / (last[1] - first[0]) * 1e9, count / (last[0] - first[1]) * 1e9


def compared(untraced: Load, traced: Load) -> tuple[float, float, str | None, list[dict[str, Any]]]:
    """How the loads of the two runs differ, and whether they can be compared at all.

    How much more load the traced run may have had, as a share of the untraced run's, at least and
    at most; 0 lies between. Why they cannot be compared, else None. The rates that differ.
    """
    common = [what for what in untraced if what in traced]
    if not common:
        return 0.0, 0.0, "loads unknown", []
    ends, differ, apart = [0.0], [], []
    for what in common:
        first, second = untraced[what], traced[what]
        ends += [second[0] / first[1] - 1, second[1] / first[0] - 1]
        middles = sum(first) / 2, sum(second) / 2
        apart.append(1 - min(middles) / max(middles))
        if apart[-1] >= _WORTH_NAMING:
            differ.append({"what": what, "untraced": middles[0], "traced": middles[1]})
    # The load is packets. Tracing itself may change in how many softirqs they come.
    return min(ends), max(ends), "loads differ" if apart[0] > _MAX_APART else None, differ


def calibrated(capture: Capture) -> list[Cost]:
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
            loads = load_of(load, cpu), load_of(bundle, cpu)
            costs = _judged("load", lost, capture, cpu, noise, lost_to_load, loads) + costs
    return costs


def _rates(runs: list[SpeedRun]) -> _Rates:
    # Blocks per second of wall time, by algorithm and block size.
    return {run.work: run.per_s for run in runs if run.blocks}


def _shares_lost(full: _Rates, untraced: _Rates, traced: _Rates) -> Floats:
    # For each block size, the share of the victim's full speed that tracing cost; 1 is a CPU.
    keys = [key for key in traced if key in untraced and full.get(key)]
    return np.array([(untraced[key] - traced[key]) / full[key] for key in keys])


def _judged(
    pair: str,
    lost: Floats,
    traced: Capture,
    cpu: int | None,
    noise: float | None = None,
    lost_to_load: float = 0.0,
    loads: tuple[Load, Load] | None = None,
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
    loads: tuple[Load, Load] | None = None,
) -> Cost:
    # lost, lost_to_load: what tracing, and the untraced load, cost the victim, as shares of a CPU.
    # noise: by how much two equal runs differ, None where unknown. loads: of the untraced run and
    # of the traced one, None for none.
    each = 1e9 * seconds / events
    mean = float(lost.mean())
    if len(lost) > 1:
        width = reach(len(lost)) * float(lost.std()) / sqrt(len(lost))
    else:
        width = float("inf") if noise is None else max(noise, _LEAST_NOISE)
    # What the difference between the loads may have cost, at least and at most: the cost of a
    # packet without tracing, times the difference in packets.
    least, most, refused, differ = compared(*loads) if loads else (0.0, 0.0, None, [])
    less, more = (max(lost_to_load, 0.0) * end for end in (least, most))
    low = max(mean - more - width, 0.0) * each
    # Without an interval the published cost is the upper end.
    high = max(mean - less + (width if isfinite(width) else 0.0), 0.0) * each
    refused = refused or _implausible(mean * each, low, high)
    figures = {
        "lost_share": mean,
        "events": events,
        "sizes": len(lost),
        "noise_share": width if isfinite(width) else None,
        "loads_share": more - less if differ and more - less >= _WORTH_SAYING else None,
        "differ": differ,
        "refused": refused,
    }
    why, source = as_text(render(_WHY, figures)), f"calibration, {pair}"
    return Cost(source, mean * each, low, high, events, None, refused is None, why)


def event_count(capture: Capture, start_ns: int, end_ns: int, cpus: list[int]) -> int:
    # The number of rows of event_times().
    headers = capture.header.get("events") or ()
    named = {one["name"] for one in headers if one["has_payload"] and one["has_format"]}
    names = tuple(name for name in capture.info["events"] if name in named)
    (found,) = capture.event_counts.counts(
        [(names, None, None, ((start_ns, end_ns),))], capture.native.counts
    )
    own = set(cpus)
    return sum(many for (cpu, _), many in found[0].items() if cpu in own) if found else 0


def _implausible(ns: float, low: float, high: float) -> str | None:
    # Why this cannot be the cost of an event; a reason in event_cost_reason.md.
    if not low:
        return "no cost"
    if max(low, ns) > PUBLISHED_NS[1]:
        # The recorder's work on another CPU, its caches, or a busy host.
        return "too high"
    return "too low" if high < _LEAST_NS else None

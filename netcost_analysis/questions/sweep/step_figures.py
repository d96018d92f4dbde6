# The figures of a step with their intervals: from the trace in blocks of time, and from what was
# counted beside it once per run. And what mpstat says of the CPU at each rate.

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...answers.question import Answer, question
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.requires import unrecorded
from ...comparison.run import Run
from ...opening.experiment import Experiment
from ...parsers.sysstat import KINDS
from ...snapshots.daemons import daemons
from ...snapshots.mpstat_times import intervals_within, mpstat_intervals
from ...stats.change import Counts, Estimate, Side, estimate, repeats
from ...stats.resampling import Floats
from ...timeline.reading import once
from ..comparison.counted import network, own_time
from ..comparison.metrics import sides_of
from ..comparison.run_blocks import Blocks, RunBlocks, busiest, by_block, run_blocks
from .steps import Step, require_steps, steps_of

# The unit of each figure.
UNITS = {
    "rate_per_s": "1/s",
    "network_share": "share",
    "network_ns_per_packet": "ns/packet",
    "batch_mean": "packets",
    "victim_share": "share",
    "scheduled_share": "share",
    "unknown_share": "share",
    "flush_mean": "packets",
    "flush_dropped_share": "share",
    "sent_pps": "1/s",
    "reached_pps": "1/s",
    "dropped_per_s": "1/s",
    "dropped_share": "share",
    **{f"{kind}_share": "share" for kind in KINDS},
    "in_run_share": "share",
    "daemon_cpu_share": "share",
    "daemon_rss_bytes": "bytes",
    "redirects_per_s": "1/s",
    "redirect_errors_per_s": "1/s",
}
# Where packets are dropped, in the order of their way, and what else is missing.
HOPS = ("ingress", "backlog", "egress", "destination", "unaccounted")
_XMIT = "xdp:xdp_devmap_xmit"
_REDIRECTS = ("xdp:xdp_redirect", "xdp:xdp_redirect_map")


class Figures(NamedTuple):
    # By name: the figure with its interval, and the kind and number of its observations.
    step: Step
    values: dict[str, Estimate]
    of: dict[str, tuple[str, int]]

    def value(self, name: str) -> float:
        return self.values[name].value if name in self.values else float("nan")


@once
def figures_of(experiment: Experiment) -> list[Figures]:
    return [_figures(step) for step in steps_of(experiment)]


def _figures(step: Step) -> Figures:
    traced = {name: counts for name in UNITS if (counts := side_counts(step, name))}
    sides: dict[str, Side] = {name: sides_of([counts])[0] for name, counts in traced.items()}
    counted = [_counted(run) for run in step.runs]
    counted += [_beside(bundle, step.cpu) for bundle in step.bundles]
    for column, values in pd.DataFrame(counted).items():
        if values.notna().any():
            sides[str(column)] = repeats(values.dropna().to_numpy("float64"))
    return Figures(
        step,
        {name: estimate(side) for name, side in sides.items()},
        {name: (side.of, len(side.numerator)) for name, side in sides.items()},
    )


def side_counts(step: Step, name: str) -> list[Counts]:
    # Numerator and denominator of a figure in each run, per block; empty where a run lacks it.
    counts = [_traced(run, step.cpu).get(name) for run in step.recorded]
    known = [one for one in counts if one is not None and one[1].sum() > 0]
    return known if len(known) == len(counts) else []


@once
def _traced(run: Run, cpu: int | None) -> dict[str, Counts]:
    recording = run_blocks(run)
    sums = recording.sums
    sums = sums if cpu is None else sums[sums["cpu"] == cpu]
    if not len(sums):
        return {}
    cpu_ns = recording.seconds * 1e9 * (recording.cpus if cpu is None else 1)
    of_network = sums[network(sums)]
    network_ns = by_block(recording, of_network)
    in_softirqs = of_network["context"].isin(["poll", "softirq"])
    scheduled = of_network[(of_network["cost_class"] == "scheduled") & in_softirqs]
    unknown = sums[sums["context"] == "unknown"]
    counts: dict[str, Counts] = {
        "network_share": (network_ns, cpu_ns),
        "scheduled_share": (by_block(recording, scheduled), cpu_ns),
        "unknown_share": (by_block(recording, unknown), cpu_ns),
    }
    victim = own_time(run)
    if victim is not None:
        counts["victim_share"] = victim
    # In the window only: the load counts over its whole run.
    polled = busiest(recording)
    if polled is not None:
        packets, polls = polled
        counts["rate_per_s"] = packets, recording.seconds
        counts["network_ns_per_packet"] = network_ns, packets
        counts["batch_mean"] = packets, polls
    return counts | _bulking(run, recording)


def _bulking(run: Run, recording: RunBlocks) -> dict[str, Counts]:
    # Packets per flush and redirects of XDP, as far as they were recorded.
    capture = run.captures[0]
    names = [_XMIT, *_REDIRECTS, *(f"{one}_err" for one in _REDIRECTS)]
    known = [name for name in names if not unrecorded(capture, name)]
    if not known or len(run.captures) > 1:
        return {}
    (blocks,) = recording.files
    counts = {name: _by_block(_events(capture, name), blocks) for name in known}
    found: dict[str, Counts] = {}
    if _XMIT in counts:
        flushes, sent, dropped = counts[_XMIT]
        found["flush_mean"] = sent + dropped, flushes
        found["flush_dropped_share"] = dropped, sent + dropped
    for column, ending in (("redirects_per_s", ""), ("redirect_errors_per_s", "_err")):
        each = [counts[name][0] for name in counts if name in [one + ending for one in _REDIRECTS]]
        if each:
            found[column] = np.sum(each, axis=0), recording.seconds
    return found


def _by_block(events: pd.DataFrame, blocks: Blocks) -> list[Floats]:
    # The number of events, and what they sent and dropped, per block of the window.
    block = events["time_ns"].astype("int64") // blocks.width_ns - blocks.first
    inside = block.between(0, blocks.number - 1)
    rows = events[inside].assign(number=1)
    return [
        np.bincount(block[inside], rows.get(name), blocks.number).astype("float64")
        for name in ("number", "sent", "drops")
    ]


def _events(capture: Capture, name: str) -> pd.DataFrame:
    try:
        return capture.events(name)
    except CaptureError:
        # Recorded, but it never happened.
        return pd.DataFrame({"time_ns": [], "sent": [], "drops": []}, dtype="int64")


def _counted(run: Run) -> dict[str, float]:
    # From the counters of its step, over its whole run.
    sent, sent_pps = run.figures.get("sent"), run.figures.get("sent_pps")
    if not sent or not sent_pps:
        return {}
    seconds = sent / sent_pps
    counts = {"sent_pps": sent_pps}
    if "received" in run.figures:
        counts["reached_pps"] = run.figures["received"] / seconds
    hops = [dropped_at(run, hop) for hop in HOPS]
    if not np.isnan(hops).all():
        lost = float(np.nansum(hops))
        counts |= {"dropped_per_s": lost / seconds, "dropped_share": lost / sent}
    return counts


def dropped_at(run: Run, hop: str) -> float:
    # In packets; NaN where not counted.
    name = hop if hop == "unaccounted" else f"dropped_{hop}"
    return run.figures.get(name, float("nan"))


def _beside(bundle: Bundle, cpu: int | None) -> dict[str, float]:
    figures = _mpstat(bundle, cpu)
    with suppress(CaptureError):
        used = daemons(bundle)
        if len(used):
            figures["daemon_cpu_share"] = float(used["cpu_share"].sum())
            figures["daemon_rss_bytes"] = float(used["rss_bytes"].sum())
    return figures


def _mpstat(bundle: Bundle, cpu: int | None) -> dict[str, float]:
    # The mean over the intervals within the victim's run. Where there are none: over those that
    # overlap it, of which in_run_share lies within the run. Without a victim: over all intervals.
    try:
        every, inside = mpstat_intervals(bundle), intervals_within(bundle)
    except CaptureError:
        return {}
    chosen = every[every["cpu"].isna() if cpu is None else every["cpu"] == cpu]
    share, victim = 1.0, bundle.victim
    if len(inside):
        chosen = inside
    elif victim is not None and victim.start_ns is not None and victim.end_ns is not None:
        shared_ns = chosen["end_ns"].clip(upper=victim.end_ns)
        shared_ns -= chosen["start_ns"].clip(lower=victim.start_ns)
        chosen = chosen[shared_ns > 0]
        width_ns = (chosen["end_ns"] - chosen["start_ns"]).sum()
        share = float(shared_ns.clip(lower=0).sum() / width_ns) if width_ns else float("nan")
    if not len(chosen):
        return {}
    return {f"{kind}_share": float(chosen[f"{kind}_share"].mean()) for kind in KINDS} | {
        "in_run_share": share
    }


# Left out where they are 0 throughout.
_LEFT_OUT = ("steal_share", "guest_share", "gnice_share")
# From this share on, mpstat's interval counts as within the victim's run.
_WITHIN = 0.95


@question(check=require_steps, rows=80)
def cpu_by_rate(experiment: Experiment) -> Answer:
    """What mpstat shows for the measured CPU at each rate on each data path.

    A row per step, by curve and rate. steal_share, guest_share and gnice_share are left out if they
    are 0 throughout; network_share is the trace's. The intervals of mpstat are those within the
    victim's run. If no whole one lies within it, they are those that overlap the run, and
    in_run_share is the part within it. The trace covers only the run, so if in_run_share is far
    below 1 the two cover different times. `partly`: the number of steps without a whole interval.

    Source: mpstat beside each recording, and the trace's sums.
    """
    names = (*(f"{kind}_share" for kind in KINDS), "network_share", "in_run_share")
    rows = [
        (one.step.curve, one.step.offered, *(one.value(name) for name in names))
        for one in figures_of(experiment)
    ]
    frame = pd.DataFrame(rows, columns=["curve", "offered", *names])
    if frame["soft_share"].isna().all():
        raise CaptureError(f"{experiment.path}: mpstat was not recorded in any step")
    inside = frame["in_run_share"]
    return Answer(
        frame.drop(columns=[name for name in _LEFT_OUT if not frame[name].any()]),
        partly=int((inside < _WITHIN).sum()),
        least_in_run_share=float(inside.min()),
    )

# What is measured of a step, each figure with its interval: in blocks of time by the trace, and of
# each run beside it.

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ..._native import CaptureError
from ...capture.bundle import Bundle
from ...capture.capture import Capture
from ...capture.requires import unrecorded
from ...comparison.run import Run
from ...opening.experiment import Experiment
from ...parsers.mpstat import KINDS
from ...snapshots.daemons import daemons
from ...snapshots.mpstat_times import intervals_within, mpstat_intervals
from ...stats.change import Counts, Estimate, Side, estimate, repeats
from ...stats.resampling import Floats
from ...timeline.reading import once
from ..comparison.measured import Measured, busiest, by_block, measured
from ..comparison.metrics import network, own_time, sides_of
from ..comparison.scheduled import Blocks
from .steps import Step, steps_of

# What one of each figure is.
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
# Where packets are dropped, in the order in which they come by; what is left of those sent.
HOPS = ("ingress", "backlog", "egress", "destination", "unaccounted")
_XMIT = "xdp:xdp_devmap_xmit"
_REDIRECTS = ("xdp:xdp_redirect", "xdp:xdp_redirect_map")


class Figures(NamedTuple):
    # Of a step: by name the figure with its interval, what its observations are and how many.
    step: Step
    values: dict[str, Estimate]
    of: dict[str, tuple[str, int]]

    def value(self, name: str) -> float:
        return self.values[name].value if name in self.values else float("nan")


@once
def figures_of(experiment: Experiment) -> list[Figures]:
    # Of every step, in their order.
    return [_figures(step) for step in steps_of(experiment)]


def _figures(step: Step) -> Figures:
    sides: dict[str, Side] = {}
    for name in _TRACED:
        if known := side_counts(step, name):
            [sides[name]] = sides_of([known])
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
    # What is above and below in each block of each of its runs; empty where a run lacks it.
    found = [counts.get(name) for counts in (_traced(run, step.cpu) for run in step.recorded)]
    known = [one for one in found if one is not None and one[1].sum() > 0]
    return known if len(known) == len(found) else []


_TRACED = (
    *("rate_per_s", "network_share", "network_ns_per_packet", "batch_mean", "victim_share"),
    *("scheduled_share", "unknown_share"),
    *("flush_mean", "flush_dropped_share", "redirects_per_s", "redirect_errors_per_s"),
)


@once
def _traced(run: Run, cpu: int | None) -> dict[str, Counts]:
    own = measured(run)
    on_cpu = pd.Series(True, own.sums.index) if cpu is None else own.sums["cpu"] == cpu
    if not on_cpu.any():
        return {}
    cpu_ns = own.seconds * 1e9 * (own.cpus if cpu is None else 1)
    of_network = network(own.sums) & on_cpu
    network_ns = by_block(own, of_network)
    softirqs = own.sums["context"].isin(["poll", "softirq"])
    scheduled = (own.sums["cost_class"] == "scheduled") & softirqs
    found: dict[str, Counts] = {
        "network_share": (network_ns, cpu_ns),
        "scheduled_share": (by_block(own, of_network & scheduled), cpu_ns),
        "unknown_share": (by_block(own, (own.sums["context"] == "unknown") & on_cpu), cpu_ns),
    }
    victim = own_time(run)
    if victim is not None:
        found["victim_share"] = victim
    # Of the window, where the load's own counts are of all its run.
    polled = busiest(own)
    if polled is not None:
        packets, polls = polled
        found["rate_per_s"] = packets, own.seconds
        found["network_ns_per_packet"] = network_ns, packets
        found["batch_mean"] = packets, polls
    return found | _bulking(run, own)


def _bulking(run: Run, own: Measured) -> dict[str, Counts]:
    # What XDP handed over in bulk, and what it redirected; nothing of what was not recorded.
    capture = run.captures[0]
    names = [_XMIT, *_REDIRECTS, *(f"{one}_err" for one in _REDIRECTS)]
    known = [name for name in names if not unrecorded(capture, name)]
    if not known or len(run.captures) > 1:
        return {}
    (blocks,) = own.files
    counts = {name: _by_block(_events(capture, name), blocks) for name in known}
    found: dict[str, Counts] = {}
    if _XMIT in counts:
        flushes, sent, dropped = counts[_XMIT]
        found["flush_mean"] = sent + dropped, flushes
        found["flush_dropped_share"] = dropped, sent + dropped
    for column, ending in (("redirects_per_s", ""), ("redirect_errors_per_s", "_err")):
        each = [counts[name][0] for name in counts if name in [one + ending for one in _REDIRECTS]]
        if each:
            found[column] = np.sum(each, axis=0), own.seconds
    return found


def _by_block(events: pd.DataFrame, blocks: Blocks) -> list[Floats]:
    # How many there were, and what they sent and dropped, in each block of the window.
    number = blocks.number
    block = events["time_ns"].astype("int64") // blocks.width_ns - blocks.first
    inside = ((block >= 0) & (block < number)).to_numpy(dtype=bool)
    weights = [
        events[name].to_numpy("float64")[inside] if name in events else None
        for name in ("sent", "drops")
    ]
    return [np.bincount(block[inside], one, number).astype("float64") for one in (None, *weights)]


def _events(capture: Capture, name: str) -> pd.DataFrame:
    try:
        return capture.events(name)
    except CaptureError:
        # Recorded, and never happened.
        return pd.DataFrame({"time_ns": [], "sent": [], "drops": []}, dtype="int64")


def _counted(run: Run) -> dict[str, float]:
    # By the counters of its step: of all that was sent.
    sent, sent_pps = run.figures.get("sent"), run.figures.get("sent_pps")
    if not sent or not sent_pps:
        return {}
    seconds = sent / sent_pps
    found = {"sent_pps": sent_pps}
    if "received" in run.figures:
        found["reached_pps"] = run.figures["received"] / seconds
    hops = [dropped_at(run, hop) for hop in HOPS]
    if any(one == one for one in hops):
        lost = float(np.nansum(hops))
        found |= {"dropped_per_s": lost / seconds, "dropped_share": lost / sent}
    return found


def dropped_at(run: Run, hop: str) -> float:
    # Packets; NaN where nobody counted.
    name = hop if hop == "unaccounted" else f"dropped_{hop}"
    return run.figures.get(name, float("nan"))


def _beside(bundle: Bundle, cpu: int | None) -> dict[str, float]:
    found = _mpstat(bundle, cpu)
    try:
        taken = daemons(bundle)
    except CaptureError:
        return found
    if len(taken):
        found["daemon_cpu_share"] = float(taken["cpu_share"].sum())
        found["daemon_rss_bytes"] = float(taken["rss_bytes"].sum())
    return found


def _mpstat(bundle: Bundle, cpu: int | None) -> dict[str, float]:
    # The mean of its intervals within the victim's run; where there is none, of those that it was
    # in, and in_run_share of their time. All of them without a victim.
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
    means: dict[Any, float] = chosen[[f"{kind}_share" for kind in KINDS]].mean().to_dict()
    return {str(name): float(value) for name, value in means.items()} | {"in_run_share": share}

# What a run got done, as metrics: what its steps, load and victim printed.

import re
from typing import NamedTuple

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.iperf3 import parse_iperf3
from ...parsers.netperf import parse_netperf
from ...timeline.reading import once

# Of the figures of a step: what the machine spent or lost on the way, not what was done.
_NOT_DONE = re.compile(r"_cpu_percent$|^dropped_|^unaccounted$")
# A program's or a test's name may stand before it.
_PRINTED = re.compile(
    r"(?:^|_)(?:(?:bytes|packets|transactions|requests|messages|ios|blocks|work)(?:_\d+)?_per_s"
    r"|(?:latency|round_trip)_\w+_ns|jitter_ns|lost_share|failed_share|retransmits)$"
)
# Of the network: what a victim gets done says nothing of the traffic.
_TRAFFIC = re.compile(
    r"_bits_per_second$|_pps$|(?:bytes|packets|transactions|requests|messages)_per_s$"
)
_RATES = ("received_bits_per_second", "sent_bits_per_second", "sent_pps")
# Units of these, of figures whose name says it.
_UNITS = (("_bits_per_second", "bit/s"), ("_pps", "packets/s"), ("_ns", "ns"), ("_share", "share"))
_LATENCIES = re.compile(r"(MIN|MAX|MEAN|P[0-9]{1,2})_LATENCY")
_FILES = ("iperf3.json", "netperf.txt", "load.txt")


class Done(NamedTuple):
    # A figure of work on both sides. unit, better: as of Metric. runs: by side, each run and its
    # value.
    name: str
    unit: str
    better: str
    runs: dict[str, list[tuple[Run, float]]]


def is_work(name: str, unit: str) -> bool:
    # Whether a metric of `changes` says what was done, rather than what it cost.
    return not _NOT_DONE.search(name) if unit == "" else bool(_PRINTED.search(name))


def is_traffic(name: str) -> bool:
    # Whether a metric is a rate of what went over the network.
    return bool(_TRAFFIC.search(name))


def unit_of_work(name: str) -> str:
    # "bytes/s" of bytes_per_s; "" where the name does not say.
    rate = re.fullmatch(r"([a-z]+)(_\d+)?_per_s", name)
    return f"{rate[1]}/s" if rate else next((of for end, of in _UNITS if name.endswith(end)), "")


def work_printed(comparison: Comparison) -> list[Done]:
    # What all runs of both sides printed and no table of steps has. Recording slows a run: where
    # others were measured, these count.
    sides = {side: runs.measured or runs.recorded for side, runs in comparison.sides.items()}
    runs = [run for some in sides.values() for run in some]
    if not all(sides.values()):
        return []
    found = []
    for name in printed(runs[0]):
        if all(name in printed(run) for run in runs):
            values = {side: [(run, printed(run)[name]) for run in of] for side, of in sides.items()}
            better = "more" if name.endswith("_per_s") else "less"
            found.append(Done(name, unit_of_work(name), better, values))
    return found


@once
def printed(run: Run) -> dict[str, float]:
    # By name: _per_s is a rate, _ns a time, _share of what was lost; retransmits are a count.
    found: dict[str, float] = {}
    for text in _texts(run):
        for name, value in {**_of_netperf(text), **_of_iperf3(text)}.items():
            found.setdefault(name, value)
    if any(name in run.figures for name in _RATES):
        # The step says it already.
        found.pop("bytes_per_s", None)
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is not None and bundle.victim is not None and len(run.captures) == 1:
        name = "work" if bundle.victim.attached else "blocks"
        rates = bundle.work_rates
        for (_, size), rate in rates.items():
            found[f"{name}_per_s" if len(rates) == 1 else f"{name}_{size}_per_s"] = rate
    return {name: value for name, value in found.items() if value == value}


def _texts(run: Run) -> list[str]:
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is not None:
        said = [bundle.text(f"files/{name}") for name in _FILES] + [bundle.load_output]
        said.append(bundle.victim_output)
    else:
        said = [run.reader(name) for name in _FILES] if run.reader else []
    return [text for text in said if text]


def _of_netperf(text: str) -> dict[str, float]:
    try:
        result = parse_netperf(text)
    except CaptureError:
        return {}
    found = {}
    if result.units.startswith("10^6bits"):
        found["bytes_per_s"] = (result.received or result.throughput) * 1e6 / 8
    elif result.units.startswith("trans"):
        found["transactions_per_s"] = result.throughput
    for name, value in result.values.items():
        if of := _LATENCIES.fullmatch(name):
            try:
                found[f"latency_{of[1].lower()}_ns"] = float(value) * 1e3
            except ValueError:
                continue
    return found


def _of_iperf3(text: str) -> dict[str, float]:
    try:
        totals = parse_iperf3(text).totals.to_dict("index")
    except CaptureError:
        return {}
    sent, received = (totals.get(name, {}) for name in ("sent", "received"))
    counted = {**sent, **{name: one for name, one in received.items() if one == one}}
    found = {"bytes_per_s": counted.get("bits_per_s", float("nan")) / 8}
    # By bytes: iperf3 counts packets that came in another order as lost.
    if sent.get("packets", 0) > 0 and sent.get("bytes", 0) > 0 and received.get("bytes", -1) >= 0:
        found["lost_share"] = max(1 - received["bytes"] / sent["bytes"], 0.0)
    if counted.get("jitter_ms", 0) > 0:
        found["jitter_ns"] = counted["jitter_ms"] * 1e6
    if sent.get("retransmits", float("nan")) == sent.get("retransmits"):
        found["retransmits"] = float(sent["retransmits"])
    return found

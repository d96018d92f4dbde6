# Rules of comparability: loads that differ, or were not what was asked for.

import re
from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.netperf import parse_netperf
from .metrics import primary, throughputs
from .rules import Finding, finding, recorded, unlike
from .rules_host import host_of
from .work import common_units, throughput_of, unit_of, units_of

# Labels that describe the load: where one differs, different loads are compared on purpose.
LOAD_LABELS = (
    *("destinations", "flows", "offered_pps", "pps", "burst", "io_bytes", "network", "protocol"),
    *("load", "transmit_cpu", "receive_cpu"),
)
# Mean packet sizes and throughputs that differ by more are different.
_SIZE = _THROUGHPUT = 0.05
# By source of a throughput how it was counted.
_COUNTED_BY = {
    "polls": "by polls while recorded",
    "step": "by the table of steps, of whole runs",
    "load": "as the load printed it, of its whole run",
    "victim": "as the victim printed it, of its whole run",
}
# Fewer packets say nothing about the mean size.
_FEW = 100
# The lab numbers these anew each time: namespaces and temporary folders.
_NUMBERED = re.compile(r"netcost-lab-\d+|/tmp/[\w.-]+")
# Where netperf's output may be, besides the load's own output.
_OF_BUNDLE = ("files/netperf.txt", "files/netperf")
_OF_STEP = ("netperf.txt", "netperf", "load.txt")


def is_labelled(comparison: Comparison) -> bool:
    # Whether a label states that the loads differ.
    return any(name in comparison.differs for name in LOAD_LABELS)


class Size(NamedTuple):
    # bytes: mean size of a packet. source: "load", "step" or "counters"; device: of the counters.
    bytes: float
    source: str
    device: str | None = None


def packet_size(comparison: Comparison) -> Iterator[Finding]:
    sizes = {
        side: [size for run in runs if (size := _size(run))]
        for side, runs in comparison.sides.items()
    }
    # Loads count what they send, counters what GRO merged: never compared with each other.
    for source in ("load", "step", "counters"):
        alike = {
            side: [size.bytes for size in some if size.source == source]
            for side, some in sizes.items()
        }
        if not all(alike.values()):
            continue
        least, most = min(map(min, alike.values())), max(map(max, alike.values()))
        if most / least - 1 > _SIZE:
            refused = source != "counters" and not is_labelled(comparison)
            devices = {size.device for some in sizes.values() for size in some if size.device}
            means = {side: fmean(some) for side, some in alike.items()}
            yield finding(
                "packet_size",
                "refused" if refused else "warning",
                found=most / least - 1,
                limit=_SIZE,
                bytes=means,
                scatters=[least, most] != sorted(means.values()),
                change=means["new"] / means["base"] - 1,
                least=least,
                most=most,
                source=source,
                devices=sorted(devices),
            )
        return


def _size(run: Run) -> Size | None:
    rates = throughput_of(run)
    if "packet" in rates and "byte" in rates and rates["packet"][1] == rates["byte"][1]:
        packets, source = rates["packet"]
        if packets > 0 and rates["byte"][0] > 0:
            return Size(rates["byte"][0] / packets, source)
    # By the counters of the interface that received most packets during the recording.
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is None:
        return None
    after = bundle.after.interfaces
    grown = [
        (after[name][1] - packets, after[name][0] - octets, name)
        for name, (octets, packets, *_) in bundle.before.interfaces.items()
        if name in after
    ]
    packets, octets, name = max(grown, key=lambda one: one[0], default=(0, 0, ""))
    if packets < _FEW or octets <= 0:
        return None
    return Size(octets / packets, "counters", name)


def load_command(comparison: Comparison) -> Iterator[Finding]:
    if is_labelled(comparison):
        return
    commands = [host_of(run).command for _, run in recorded(comparison)]
    shown = {_NUMBERED.sub("", text): text for text in commands if text is not None}
    if len(shown) > 1:
        yield finding("load_command", "warning", commands=list(shown.values()))


def packets_counted(comparison: Comparison) -> Iterator[Finding]:
    # Counted at another device or by another counter, they are other packets.
    if "packet" in common_units(comparison):
        return
    yield from unlike(comparison, "packets_counted", "warning", _counted_at, "names")


def _counted_at(run: Run) -> str | None:
    unit = next((unit for unit in units_of(run) if unit.name == "packet"), None)
    return (unit.device or f"the {unit.source}") if unit else None


def throughput(comparison: Comparison) -> Iterator[Finding]:
    if not all(side.recorded for side in comparison.sides.values()):
        return
    rates = throughputs(comparison)
    if rates is None:
        return
    unit, source, sides = rates
    base, new = (float(side.mean()) for side in sides)
    apart = new / base - 1 if base else float("nan")
    if abs(apart) <= _THROUGHPUT:
        return
    first = primary(comparison)
    by_time = first is not None and first.metric.unit == "ns/second"
    yield finding(
        "throughput",
        "refused" if by_time else "note",
        *("", "", apart, _THROUGHPUT),
        # Bits, as in the other figures of a throughput.
        unit="bit/s" if unit == "byte" else "",
        base=base * (8 if unit == "byte" else 1),
        new=new * (8 if unit == "byte" else 1),
        counted_by=f"{'' if unit == 'byte' else f'{unit}s a second '}{_COUNTED_BY[source]}",
        per=str(unit_of(comparison)),
    )


def confidence(comparison: Comparison) -> Iterator[Finding]:
    every = ((side, run) for side, runs in comparison.sides.items() for run in runs)
    for side, run in every:
        for text in _outputs(run):
            try:
                said = parse_netperf(text)
            except CaptureError:
                continue
            if not said.is_confident:
                width = max(said.confidence.values(), default=float("nan"))
                yield finding(
                    *("confidence", "warning", side, run.name, width),
                    test=said.test,
                    width=said.confidence,
                )


def work(comparison: Comparison) -> Iterator[Finding]:
    # A program that failed, or was ended, before it printed what it had measured.
    for side, run in recorded(comparison):
        bundle = run.captures[0].bundle
        try:
            _ = bundle.program_work if bundle is not None else None
        except CaptureError as error:
            yield finding("work", "warning", side, run.name, error=str(error))


def _outputs(run: Run) -> list[str]:
    # Files that its load may have written.
    texts = [run.reader(name) for name in _OF_STEP] if run.reader is not None else []
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is not None:
        texts += [bundle.load_output, *(bundle.text(name) for name in _OF_BUNDLE)]
    return [text for text in dict.fromkeys(texts) if text]

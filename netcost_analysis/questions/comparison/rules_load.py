# Rules of comparability: loads that differ, or were not what was asked for.

import re
from collections.abc import Iterator
from contextlib import suppress
from statistics import fmean

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.netperf import parse_netperf
from .metrics import primary, throughputs
from .rules import Finding, finding, recorded, unlike
from .rules_host import command_of
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


def packet_size(comparison: Comparison) -> Iterator[Finding]:
    sizes = [(side, *_size(run)) for side, runs in comparison.sides.items() for run in runs]
    # Loads count what they send, counters what GRO merged: never compared with each other.
    for source in ("load", "step", "counters"):
        alike = {
            side: [size for at, by, size, _ in sizes if (at, by) == (side, source)]
            for side in comparison.sides
        }
        if not all(alike.values()):
            continue
        least, most = min(map(min, alike.values())), max(map(max, alike.values()))
        if most / least - 1 > _SIZE:
            refused = source != "counters" and not is_labelled(comparison)
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
                devices=sorted({device for *_, device in sizes if device}),
            )
        return


def _size(run: Run) -> tuple[str, float, str]:
    # Who counted the mean size of a packet, "" where nobody did; that size; the counters' device.
    rates = throughput_of(run)
    if "packet" in rates and "byte" in rates and rates["packet"][1] == rates["byte"][1]:
        packets, source = rates["packet"]
        if packets > 0 and rates["byte"][0] > 0:
            return source, rates["byte"][0] / packets, ""
    # By the counters of the interface that received most packets during the recording.
    before, after = (
        (run.bundle.before.interfaces, run.bundle.after.interfaces) if run.bundle else ({}, {})
    )
    grown = [
        (after[name][1] - packets, after[name][0] - octets, name)
        for name, (octets, packets, *_) in before.items()
        if name in after
    ]
    packets, octets, name = max(grown, key=lambda one: one[0], default=(0, 0, ""))
    return ("counters", octets / packets, name) if packets >= _FEW and octets > 0 else ("", 0.0, "")


def load_command(comparison: Comparison) -> Iterator[Finding]:
    if is_labelled(comparison):
        return
    commands = [command_of(run) for _, run in recorded(comparison)]
    shown = {_NUMBERED.sub("", text): text for text in commands if text is not None}
    if len(shown) > 1:
        yield finding("load_command", "warning", commands=list(shown.values()))


def packets_counted(comparison: Comparison) -> Iterator[Finding]:
    # Counted at another device or by another counter, they are other packets.
    def place(run: Run) -> str | None:
        units = (unit for unit in units_of(run) if unit.name == "packet")
        return next((unit.device or f"the {unit.source}" for unit in units), None)

    if "packet" not in common_units(comparison):
        yield from unlike(comparison, "packets_counted", "warning", place, "names")


def throughput(comparison: Comparison) -> Iterator[Finding]:
    rates = throughputs(comparison)
    if rates is None or not all(side.recorded for side in comparison.sides.values()):
        return
    unit, source, sides = rates
    # Bits, as in the other figures of a throughput.
    counted, bits = (f"{unit}s a second ", 1) if unit != "byte" else ("", 8)
    base, new = (bits * float(side.mean()) for side in sides)
    apart = new / base - 1 if base else float("nan")
    if abs(apart) <= _THROUGHPUT:
        return
    first = primary(comparison)
    by_time = first is not None and first.metric.unit == "ns/second"
    yield finding(
        "throughput",
        "refused" if by_time else "note",
        *("", "", apart, _THROUGHPUT),
        unit="" if counted else "bit/s",
        base=base,
        new=new,
        counted_by=f"{counted}{_COUNTED_BY[source]}",
        per=str(unit_of(comparison)),
    )


def confidence(comparison: Comparison) -> Iterator[Finding]:
    every = ((side, run) for side, runs in comparison.sides.items() for run in runs)
    for side, run, text in ((*one, text) for one in every for text in _outputs(one[1])):
        with suppress(CaptureError):
            said = parse_netperf(text)
            if not said.is_confident:
                width = max(said.confidence.values(), default=float("nan"))
                figures = {"test": said.test, "width": said.confidence}
                yield finding("confidence", "warning", side, run.name, width, **figures)


def work(comparison: Comparison) -> Iterator[Finding]:
    # A program that failed, or was ended, before it printed what it had measured.
    for side, run in recorded(comparison):
        try:
            _ = run.bundle and run.bundle.program_work
        except CaptureError as error:
            yield finding("work", "warning", side, run.name, error=str(error))


def _outputs(run: Run) -> list[str]:
    # Files that its load may have written.
    texts = [run.reader(name) for name in _OF_STEP] if run.reader is not None else []
    if bundle := run.bundle:
        texts += [bundle.load_output, *(bundle.text(name) for name in _OF_BUNDLE)]
    return [text for text in dict.fromkeys(texts) if text]

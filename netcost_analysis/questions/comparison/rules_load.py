# Rules of comparability: loads that are not alike, or were not what was asked for.

import re
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from ..._native import CaptureError
from ...comparison.comparison import Comparison
from ...comparison.run import Run
from ...parsers.netperf import parse_netperf
from .finding import Finding
from .metrics import throughputs
from .primary import primary
from .rules_host import known, recorded
from .work import common_units, throughput_of, unit_of, units_of

# Labels that say what the load was: where one of these differs, another load is what is compared.
LOAD_LABELS = (
    *("destinations", "flows", "offered_pps", "pps", "burst", "io_bytes", "network", "protocol"),
    *("load", "transmit_cpu", "receive_cpu"),
)
# Packets whose mean size, and throughputs that differ by more are not alike.
_SIZE = _THROUGHPUT = 0.05
# Fewer packets say nothing of a load's mean size.
_FEW = 100
# What the lab numbers anew each time: namespaces, and folders for the time of a run.
_NUMBERED = re.compile(r"netcost-lab-\d+|/tmp/[\w.-]+")
# What netperf wrote, beside the load's own output: where the load left it.
_OF_BUNDLE = ("files/netperf.txt", "files/netperf")
_OF_STEP = ("netperf.txt", "netperf", "load.txt")


def is_labelled(comparison: Comparison) -> bool:
    # Whether a label says that the loads are others.
    return any(name in comparison.differs for name in LOAD_LABELS)


class Size(NamedTuple):
    # bytes: of a packet in the mean. source: "load", "step" or "counters"; device: whose.
    bytes: float
    source: str
    device: str | None = None


def packet_size(comparison: Comparison) -> Iterator[Finding]:
    sizes = {side: [_size(run) for run in runs] for side, runs in comparison.sides.items()}
    found = [one for some in sizes.values() for one in some if one is not None]
    # Loads count what they send, counters what GRO made of it: the two are not compared.
    for source in ("load", "step", "counters"):
        of_side = {
            side: [one for one in some if one is not None and one.source == source]
            for side, some in sizes.items()
        }
        if not all(of_side.values()):
            continue
        every = [one.bytes for some in of_side.values() for one in some]
        apart = max(every) / min(every) - 1
        if apart > _SIZE:
            refused = source != "counters" and not is_labelled(comparison)
            yield Finding(
                "packet_size",
                "refused" if refused else "warning",
                found=apart,
                limit=_SIZE,
                figures={
                    "bytes": {
                        side: median(one.bytes for one in some) for side, some in of_side.items()
                    },
                    "least": min(every),
                    "most": max(every),
                    "source": source,
                    "devices": sorted({one.device for one in found if one.device}),
                },
            )
        return


def _size(run: Run) -> Size | None:
    rates = throughput_of(run)
    if "packet" in rates and "byte" in rates and rates["packet"][1] == rates["byte"][1]:
        packets, source = rates["packet"]
        if packets > 0 and rates["byte"][0] > 0:
            return Size(rates["byte"][0] / packets, source)
    return _counted(run)


def _counted(run: Run) -> Size | None:
    # Of the interface that received most packets while it was recorded.
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is None:
        return None
    before, after = bundle.before.interfaces, bundle.after.interfaces
    grown = {
        name: (after[name][0] - before[name][0], after[name][1] - before[name][1])
        for name in before
        if name in after
    }
    name = max(grown, key=lambda one: grown[one][1], default=None)
    if name is None or grown[name][1] < _FEW or grown[name][0] <= 0:
        return None
    octets, packets = grown[name]
    return Size(octets / packets, "counters", name)


def load_command(comparison: Comparison) -> Iterator[Finding]:
    if is_labelled(comparison):
        return
    commands = known(comparison, lambda host: host.command)
    # In a run's own words the first one of each.
    shown = {_NUMBERED.sub("", text): text for runs in commands.values() for _, text in runs}
    if len(shown) > 1:
        yield Finding("load_command", "warning", figures={"commands": list(shown.values())})


def packets_counted(comparison: Comparison) -> Iterator[Finding]:
    # Packets per what: of another device, or by another counter, they are other packets.
    if "packet" in common_units(comparison):
        return
    counted: dict[str, dict[str, None]] = {side: {} for side in comparison.sides}
    for side, run in recorded(comparison):
        every = [unit for unit in units_of(run) if unit.name == "packet"]
        if every:
            counted[side][every[0].device or f"the {every[0].source}"] = None
    names = {side: list(some) for side, some in counted.items()}
    if len({name for some in names.values() for name in some}) > 1:
        yield Finding("packets_counted", "warning", figures={"names": names})


def throughput(comparison: Comparison) -> Iterator[Finding]:
    if not all(side.recorded for side in comparison.sides.values()):
        return
    found = throughputs(comparison)
    if found is None:
        return
    unit, rates, _ = found
    base, new = (median(map(float, side)) for side in rates)
    apart = new / base - 1 if base else float("nan")
    if abs(apart) <= _THROUGHPUT:
        return
    of = primary(comparison)
    by_time = of is not None and of.observed.metric.unit == "ns/second"
    yield Finding(
        "throughput",
        "refused" if by_time else "note",
        found=apart,
        limit=_THROUGHPUT,
        figures={"unit": unit, "base": base, "new": new, "per": str(unit_of(comparison))},
    )


def confidence(comparison: Comparison) -> Iterator[Finding]:
    for side, runs in comparison.sides.items():
        for run in runs:
            for text in _outputs(run):
                try:
                    said = parse_netperf(text)
                except CaptureError:
                    continue
                if not said.is_confident:
                    width = max(said.confidence.values(), default=float("nan"))
                    yield Finding(
                        "confidence",
                        "warning",
                        side,
                        run.name,
                        width,
                        figures={"test": said.test, "width": said.confidence},
                    )


def _outputs(run: Run) -> list[str]:
    # What its load may have written.
    found = []
    if run.reader is not None:
        found += [run.reader(name) for name in _OF_STEP]
    bundle = run.captures[0].bundle if run.is_recorded else None
    if bundle is not None:
        found += [bundle.load_output, *(bundle.text(name) for name in _OF_BUNDLE)]
    return [text for text in dict.fromkeys(found) if text]

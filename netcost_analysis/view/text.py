"""A timeline as text: lanes of block characters for what ran on each CPU."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from ..arrow import columns
from ..plots.palette import KIND, KIND_NAMES, PART
from ..timeline.group import binned
from ..timeline.owners import INTERRUPT_CONTEXTS, kind_of
from ..units import duration, ranges, share
from .read_parts import batches_of

if TYPE_CHECKING:
    from ..timeline.timeline import Timeline

# Lanes from the top, in the order in which contexts interrupt each other. The rest is idle.
_LANES = {
    "nmi": "NMIs",
    "hardirq": "hardirqs",
    "vector": "vectors",
    "softirq_other": "other softirqs",
    "softirq": "net softirqs",
    "poll": "NAPI polls",
    "task": "tasks",
    "unknown": "unknown",
}
# These have no colour: theirs might be invisible on the terminal's background.
_PLAIN = ("nmi", "unknown")
_BLOCKS = " ▁▂▃▄▅▆▇█"
_CPU, _NAME, _END = 9, 15, 16
_LEAST, _MARK = 10, 16
# Times and amounts.
_Amounts = list[tuple[int, int]]


class Line(NamedTuple):
    """A line of text, coloured from begin to end. A plain line has colour None."""

    text: str
    colour: str | None = None
    begin: int = 0
    end: int = 0


def lanes(timeline: "Timeline", width: int = 100) -> list[Line]:
    """Lines that show who had each CPU when. width: in characters, at least 50.

    They are a title and ruler, what networking stole, packets, the lanes and a legend. Sums and
    batches are read, so the timeline may have any size.
    """
    summary = timeline.summary
    start_ns, end_ns = int(summary["start_ns"]), int(summary["end_ns"])
    cpus: list[int] = list(summary["cpus"])
    seconds = (timeline.offset_ns / 1e9, (timeline.offset_ns + end_ns - start_ns) / 1e9)
    title = (
        f"{duration(end_ns - start_ns)} on {'CPU' if len(cpus) == 1 else 'CPUs'} {ranges(cpus)}, "
        f"{seconds[0]:.6f} to {seconds[1]:.6f} s after the capture's start"
    )
    if end_ns == start_ns or not cpus:
        return [Line(title), Line("There is no time to show.")]
    bins = _Bins(start_ns, end_ns, max(width - _CPU - _NAME - _END, _LEAST))
    rows, stolen = _summed(timeline, bins)
    lines = [Line(title), Line(" " * (_CPU + _NAME) + bins.ruler(timeline.capture.start_ns))]
    lines += _strips(timeline, stolen, bins, len(cpus))
    shown: list[str] = []
    for cpu in cpus:
        first = True
        for kind, name in _LANES.items():
            ns = bins.summed(rows[cpu, kind])
            if not any(ns):
                continue
            label, first = (f"CPU {cpu}" if first else "", False)
            colour = None if kind in _PLAIN else KIND[kind]
            of_all = share(sum(ns) / (end_ns - start_ns))
            lines.append(_lane(label, name, bins.per(ns), colour, of_all))
            shown.append(kind)
        if first:
            lines.append(Line(f"CPU {cpu}".ljust(_CPU) + "idle"))
    return [*lines, *map(Line, _legend(bins.width_ns, shown))]


class _Bins:
    # Bins begin at multiples of their width on the capture's clock. The window cuts the outer two.

    def __init__(self, start_ns: int, end_ns: int, most: int) -> None:
        self.width_ns = _width(end_ns - start_ns, most - 1)
        self.first_ns = start_ns // self.width_ns * self.width_ns
        self.last_ns = end_ns - 1
        count = (self.last_ns - self.first_ns) // self.width_ns + 1
        edges = (self.first_ns + self.width_ns * number for number in range(count + 1))
        self.edges = [min(max(edge, start_ns), end_ns) for edge in edges]
        self.lengths = [end - begin for begin, end in pairwise(self.edges)]

    def summed(self, amounts: Iterable[tuple[int, int]]) -> list[int]:
        total = [0] * len(self.lengths)
        for time_ns, amount in amounts:
            total[(min(time_ns, self.last_ns) - self.first_ns) // self.width_ns] += amount
        return total

    def per(self, amounts: Sequence[int], of: float = 1) -> list[float]:
        # Divides by each bin's length, in units of `of` ns.
        return [
            amount / (length / of) for amount, length in zip(amounts, self.lengths, strict=True)
        ]

    def highest(self, values: Sequence[float]) -> float:
        # Prefers uncut bins: in a bin of a few ns, one poll makes millions of packets per second.
        both = zip(values, self.lengths, strict=True)
        return max([value for value, length in both if length == self.width_ns] or values)

    def ruler(self, origin_ns: int) -> str:
        digits = max(11 - len(str(self.width_ns)), 0)
        marks = [
            f"|{(edge - origin_ns) / 1e9:.{digits}f} s".ljust(_MARK)[:_MARK]
            for edge in self.edges[:-1:_MARK]
        ]
        return "".join(marks).rstrip()


def _width(span_ns: int, most: int) -> int:
    # The smallest two-digit width with at most `most` bins. Rounder widths could leave half of a
    # line empty.
    least = max(-(-span_ns // most), 1)
    unit = int(10 ** max(len(str(least)) - 2, 0))
    return -(-least // unit) * unit


def _summed(
    timeline: "Timeline", bins: _Bins
) -> tuple[defaultdict[tuple[int, str], _Amounts], _Amounts]:
    # The time of each kind on each CPU, and what networking stole from tasks.
    names = ("cpu", "bin_ns", "ns", "context", "is_network", "tid", "cost_class")
    sums = columns(binned(timeline, bins.width_ns), names)
    rows: defaultdict[tuple[int, str], _Amounts] = defaultdict(list)
    stolen: _Amounts = []
    for cpu, at, ns, context, network, tid, cost in zip(*map(sums.get, names), strict=True):
        rows[cpu, kind_of(context, network)].append((at, ns))
        if tid and cost == "stolen" and network == "yes" and context in INTERRUPT_CONTEXTS:
            stolen.append((at, ns))
    return rows, stolen


def _strips(timeline: "Timeline", rows: _Amounts, bins: _Bins, cpus: int) -> list[Line]:
    # Time that networking stole from tasks, as a share of all CPUs, and packets per second. Both
    # are scaled to their maximum.
    strips = []
    if not timeline.missing["softirqs"]:
        stolen = bins.per(bins.summed(rows), 1 / cpus)
        most = bins.highest(stolen)
        text = share(most) or "0 %"
        strips.append(_strip("stolen by net", stolen, PART["stolen_network"], most, text))
    if not timeline.missing["polls"]:
        rate = bins.per(_packets(timeline, bins), 1e9)
        most = bins.highest(rate)
        strips.append(_strip("packets", rate, KIND["poll"], most, f"{most:,.0f}/s"))
    return strips


def _strip(name: str, values: Sequence[float], colour: str, most: float, text: str) -> Line:
    high = [min(value / (most or 1), 1) for value in values]
    return _lane("all", name, high, colour, f"max {text}")


def _packets(timeline: "Timeline", bins: _Bins) -> list[int]:
    if timeline.capture.has_at_most(1_000_000):
        timeline.load("polls")
    first, last = bins.edges[0], bins.edges[-1]
    batches = batches_of(timeline, ("polls",))
    tables = (columns(batch["polls"], ("end_ns", "work")) for batch in batches)
    ends = (row for polls in tables for row in zip(polls["end_ns"], polls["work"], strict=True))
    return bins.summed(
        (end, max(work or 0, 0)) for end, work in ends if end is not None and first <= end <= last
    )


def _lane(label: str, name: str, shares: Sequence[float], colour: str | None, end: str) -> Line:
    # Round up, so that any time is visible.
    eighths = (max(ceil(min(part, 1) * 8 - 1e-9), int(part > 0)) for part in shares)
    blocks = "".join(_BLOCKS[high] for high in eighths)
    begin = _CPU + _NAME
    text = f"{label[: _CPU - 1].ljust(_CPU)}{name.ljust(_NAME)}{blocks} {end}"
    return Line(text, colour, begin, begin + len(blocks))


def _legend(width_ns: int, shown: Sequence[str]) -> list[str]:
    named = [
        f"{name}: {KIND_NAMES[kind]}"
        for kind, name in _LANES.items()
        if kind in shown and name.casefold() != KIND_NAMES[kind].casefold()
    ]
    return [
        f"A character is {duration(width_ns)}. Its height is the share of it, in eighths, rounded "
        "up; the rest is idle. Each lane ends with its share of the window. "
        "The first lines are scaled to their highest value.",
        *([f"{'; '.join(named)}."] if named else []),
    ]

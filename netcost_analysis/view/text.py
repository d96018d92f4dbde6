"""A timeline as lines of text: a lane for each CPU and what ran on it, of block characters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ..plots.palette import KIND, KIND_NAMES, PART
from ..timeline.owners import kinds_of, of_tasks, sums_by_thief, within_figures
from ..units import duration, ranges, share

if TYPE_CHECKING:
    import pandas as pd

    from ..timeline.timeline import Timeline

# From the top, in the order in which contexts interrupt each other. The rest is idle.
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
# Their colours may not be visible on the terminal's background.
_PLAIN = ("nmi", "unknown")
_BLOCKS = " ▁▂▃▄▅▆▇█"
_CPU, _NAME, _END = 9, 15, 16
_LEAST, _MARK = 10, 16
_ROWS = 2**18
Ints = npt.NDArray[np.int64]
_NONE: Ints = np.zeros(0, dtype="int64")


class Line(NamedTuple):
    """A line of text, coloured from begin to end; colour is None for a plain line."""

    text: str
    colour: str | None = None
    begin: int = 0
    end: int = 0


def lanes(timeline: "Timeline", width: int = 100) -> list[Line]:
    """Lines of so many characters, at least 50, that show who had each CPU when.

    A header with times and units, what networking took and the packets, the lanes, a legend. A
    timeline of any size is read in sums.
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
    sums = timeline.sums(bins.width_ns)
    kinds = kinds_of(sums)
    found = [Line(title), Line(" " * (_CPU + _NAME) + bins.ruler(timeline.capture.start_ns))]
    found += _strips(timeline, sums, bins, len(cpus))
    shown: list[str] = []
    times, amounts = (sums[name].to_numpy("int64") for name in ("bin_ns", "ns"))
    # Places of rows by CPU and kind.
    rows = sums.groupby(["cpu", kinds.to_numpy()], sort=False).indices
    for cpu in cpus:
        first = True
        for kind, name in _LANES.items():
            own = rows.get((cpu, kind), _NONE)
            ns = bins.summed(times[own], amounts[own])
            if not ns.any():
                continue
            label, first = (f"CPU {cpu}" if first else "", False)
            colour = None if kind in _PLAIN else KIND[kind]
            of_all = share(ns.sum() / (end_ns - start_ns))
            found.append(_lane(label, name, ns / bins.lengths, colour, of_all))
            shown.append(kind)
        if first:
            found.append(Line(f"CPU {cpu}".ljust(_CPU) + "idle"))
    return [*found, *map(Line, _legend(bins.width_ns, shown))]


class _Bins:
    # Bins begin at multiples of their width on the capture's clock; the window cuts the outer two.

    def __init__(self, start_ns: int, end_ns: int, most: int) -> None:
        self.width_ns = _width(end_ns - start_ns, most - 1)
        self.first_ns = start_ns // self.width_ns * self.width_ns
        self.last_ns = end_ns - 1
        count = (self.last_ns - self.first_ns) // self.width_ns + 1
        edges = self.first_ns + self.width_ns * np.arange(count + 1, dtype="int64")
        self.edges: Ints = np.clip(edges, start_ns, end_ns)
        self.lengths: Ints = np.diff(self.edges)

    def summed(self, times: Ints, amounts: Ints) -> Ints:
        places = (np.minimum(times, self.last_ns) - self.first_ns) // self.width_ns
        total = np.zeros(len(self.lengths), dtype="int64")
        np.add.at(total, places, amounts)
        return total

    def highest(self, values: npt.NDArray[np.float64]) -> float:
        # Prefers whole bins: in a bin of a few ns, one poll is millions of packets a second.
        whole = values[self.lengths == self.width_ns]
        return float(max(whole if len(whole) else values))

    def ruler(self, origin_ns: int) -> str:
        digits = max(11 - len(str(self.width_ns)), 0)
        marks = [
            f"|{(edge - origin_ns) / 1e9:.{digits}f} s".ljust(_MARK)[:_MARK]
            for edge in self.edges[:-1:_MARK].tolist()
        ]
        return "".join(marks).rstrip()


def _width(span_ns: int, most: int) -> int:
    # The least width of two digits that gives at most so many bins. Rounder widths would leave half
    # of a line empty.
    least = max(-(-span_ns // most), 1)
    unit = int(10 ** max(len(str(least)) - 2, 0))
    return -(-least // unit) * unit


def _strips(timeline: "Timeline", sums: "pd.DataFrame", bins: _Bins, cpus: int) -> list[Line]:
    # Time that networking stole from tasks, as a share of all CPUs, and packets per second. Each is
    # scaled to its maximum.
    rows = of_tasks(sums_by_thief(sums, "comm"))
    rows = rows[within_figures(rows)["stolen_network_ns"]]
    times = sums["bin_ns"].loc[rows.index].to_numpy("int64")
    stolen = bins.summed(times, rows["ns"].to_numpy("int64")) / (bins.lengths * cpus)
    most = bins.highest(stolen)
    found = []
    if not timeline.missing["softirqs"]:
        text = share(most) or "0 %"
        found.append(_strip("stolen by net", stolen, PART["stolen_network"], most, text))
    if not timeline.missing["polls"]:
        rate = _packets(timeline, bins) / (bins.lengths / 1e9)
        most = bins.highest(rate)
        found.append(_strip("packets", rate, KIND["poll"], most, f"{most:,.0f}/s"))
    return found


def _strip(name: str, values: npt.NDArray[np.float64], colour: str, most: float, text: str) -> Line:
    high = np.minimum(values / most, 1) if most else np.minimum(values, 1)
    return _lane("all", name, high, colour, f"max {text}")


def _packets(timeline: "Timeline", bins: _Bins) -> Ints:
    total = np.zeros(len(bins.lengths), dtype="int64")
    held = timeline.holds("polls") or timeline.capture.has_at_most(1_000_000)
    batches = [(timeline.polls,)] if held else timeline.batches("polls", rows=_ROWS)
    for (polls,) in batches:
        ends = polls["end_ns"].to_numpy("int64")
        inside = (ends >= bins.edges[0]) & (ends <= bins.edges[-1])
        work = polls["work"].astype("Int64").to_numpy("int64", na_value=0)
        total += bins.summed(ends[inside], np.maximum(work[inside], 0))
    return total


def _lane(
    label: str, name: str, shares: npt.NDArray[np.float64], colour: str | None, end: str
) -> Line:
    eighths = np.clip(np.ceil(shares * 8 - 1e-9), 0, 8).astype(int)
    # Any time at all is visible.
    eighths = np.where((shares > 0) & (eighths == 0), 1, eighths)
    blocks = "".join(_BLOCKS[high] for high in eighths.tolist())
    begin = _CPU + _NAME
    text = f"{label[: _CPU - 1].ljust(_CPU)}{name.ljust(_NAME)}{blocks} {end}"
    return Line(text, colour, begin, begin + len(blocks))


def _legend(width_ns: int, shown: Sequence[str]) -> list[str]:
    named = [
        f"{name}: {KIND_NAMES[kind]}"
        for kind, name in _LANES.items()
        if kind in shown and name.casefold() != KIND_NAMES[kind].casefold()
    ]
    what = "A character is {}, its height the share of that in eighths, rounded up; what is left is"
    return [
        f"{what.format(duration(width_ns))} idle. At the end of a lane its share of the window; "
        "the first lines are as high as their highest.",
        *([f"{'; '.join(named)}."] if named else []),
    ]

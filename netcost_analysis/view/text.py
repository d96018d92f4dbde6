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

# From the top: what runs on top of what. Idle is what is left.
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
# These are seen on no terminal's background for certain.
_PLAIN = ("nmi", "unknown")
_BLOCKS = " ▁▂▃▄▅▆▇█"
_CPU, _NAME, _END = 9, 15, 16
_LEAST, _MARK = 10, 16
_ROWS = 2**18
Ints = npt.NDArray[np.int64]
_NONE: Ints = np.zeros(0, dtype="int64")


class Line(NamedTuple):
    """A line: text, and from where to where it has a colour, None for nowhere."""

    text: str
    colour: str | None = None
    begin: int = 0
    end: int = 0


def lanes(timeline: "Timeline", width: int = 100) -> list[Line]:
    """Lines that show who had each CPU when.

    Parameters
    ----------
    timeline : Timeline
        What is to be shown; however large, for it is read in sums.
    width : int
        Characters of a line, those that name a lane among them; at least 50.

    Returns
    -------
    list of Line
        A header with times and units, what networking took and the packets, the lanes, a legend.
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
    room = max(width - _CPU - _NAME - _END, _LEAST)
    bins = _Bins(timeline, start_ns, end_ns, room)
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
    # On multiples of their width on the capture's clock; the first and the last are cut.

    def __init__(self, timeline: "Timeline", start_ns: int, end_ns: int, most: int) -> None:
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
        # Of whole bins where there are any: of a moment one poll is millions of packets a second.
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
    # The least of two digits of which a span has no more than so many: round ones leave half of a
    # line empty.
    least = max(-(-span_ns // most), 1)
    unit = int(10 ** max(len(str(least)) - 2, 0))
    return -(-least // unit) * unit


def _strips(timeline: "Timeline", sums: "pd.DataFrame", bins: _Bins, cpus: int) -> list[Line]:
    # What networking took from tasks, of all CPUs' time; and packets a second. Each as high as its
    # highest.
    rows = of_tasks(sums_by_thief(sums, "comm"))
    rows = rows[within_figures(rows)["stolen_network_ns"]]
    taken = bins.summed(
        sums["bin_ns"].loc[rows.index].to_numpy("int64"), rows["ns"].to_numpy("int64")
    )
    stolen = taken / (bins.lengths * cpus)
    most = bins.highest(stolen)
    found = []
    if not timeline.missing["softirqs"]:
        told = share(most) or "0 %"
        found.append(_strip("stolen by net", stolen, PART["stolen_network"], most, told))
    if not timeline.missing["polls"]:
        rate = _packets(timeline, bins) / (bins.lengths / 1e9)
        most = bins.highest(rate)
        found.append(_strip("packets", rate, KIND["poll"], most, f"{most:,.0f}/s"))
    return found


def _strip(name: str, values: npt.NDArray[np.float64], colour: str, most: float, told: str) -> Line:
    high = np.minimum(values / most, 1) if most else np.minimum(values, 1)
    return _lane("all", name, high, colour, f"max {told}")


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
    # What took any time is seen.
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

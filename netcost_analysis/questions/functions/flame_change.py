# How the samples of two captures differ, frame by frame with all that each called.

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...stats.counts import count_interval, difference_interval, equal_samples
from ...units import fine_duration
from ..completeness.counter_growth import packets
from .flame import Graph, Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture


@dataclass(frozen=True)
class FrameChanges:
    """The new side's rate less the base's, of each node with all below it.

    per: what rates are divided by. unit: "ns", or what was sampled. units: how many of `per` each
    side had. rates: by side. change, change_low, change_high: the difference and its 95 %
    interval, of the sampling alone.
    """

    per: str
    unit: str
    units: tuple[float, float]
    rates: "NDArray[np.float64]"
    change: "NDArray[np.float64]"
    change_low: "NDArray[np.float64]"
    change_high: "NDArray[np.float64]"

    @property
    def differs(self) -> "NDArray[np.bool_]":
        """Where the interval of the change is on one side of 0."""
        return (self.change_low > 0) | (self.change_high < 0)

    def words(self, node: int) -> str:
        """Both sides of a node, and the change."""
        base, new = (self.shown(float(rate)) for rate in self.rates[:, node])
        ends = (float(end[node]) for end in (self.change, self.change_low, self.change_high))
        by, low, high = (
            ("+" if end > 0 else "-" if end < 0 else "") + self.shown(abs(end)) for end in ends
        )
        return f"base {base}, new {new} per {self.per}; change {by}, 95% {low} to {high}"

    def shown(self, rate: float) -> str:
        """A rate in its unit."""
        if self.unit == "ns":
            return fine_duration(rate)
        return f"{rate:,.3g} {self.unit}" if rate < 1000 else f"{rate:,.0f} {self.unit}"


def frame_changes(graph: Graph, per: str, unit: str, units: tuple[float, float]) -> FrameChanges:
    """The change of each node. units: how many of `per` each side had."""
    sides = []
    for weight, square, number in zip(graph.weights, graph.squares, units, strict=True):
        size, each = equal_samples(weight, square, float(square[0] / max(weight[0], 1)))
        low, high = count_interval(size)
        sides.append((weight / number, low * each / number, high * each / number))
    base, new = sides
    rates = np.array([base[0], new[0]])
    return FrameChanges(per, unit, units, rates, new[0] - base[0], *difference_interval(base, new))


def denominators(
    captures: "tuple[Capture, Capture]", sides: tuple[Paths, Paths], cpu: int | None
) -> tuple[str, tuple[float, float]]:
    """What both sides' rates can be divided by, and how many of these each has.

    Packets where both hosts counted them, scaled from the counters' window to the samples'; else
    what of the samples is outside idle: seconds of a timer, 1,000 of another event.
    """
    base, new = (_packets(*both, cpu) for both in zip(captures, sides, strict=True))
    if base and new:
        return "packet", (base, new)
    profile = sides[0].profile
    base, new = (max(sum(side.kinds.values()) - side.kinds["idle"], 1) for side in sides)
    if profile.is_timed:
        return "second of busy CPU", (base / 1e9, new / 1e9)
    return f"1,000 {profile.event} outside idle", (base / 1e3, new / 1e3)


def _packets(capture: "Capture", side: Paths, cpu: int | None) -> float:
    # Packets that went up the stack while samples were taken; 0 where nobody counted.
    counted = packets(capture.bundle) if capture.bundle else None
    if counted is None:
        return 0
    number = sum(growth for (_, at), growth in counted.counts.items() if cpu in (None, at))
    window = counted.window.inner[1] - counted.window.inner[0]
    return number * side.span_ns / window if window > 0 else 0

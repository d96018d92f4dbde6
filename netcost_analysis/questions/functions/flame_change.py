# What of two captures' samples changed, frame by frame with all that each called.

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...stats.counts import count_interval, difference_interval
from ...units import fine_duration
from ..completeness.counted import packets
from .flame import Graph, Paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...capture.capture import Capture


@dataclass(frozen=True)
class Change:
    """The new side's rate less the base's, of each node with all below it.

    per: what rates are divided by. unit: "ns", or what was sampled. units: of each side how many of
    these. rates, low, high: by side. change, change_low, change_high: the difference and its 95 %
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
        found: NDArray[np.bool_] = (self.change_low > 0) | (self.change_high < 0)
        return found

    def words(self, node: int) -> str:
        """Both sides of a node, and the change."""
        base, new = (self.shown(float(rate)) for rate in self.rates[:, node])
        by, low, high = (
            ("+" if at[node] > 0 else "-" if at[node] < 0 else "")
            + self.shown(abs(float(at[node])))
            for at in (self.change, self.change_low, self.change_high)
        )
        return f"base {base}, new {new} per {self.per}; change {by}, 95% {low} to {high}"

    def shown(self, rate: float) -> str:
        """A rate in its unit."""
        if self.unit == "ns":
            return fine_duration(rate)
        return f"{rate:,.3g} {self.unit}" if rate < 1000 else f"{rate:,.0f} {self.unit}"


def change(graph: Graph, per: str, unit: str, units: tuple[float, float]) -> Change:
    """The change of each node. units: of each side how many of `per` there were."""
    sides = []
    for side, number in enumerate(units):
        weight, square = graph.weights[side].astype(float), graph.squares[side]
        # How many samples of one weight would tell as much (Kish); of none, those of the whole.
        mean = np.divide(square, weight, out=np.zeros(len(weight)), where=weight > 0)
        mean = np.where(weight > 0, mean, mean[0])
        low, high = count_interval(
            np.divide(weight, mean, out=np.zeros(len(weight)), where=mean > 0)
        )
        sides.append((weight / number, low * mean / number, high * mean / number))
    base, new = sides
    rates = np.array([base[0], new[0]])
    return Change(per, unit, units, rates, rates[1] - rates[0], *difference_interval(base, new))


def denominators(
    captures: "tuple[Capture, Capture]", sides: tuple[Paths, Paths], cpu: int | None
) -> tuple[str, tuple[float, float]]:
    """What both sides' rates can be divided by, and how many of these each has.

    Packets where both hosts counted them, scaled from the counters' window to the samples'; else
    what of the samples is outside idle: seconds of a timer, 1,000 of another event.
    """
    counted = [_packets(one, side, cpu) for one, side in zip(captures, sides, strict=True)]
    if all(counted):
        return "packet", (counted[0], counted[1])
    profile = sides[0].profile
    base, new = (
        max(sum(ns for kind, ns in side.kinds.items() if kind != "idle"), 1)
        / (1e9 if profile.is_timed else 1e3)
        for side in sides
    )
    per = "second of busy CPU" if profile.is_timed else f"1,000 {profile.event} outside idle"
    return per, (base, new)


def _packets(capture: "Capture", side: Paths, cpu: int | None) -> float:
    # That went up the stack while samples were taken; 0 where nobody counted.
    counted = packets(capture.bundle) if capture.bundle else None
    if counted is None:
        return 0
    number = sum(of for (_, at), of in counted.growth.items() if cpu in (None, at))
    window = counted.window.inner[1] - counted.window.inner[0]
    return number * side.span_ns / window if window > 0 else 0

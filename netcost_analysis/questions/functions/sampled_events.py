# The samples of several events, by component: what each event sums to there, and how well that is
# known.

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import AbsentError, LackingError
from ...snapshots.perf_stat import plain_event
from ...stats.counts import count_interval, ratio_interval, share_interval
from ..samples.parts import IDLE
from ..samples.sampled import TIMERS, base_name, sampled
from .profile import Profile, classified, profile
from .weights import weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ...capture.capture import Capture

PROFILE = "function-counters"
CYCLES = "cycles"
# What time goes by: at least one event beside these is asked for.
_TIMES = {CYCLES, "cpu-cycles", *TIMERS}
# perf's other name of the same event.
_SAME = {"cpu-cycles": CYCLES}


class Figures(NamedTuple):
    # A figure of each component, with the ends of its 95 % interval.
    value: "NDArray[np.float64]"
    low: "NDArray[np.float64]"
    high: "NDArray[np.float64]"


@dataclass(frozen=True)
class Event:
    """The samples of one event, by component.

    name: without modifiers and PMU. components: their names. samples, weight: of each component how
    many, and the sum of their periods. squares: the sum of the periods' squares.
    """

    name: str
    components: list[str]
    samples: "NDArray[np.int64]"
    weight: "NDArray[np.int64]"
    squares: "NDArray[np.float64]"

    @property
    def busy(self) -> "NDArray[np.bool_]":
        """Which components are not idle."""
        return np.array([name != IDLE for name in self.components])

    @property
    def effective(self) -> "NDArray[np.float64]":
        """As many samples of one weight would tell as much (Kish)."""
        return _over(self.weight.astype(float) ** 2, self.squares)

    @property
    def each(self) -> "NDArray[np.float64]":
        """What such a sample stands for; where a component has none, what one does on average."""
        known = self.effective
        total = _over(float(self.weight.sum()) ** 2, self.squares.sum())
        mean = _over(self.weight.sum(), total)
        return np.where(known > 0, _over(self.weight, known), mean)

    def merged(self, groups: "NDArray[np.bool_]", name: str) -> "Event":
        """All of these components as one."""
        sums = (of[groups].sum(keepdims=True) for of in (self.samples, self.weight, self.squares))
        return Event(self.name, [name], *sums)

    def with_(self, other: "Event") -> "Event":
        """The samples of both."""
        return Event(
            self.name,
            self.components,
            self.samples + other.samples,
            self.weight + other.weight,
            self.squares + other.squares,
        )


def _over(value: "ArrayLike", of: "ArrayLike") -> "NDArray[np.float64]":
    # 0 over none.
    above, below = np.asarray(value, dtype=float), np.asarray(of, dtype=float)
    found: NDArray[np.float64] = np.zeros(np.broadcast(above, below).shape)
    np.divide(above, below, out=found, where=below > 0)
    return found


def plain(event: str) -> str:
    name = plain_event(event)
    return _SAME.get(name, name)


def events_of(source: "Capture") -> list[str]:
    # As perf names them, that which time goes by first. Only headers are read.
    names = dict.fromkeys(one["name"] for one in source.header["events"] if not one["tracepoint"])
    found = [name for name in names if base_name(name) != "dummy"]
    return sorted(found, key=lambda name: (plain(name) != CYCLES, plain(name) not in _TIMES))


def require_events(capture: "Capture") -> None:
    # Raises CaptureError where nothing was sampled but what time goes by.
    found = events_of(sampled(capture))
    if not {plain(name) for name in found} - _TIMES:
        raise LackingError(
            "samples of other events",
            f"of events only {', '.join(found)} was sampled: netcost-record --profile {PROFILE} "
            "samples instructions, cache misses, TLB misses and stalled cycles beside cycles, on "
            "hosts that count them; virtual machines rarely do",
        )


def with_samples(source: "Capture") -> list[str]:
    # The events that have any, that which time goes by first.
    counts = source.info["events"]
    return [name for name in events_of(source) if counts.get(name)]


def taken(one: Profile, cpu: int | None, window: tuple[int, int] | None) -> "NDArray[np.bool_]":
    # Which samples are of a CPU and a stretch of the capture's clock; of a rare event maybe none.
    known = one.within(None, *(window or (None, None)))
    return known if cpu is None else known & one.samples["cpu"].eq(cpu).to_numpy(dtype=bool)


def by_component(
    source: "Capture",
    names: list[str],
    cpu: int | None,
    window: tuple[int, int] | None,
    own: str | None,
) -> dict[str, Event]:
    # By plain name; events of several PMUs of one processor are one.
    known = (profile(source, name).samples["cpu"] for name in names)
    if cpu is not None and not any(cpu in set(cpus) for cpus in known):
        raise AbsentError(f"no sample is of CPU {cpu}")
    found: dict[str, Event] = {}
    for name in names:
        one = _event(source, name, cpu, window, own)
        same = found.get(one.name)
        found[one.name] = one if same is None else same.with_(one)
    return found


def _event(
    source: "Capture",
    name: str,
    cpu: int | None,
    window: tuple[int, int] | None,
    own: str | None,
) -> Event:
    one, of = profile(source, name), classified(source, name, own)
    one.require_names(source.path)
    rows = one.samples.loc[taken(one, cpu, window), ["stack", "period"]]
    group, number = of.of_stack[rows["stack"].to_numpy()], len(of.components)
    periods = rows["period"].fillna(1).to_numpy(dtype=float)
    return Event(
        plain(name),
        of.components,
        np.bincount(group, minlength=number),
        weights(group, rows["period"], number),
        np.bincount(group, periods**2, number).astype(float),
    )


def shares(event: Event) -> Figures:
    # Of what was outside idle; NaN for idle.
    busy = event.busy
    total = float(event.weight[busy].sum())
    share = np.where(busy, event.weight, np.nan) / (total or np.nan)
    counted = float(_over(total**2, event.squares[busy].sum()))
    low, high = share_interval(share * counted, counted)
    return Figures(share, low, high)


def per_packet(event: Event, packets: int | None) -> Figures:
    # NaN for idle, and where nobody counted packets.
    of = np.where(event.busy, float(packets or 0) or np.nan, np.nan)
    low, high = count_interval(event.effective)
    return Figures(event.weight / of, low * event.each / of, high * event.each / of)


def ratio(first: Event, second: Event, scale: float) -> Figures:
    # What the one sums to over the other; NaN where the other has no samples.
    known = second.weight > 0
    value = np.where(known, scale * _over(first.weight, second.weight), np.nan)
    low, high = ratio_interval(first.effective, second.effective)
    each = scale * _over(first.each, second.each)
    return Figures(value, np.where(known, low * each, np.nan), np.where(known, high * each, np.nan))

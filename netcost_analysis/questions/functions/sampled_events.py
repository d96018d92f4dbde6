# The samples of several events, by component: what each event sums to there, and how well that is
# known.

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...snapshots.perf_stat import plain_event
from ...stats.counts import count_interval, ratio_interval, share_interval
from ..samples.part import require_cpu
from ..samples.rules import IDLE
from ..samples.sampled import TIMERS, events_of
from .profile import classified, profile_of, squares, weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ...capture.capture import Capture

    Floats = NDArray[np.float64]
    # A figure of each component, with the ends of its 95 % interval.
    Figures = tuple[Floats, Floats, Floats]

CYCLES = "cycles"
# What time goes by: at least one event beside these is asked for.
TIMES = {CYCLES, *TIMERS}


@dataclass(frozen=True)
class Event:
    """The samples of one event, by component.

    samples, weight, squares: of each component how many, the sum of their periods, and that of the
    periods' squares. is_busy: whether it is not idle.
    """

    samples: "NDArray[np.int64]"
    weight: "NDArray[np.int64]"
    squares: "Floats"
    is_busy: "NDArray[np.bool_]"

    def __add__(self, other: "Event") -> "Event":
        return Event(
            self.samples + other.samples,
            self.weight + other.weight,
            self.squares + other.squares,
            self.is_busy,
        )

    @property
    def outside_idle(self) -> "Event":
        """All components but idle as one."""
        samples, weight, squares = (
            of[self.is_busy].sum(keepdims=True) for of in (self.samples, self.weight, self.squares)
        )
        return Event(samples, weight, squares, np.ones(1, dtype=bool))

    @property
    def effective(self) -> "Floats":
        """As many samples of one weight would tell as much (Kish)."""
        return _over(self.weight.astype(float) ** 2, self.squares)

    @property
    def each(self) -> "Floats":
        """What such a sample stands for; where a component has none, what one does on average."""
        known, whole = self.effective, float(self.weight.sum())
        mean = _over(whole, _over(whole**2, self.squares.sum()))
        return np.where(known > 0, _over(self.weight, known), mean)


def _over(above: "ArrayLike", below: "ArrayLike") -> "Floats":
    # 0 over none.
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.asarray(below) > 0, np.divide(above, below), 0.0)
    return found


def plain(event: str) -> str:
    # Without modifiers and PMU; cpu-cycles is perf's other name of the same event.
    name = plain_event(event)
    return CYCLES if name == "cpu-cycles" else name


def sampled_events(source: "Capture") -> list[str]:
    # As perf names them, that which time goes by first. Only headers are read.
    return sorted(
        events_of(source), key=lambda name: (plain(name) != CYCLES, plain(name) not in TIMES)
    )


def by_component(
    source: "Capture",
    names: list[str],
    cpu: int | None,
    window: tuple[int, int] | None,
    own: str | None,
) -> tuple[list[str], dict[str, Event]]:
    # The components, and events by plain name: those of several PMUs of one processor are one.
    if cpu is not None:
        require_cpu(cpu, {at for name in names for at in profile_of(source, name).samples["cpu"]})
    events: dict[str, Event] = {}
    for name in names:
        profile, classes = classified(source, name, own)
        taken = profile.within(None, *(window or (None, None)))
        if cpu is not None:
            # Of a rare event maybe none.
            taken &= profile.samples["cpu"].eq(cpu).to_numpy(dtype=bool)
        rows = profile.samples.loc[taken]
        component, number = classes.of_stack[rows["stack"].to_numpy()], len(classes.components)
        event = Event(
            np.bincount(component, minlength=number),
            weights(component, rows["period"], number),
            squares(component, rows["period"], number),
            np.array(classes.components) != IDLE,
        )
        same = events.get(plain(name))
        events[plain(name)] = event if same is None else same + event
    return classes.components, events


def shares(event: Event) -> "Figures":
    # Of what was outside idle; NaN for idle.
    total = float(event.weight[event.is_busy].sum())
    share = np.where(event.is_busy, event.weight, np.nan) / (total or np.nan)
    size = float(_over(total**2, event.squares[event.is_busy].sum()))
    return share, *share_interval(share * size, size)


def per_packet(event: Event, packets: int | None) -> "Figures":
    # NaN for idle, and where nobody counted packets.
    number = np.where(event.is_busy, float(packets or 0) or np.nan, np.nan)
    low, high = count_interval(event.effective)
    return event.weight / number, low * event.each / number, high * event.each / number


def ratio(first: Event, second: Event, scale: int) -> "Figures":
    # What the one sums to over the other; NaN where the other has no samples.
    unknown = np.where(second.weight > 0, 0.0, np.nan)
    low, high = ratio_interval(first.effective, second.effective)
    each = scale * _over(first.each, second.each)
    value = scale * _over(first.weight, second.weight)
    return value + unknown, low * each + unknown, high * each + unknown

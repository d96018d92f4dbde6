# The samples of several events, by component: what each event sums to there, and how well that is
# known.

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ...snapshots.perf_stat import plain_event
from ...stats.counts import count_interval, ratio_interval, share_interval
from ..samples.rules import IDLE
from ..samples.sample_groups import require_cpu
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
) -> dict[str, pd.DataFrame]:
    # By plain name a row per component: how many samples, the sum of their periods and that of the
    # periods' squares. Events of several PMUs of one processor are one.
    if cpu is not None:
        require_cpu(cpu, {at for name in names for at in profile_of(source, name).samples["cpu"]})
    events: dict[str, pd.DataFrame] = {}
    for name in names:
        profile, classes = classified(source, name, own)
        taken = profile.within(None, *(window or (None, None)))
        if cpu is not None:
            # Of a rare event maybe none.
            taken &= profile.samples["cpu"].eq(cpu).to_numpy(dtype=bool)
        rows = profile.samples.loc[taken]
        component, number = classes.of_stack[rows["stack"].to_numpy()], len(classes.components)
        sums = {
            "samples": np.bincount(component, minlength=number),
            "weight": weights(component, rows["period"], number),
            "squares": squares(component, rows["period"], number),
        }
        event = pd.DataFrame(sums, index=classes.components)
        same = events.get(plain(name))
        events[plain(name)] = event if same is None else same + event
    return events


def _over(above: "ArrayLike", below: "ArrayLike") -> "Floats":
    # 0 over none.
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where(np.asarray(below) > 0, np.divide(above, below), 0.0)
    return found


def _effective(event: pd.DataFrame) -> "Floats":
    # As many samples of one weight would tell as much (Kish).
    return _over(event["weight"].astype(float) ** 2, event["squares"])


def _each(event: pd.DataFrame) -> "Floats":
    # What such a sample stands for; where a component has none, what one does on average.
    known, whole = _effective(event), float(event["weight"].sum())
    mean = _over(whole, _over(whole**2, event["squares"].sum()))
    return np.where(known > 0, _over(event["weight"], known), mean)


def shares(event: pd.DataFrame) -> "Figures":
    # Of what was outside idle; NaN for idle.
    busy = event[event.index != IDLE].sum()
    weight = np.where(event.index != IDLE, event["weight"], np.nan)
    share = weight / (busy["weight"] or np.nan)
    size = float(_over(busy["weight"] ** 2, busy["squares"]))
    return share, *share_interval(share * size, size)


def per_packet(event: pd.DataFrame, packets: int | None) -> "Figures":
    # NaN for idle, and where nobody counted packets.
    number = np.where(event.index != IDLE, float(packets or 0) or np.nan, np.nan)
    (low, high), each = count_interval(_effective(event)), _each(event)
    return event["weight"].to_numpy() / number, low * each / number, high * each / number


def ratio(first: pd.DataFrame, second: pd.DataFrame, scale: int) -> "Figures":
    # What the one sums to over the other; NaN where the other has no samples.
    unknown = np.where(second["weight"] > 0, 0.0, np.nan)
    low, high = ratio_interval(_effective(first), _effective(second))
    each = scale * _over(_each(first), _each(second))
    value = scale * _over(first["weight"], second["weight"])
    return value + unknown, low * each + unknown, high * each + unknown
